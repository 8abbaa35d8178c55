/** Where the keys that sign tokens come from: the setting itself, or the set of keys at a URL. */
import { createPublicKey, type JsonWebKeyInput } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { Deadline } from "../../base/deadline.ts";
import { messageOf } from "../../base/error-message.ts";
import { asArray, asObject, asString, dig, parseJson } from "../../base/json.ts";
import { retry } from "../../base/retry.ts";
import { InFlight } from "../../base/shared-work.ts";
import { atCapacity } from "../../protocol/capacity.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { HttpConnections } from "../../upstream/egress/connections.ts";
import { DIRECT } from "../../upstream/egress/spec.ts";
import { publicKey, secretKey, type TokenKey, type VerifyingKey, verifying } from "./token-key.ts";

export interface KeySource {
  /**
   * The keys of this id, then those without an id; all of them for a token that names none. A key that is not
   * of a set serves every id. Rejects with `RelayError` CAPACITY while no keys are known.
   */
  find(kid: string | undefined): Promise<readonly VerifyingKey[]>;
  close(): Promise<void>;
}

const MAX_KEYS = 200;
const MAX_REDIRECTS = 3;
const LOAD_LIMIT_MS = 5000;
/** The waits after failures to load a set; and how long a loaded one is used before it is loaded again. */
const RETRIES = { firstMs: 1000, maxMs: 60_000 };
const KEPT_MS = 3_600_000;
/** The minimum time between two loads for the sake of unknown key ids. */
const UNKNOWN_MS = 60_000;

export function keySource(key: TokenKey, clock: Clock, telemetry: Telemetry): KeySource {
  if (key.kind === "set") return new KeySet(key.url, clock, telemetry);
  const only = key.kind === "public" ? publicKey(key.pem) : secretKey(key.secret);
  return { find: async () => [only], close: async () => {} };
}

interface NamedKey extends VerifyingKey {
  kid: string | undefined;
}

/** The keys of a set. Those of other kinds are left out. */
function keysIn(text: string): NamedKey[] {
  const keys: NamedKey[] = [];
  for (const each of asArray(dig(parseJson(text), "keys")) ?? []) {
    const jwk = asObject(each);
    const { kid, use, alg } = jwk ?? {};
    if (!jwk || (use !== undefined && use !== "sig")) continue;
    try {
      const key = verifying(createPublicKey({ key: jwk, format: "jwk" } as JsonWebKeyInput));
      if (alg === undefined || key.algorithms.some((one) => one === alg))
        keys.push({ ...key, kid: asString(kid) });
    } catch {} // of another kind
  }
  return keys;
}

class KeySet implements KeySource {
  readonly #url: string;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** Through the proxy of the environment, if any. */
  readonly #connections = new HttpConnections(DIRECT);
  readonly #closed = new AbortController();
  #keys: readonly NamedKey[] | undefined;
  readonly #loading = new InFlight<void>();
  #soughtAt = Number.NEGATIVE_INFINITY;

  constructor(url: string, clock: Clock, telemetry: Telemetry) {
    this.#url = url;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#keepLoaded().catch(() => {}); // rejects only once this is closed
  }

  async find(kid: string | undefined): Promise<readonly VerifyingKey[]> {
    if (!this.#keys) await this.#loading.get()?.catch(() => {});
    if (!this.#keys) throw atCapacity("keys");
    if (kid === undefined) return this.#keys;
    const now = this.#clock.monotonic();
    if (this.#of(kid).length === 0 && now - this.#soughtAt >= UNKNOWN_MS) {
      this.#soughtAt = now;
      await this.#load().catch(() => {}); // the known keys stay
    }
    return [...this.#of(kid), ...this.#of(undefined)];
  }

  #of(kid: string | undefined): NamedKey[] {
    return this.#keys?.filter((key) => key.kid === kid) ?? [];
  }

  async close(): Promise<void> {
    this.#closed.abort();
    await this.#connections.close();
  }

  /** Until it is closed. */
  async #keepLoaded(): Promise<void> {
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
    return this.#loading.join(() => this.#loadNow());
  }

  /** What the URL answers, or the one that it leads to. */
  async #answer(signal: AbortSignal): Promise<{ status: number; body: string }> {
    for (let url = this.#url, redirects = 0; ; redirects += 1) {
      const answer = await this.#connections.request({ method: "GET", url, headers: {} }, signal);
      const { status, header } = answer;
      const body = (await answer.body()).toString();
      const location = header("location");
      if (status < 300 || status > 399 || location === undefined) return { status, body };
      if (redirects === MAX_REDIRECTS) throw new Error(`it redirects more than ${MAX_REDIRECTS} times`);
      url = new URL(location, url).href;
      if (!url.startsWith("https:")) throw new Error("it redirects to an address without TLS");
    }
  }

  /** Rejects, after the failure is logged, if the set cannot be loaded. */
  async #loadNow(): Promise<void> {
    try {
      using limit = new Deadline(this.#clock, LOAD_LIMIT_MS);
      const signal = AbortSignal.any([limit.signal, this.#closed.signal]);
      const { status, body } = await this.#answer(signal);
      const keys = status === 200 ? keysIn(body) : [];
      if (keys.length === 0) throw new Error(`it answers ${status} without a key that can be used`);
      this.#keys = keys.slice(0, MAX_KEYS);
      this.#telemetry.access.keysLoaded(this.#keys.length, keys.length);
    } catch (error) {
      const why = messageOf(error);
      if (!this.#closed.signal.aborted) this.#telemetry.access.keysAway(why, this.#keys !== undefined);
      throw error;
    }
  }
}
