/**
 * All egresses. Chooses the least loaded that works; one that is throttled or down only if none works.
 *
 * Also knows whether this instance reaches the upstream at all. It counts as cut off once it has given up a
 * room or an opening because of silence (`Silence`) or a long cooldown, until any answer. Meanwhile the
 * breakers try, and the instance takes no room from others. Silence alone does not suffice: if no other
 * instance wants the rooms, this one must read them as soon as it can.
 */
import type { Clock } from "../../base/clock.ts";
import { ClockWitness } from "../../base/clock-witness.ts";
import { unlessAborted } from "../../base/deadline.ts";
import type { SharedPace } from "../../base/shared-pace.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { isAnswer, isUnconnected, mayWorkElsewhere, UpstreamError } from "../upstream-error.ts";
import { type Connections, HttpConnections } from "./connections.ts";
import { Egress, type EgressSettings } from "./egress.ts";
import type { EgressSpec } from "./spec.ts";

/** Time limit of a chat call if there are several egresses: shorter than usual. */
const MAX_CHAT_MS = 5000;
/** Maximum number of egresses that a caller tries. */
const MAX_TRIES = 3;

interface PoolSettings extends EgressSettings {
  specs: readonly EgressSpec[];
  clock: Clock;
  telemetry: Telemetry;
  connectionsOf?: (spec: EgressSpec) => Connections;
}

/** Calls that are kept for recordings whose chats are not open: one live chat for each. */
export interface Reserve {
  /** The number of these chats. */
  places(): number;
  /** Whether the reserve is for this video. */
  isFor(videoId: string): boolean;
}

/** Permission to search for a video's chat. Disposing gives it back. */
export interface OpeningTurn extends Disposable {
  egress: Egress;
}

export class EgressPool {
  /** Time limit of a chat call, in milliseconds. */
  readonly chatMs: number;
  readonly isSingle: boolean;
  /** The upstream's clock. */
  readonly witness: ClockWitness;
  readonly #all: readonly Egress[];
  readonly #telemetry: Telemetry;
  #reserve: Reserve | undefined;
  /** Resolved when the upstream is reached again; undefined while it is reached, as far as is known. */
  #reaching: PromiseWithResolvers<void> | undefined;

  /** Throws an error that says which proxy settings of the environment are valid. */
  constructor({ specs, clock, telemetry, connectionsOf, ...given }: PoolSettings) {
    this.isSingle = specs.length === 1;
    const { chatMs } = given.deadlines;
    this.chatMs = this.isSingle ? chatMs : Math.min(chatMs, MAX_CHAT_MS);
    const settings = { ...given, deadlines: { ...given.deadlines, chatMs: this.chatMs } };
    this.witness = new ClockWitness(clock);
    this.#telemetry = telemetry;
    this.#all = specs.map((spec) => {
      const connections = connectionsOf?.(spec) ?? new HttpConnections(spec);
      return new Egress(spec, settings, this, connections, { clock, telemetry });
    });
  }

  /** Whether no egress reaches the upstream. */
  get isCutOff(): boolean {
    return this.#reaching !== undefined;
  }

  /** Milliseconds since the upstream last answered any call. Without calls, the value has no meaning. */
  get unreachedMs(): number {
    return Math.min(...this.#all.map(({ silence }) => silence.ms));
  }

  /** For how long no egress has reached the upstream, in milliseconds, as far as their calls have shown. */
  get outMs(): number {
    return Math.min(...this.#all.map(({ silence }) => silence.knownMs));
  }

  /**
   * Every egress asks for a small page, if it does not yet, and again if that call fails: `outMs` then
   * shows whether one reaches the upstream.
   */
  tryOut(signal: AbortSignal): void {
    for (const egress of this.#all) {
      const ask = () => egress.trial(signal, 0);
      void ask()
        .catch(ask)
        .catch(() => {}); // the `Silence` of the egress has noted both failures
    }
  }

  /** The upstream has not been reached for long: from now on `reachable` waits until it is again. */
  cutOff(): void {
    if (this.#reaching) return;
    this.#reaching = Promise.withResolvers();
    this.#telemetry.upstream.cutOff();
    for (const { breaker } of this.#all) breaker.cutOff();
  }

  /** The upstream answered by any egress. */
  reached(): void {
    if (this.#reaching) this.#telemetry.upstream.reached();
    this.#endCutOff();
  }

  /** No call is possible for now that would show whether the upstream is reached: it counts as reached. */
  assumeReached(): void {
    if (this.#reaching) this.#telemetry.upstream.untried();
    this.#endCutOff();
  }

  #endCutOff(): void {
    this.#reaching?.resolve();
    this.#reaching = undefined;
  }

  /** Resolves when the upstream can be reached, as far as is known. Rejects with the signal's reason. */
  async reachable(signal: AbortSignal): Promise<void> {
    if (this.#reaching) await unlessAborted(this.#reaching.promise, signal);
  }

  /** From now on other chats leave room for these. */
  setReserve(reserve: Reserve): void {
    this.#reserve = reserve;
  }

  /** The number of chats for which the room of this video must leave calls at its egress. */
  reservedBeside(videoId: string): number {
    if (!this.#reserve || this.#reserve.isFor(videoId)) return 0;
    return Math.ceil(this.#reserve.places() / this.#all.length);
  }

  /** The least loaded one that works; if none works, the one that may be the first to work again. */
  get best(): Egress {
    const [best] = ranked(this.#all);
    if (!best) throw new Error("there is no egress");
    return best;
  }

  of(key: string): Egress | undefined {
    return this.#all.find((egress) => egress.key === key);
  }

  /** Other egresses that work, the best first. */
  others(tried: ReadonlySet<Egress>): readonly Egress[] {
    return ranked(this.#all.filter((egress) => !tried.has(egress) && egress.isUsable()));
  }

  /** From now on the egress with that key, if any, shares its pace with other instances. */
  share(key: string, pace: SharedPace): void {
    this.of(key)?.share(pace);
  }

  /**
   * Permission to search for a chat; undefined if the limit of searches is reached. If the best egress is
   * throttled, everybody gets it, because the search then fails at once.
   */
  takeOpening(): OpeningTurn | undefined {
    const { best } = this;
    if (best.gate.cooldownLeftMs(true) > 0) return { egress: best, [Symbol.dispose]() {} };
    const all = ranked(this.#all);
    const usable = all.filter((egress) => egress.isUsable());
    const roomy = usable.filter((egress) => egress.load.hasRoom);
    for (const egress of [roomy, usable, all].find(({ length }) => length > 0) ?? []) {
      const taken = egress.takeOpening();
      if (taken) return { ...taken, egress };
    }
    return undefined;
  }

  /**
   * The result of the first egress that is neither throttled nor without a connection. Tries `preferred`
   * first if it works. Rejects like the last call; if that was throttled, with the wait until any egress may
   * be used again.
   */
  async call<T>(signal: AbortSignal, use: (egress: Egress) => Promise<T>, preferred?: Egress): Promise<T> {
    let egress = preferred?.isUsable(false) ? preferred : this.best;
    for (const tried = new Set<Egress>(); ; ) {
      try {
        const given = await use(egress);
        this.reached();
        return given;
      } catch (error) {
        signal.throwIfAborted();
        if (isAnswer(error)) this.reached();
        if (error instanceof Error && isUnconnected(error)) egress.breaker.unconnected(error);
        tried.add(egress);
        const [other] = mayWorkElsewhere(error) && tried.size < MAX_TRIES ? this.others(tried) : [];
        if (!other) throw this.#untilAnyWorks(error);
        egress = other;
      }
    }
  }

  #untilAnyWorks(error: unknown): unknown {
    const leftMs = this.best.gate.cooldownLeftMs(true);
    const isThrottled = error instanceof UpstreamError && error.fault === "throttled";
    if (!isThrottled || leftMs === 0 || leftMs >= (error.retryAfterMs ?? 0)) return error;
    return new UpstreamError("throttled", error.message, { retryAfterMs: leftMs, cause: error });
  }

  /** Starts no more calls, and ends those that wait. */
  async close(): Promise<void> {
    await Promise.all(this.#all.map((egress) => egress.close()));
  }
}

/** The best first. A single one needs no rank. */
function ranked(egresses: readonly Egress[]): readonly Egress[] {
  if (egresses.length < 2) return egresses;
  const ranks = new Map(egresses.map((egress) => [egress, egress.rank]));
  return [...ranks.keys()].sort((one, other) => {
    const [a = [], b = []] = [ranks.get(one), ranks.get(other)];
    const differing = a.findIndex((value, i) => value !== b[i]);
    return differing < 0 ? 0 : (a[differing] ?? 0) - (b[differing] ?? 0);
  });
}
