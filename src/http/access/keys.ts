/** Where the keys that sign tokens come from: the setting itself, or the set of keys at a URL. */
import { createPublicKey, type JsonWebKeyInput } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { Deadline } from "../../base/deadline.ts";
import { asArray, asObject, asString, dig, parseJson } from "../../base/json.ts";
import { type RetryWaits, retry } from "../../base/retry.ts";
import { atCapacity } from "../../protocol/capacity.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { HttpConnections } from "../../upstream/egress/connections.ts";
import { publicKey, secretKey, type TokenKey, type VerifyingKey, verifying } from "./token-key.ts";

export interface KeySource {
  /**
   * The key of this id, or the only one for a token that names none; undefined if there is none. Rejects with
   * `RelayError` CAPACITY while no keys are known.
   */
  find(kid: string | undefined): Promise<VerifyingKey | undefined>;
  close(): Promise<void>;
}

const MAX_KEYS = 100;
const LOAD_LIMIT_MS = 5000;
/** The waits after failures to load a set; and how long a loaded one is used before it is loaded again. */
const RETRIES: RetryWaits = { firstMs: 1000, maxMs: 60_000 };
const KEPT_MS = 3_600_000;
/** The minimum time between two loads for the sake of unknown key ids. */
const UNKNOWN_MS = 60_000;

export function keySource(key: TokenKey, clock: Clock, telemetry: Telemetry): KeySource {
  if (key.kind === "set") return new KeySet(key.url, clock, telemetry);
  const only = key.kind === "public" ? publicKey(key.pem) : secretKey(key.secret);
  return { find: async () => only, close: async () => {} };
}

/** The keys of a set by their ids; a key without an id has the id "". Keys of other kinds are left out. */
function keysIn(text: string): Map<string, VerifyingKey> {
  const keys = new Map<string, VerifyingKey>();
  for (const each of (asArray(dig(parseJson(text), "keys")) ?? []).slice(0, MAX_KEYS)) {
    const jwk = asObject(each);
    const { kid, use, alg } = jwk ?? {};
    if (!jwk || (use !== undefined && use !== "sig")) continue;
    try {
      const key = verifying(createPublicKey({ key: jwk, format: "jwk" } as JsonWebKeyInput));
      const id = asString(kid) ?? "";
      if ((alg === undefined || key.algorithms.some((one) => one === alg)) && !keys.has(id))
        keys.set(id, key);
    } catch {} // of another kind
  }
  return keys;
}

class KeySet implements KeySource {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** Through the proxy of the environment, if any. */
  readonly #connections = new HttpConnections({ kind: "direct", name: "direct", isNamed: false });
  readonly #closed = new AbortController();
  #keys: ReadonlyMap<string, VerifyingKey> | undefined;
  /** The load under way. */
  #loading: Promise<void> | undefined;
  #soughtAt = Number.NEGATIVE_INFINITY;

  constructor(url: string, clock: Clock, telemetry: Telemetry) {
    this.#url = url;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#keep().catch(() => {}); // it is closed
  }

  async find(kid: string | undefined): Promise<VerifyingKey | undefined> {
    if (!this.#keys) await this.#loading?.catch(() => {});
    if (!this.#keys) throw atCapacity("keys");
    const now = this.#clock.monotonic();
    if (this.#known(kid) || now - this.#soughtAt < UNKNOWN_MS) return this.#known(kid);
    this.#soughtAt = now;
    await this.#load().catch(() => {}); // the known keys stay
    return this.#known(kid);
  }

  #known(kid: string | undefined): VerifyingKey | undefined {
    if (kid !== undefined) return this.#keys?.get(kid);
    return this.#keys?.size === 1 ? [...this.#keys.values()][0] : undefined;
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#connections.close();
  }

  /** Until it is closed. */
  async #keep(): Promise<void> {
    const { signal } = this.#closed;
    for (;;) {
      await retry(
        RETRIES,
        this.#clock,
        signal,
        () => true,
        () => this.#load(),
      );
      await this.#clock.sleep(KEPT_MS, signal);
    }
  }

  #load(): Promise<void> {
    this.#loading ??= this.#loadNow().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** Rejects, after the failure is logged, if the set cannot be loaded. */
  async #loadNow(): Promise<void> {
    try {
      using limit = new Deadline(this.#clock, LOAD_LIMIT_MS);
      const signal = AbortSignal.any([limit.signal, this.#closed.signal]);
      const answer = await this.#connections.request({ method: "GET", url: this.#url, headers: {} }, signal);
      const body = await answer.body();
      const keys = answer.status === 200 ? keysIn(body.toString()) : new Map();
      if (keys.size === 0) throw new Error(`it answers ${answer.status} without a key that can be used`);
      this.#keys = keys;
      this.#telemetry.access.keysLoaded(keys.size);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      if (!this.#closed.signal.aborted) this.#telemetry.access.keysAway(why, this.#keys !== undefined);
      throw error;
    }
  }
}
