/** All egresses. Chooses the least loaded that works; one that is throttled or down only if none works. */
import { ClockWitness } from "../../base/clock-witness.ts";
import type { SharedPace } from "../../base/shared-pace.ts";
import { isAnswer, isUnconnected, mayWorkElsewhere, UpstreamError } from "../upstream-error.ts";
import { Egress, type EgressParts } from "./egress.ts";
import { Reach } from "./reach.ts";
import type { EgressSpec } from "./spec.ts";

/** Time limit of a call if another egress is available: shorter than usual. */
const MAX_CHAT_MS = 5000;
/** Maximum number of egresses that a caller tries. */
const MAX_TRIES = 3;

interface EgressPoolParts extends Omit<EgressParts, "isCutOff" | "witness"> {
  specs: readonly EgressSpec[];
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
  /** Whether any of them reaches the upstream. */
  readonly reach: Reach;
  /** The upstream's clock. */
  readonly witness: ClockWitness;
  readonly #all: readonly Egress[];
  #reserve: Reserve | undefined;

  /** Throws an error that says which proxy settings of the environment are valid. */
  constructor({ specs, ...parts }: EgressPoolParts) {
    const isSingle = specs.length === 1;
    const maxChatMs = isSingle ? Number.POSITIVE_INFINITY : MAX_CHAT_MS;
    this.chatMs = Math.min(parts.deadlines.chatMs, maxChatMs);
    const deadlines = { ...parts.deadlines, chatMs: this.chatMs };
    const { clock, telemetry } = parts;
    this.reach = new Reach({ clock, telemetry, best: () => this.best });
    const isCutOff = () => this.reach.isCutOff;
    const witness = new ClockWitness(clock);
    this.witness = witness;
    this.#all = specs.map((spec) => new Egress(spec, isSingle, { ...parts, deadlines, isCutOff, witness }));
  }

  /** From now on other chats leave room for these. */
  keepFor(reserve: Reserve): void {
    this.#reserve = reserve;
  }

  /** The number of chats for which the room of this video must leave calls at its egress. */
  reservedBeside(videoId: string): number {
    if (!this.#reserve || this.#reserve.isFor(videoId)) return 0;
    return Math.ceil(this.#reserve.places() / this.#all.length);
  }

  get isSingle(): boolean {
    return this.#all.length === 1;
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

  /** From now on the egress of that name, if any, shares its pace with other instances. */
  share(name: string, pace: SharedPace): void {
    this.of(name)?.share(pace);
  }

  /**
   * Permission to search for a chat; undefined if the limit of searches is reached. If all egresses are
   * throttled, everybody gets it, because the search then fails at once.
   */
  takeOpening(): OpeningTurn | undefined {
    const { best } = this;
    if (best.cooldownLeftMs(true) > 0) return { egress: best, [Symbol.dispose]() {} };
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
        this.reach.reached();
        return given;
      } catch (error) {
        signal.throwIfAborted();
        if (isAnswer(error)) this.reach.reached();
        if (error instanceof Error && isUnconnected(error)) egress.breaker.unconnected(error);
        tried.add(egress);
        const [other] = mayWorkElsewhere(error) && tried.size < MAX_TRIES ? this.others(tried) : [];
        if (!other) throw this.#untilAnyWorks(error);
        egress = other;
      }
    }
  }

  #untilAnyWorks(error: unknown): unknown {
    const leftMs = this.best.cooldownLeftMs(true);
    const isThrottled = error instanceof UpstreamError && error.fault === "throttled";
    if (!isThrottled || leftMs === 0 || leftMs >= (error.retryAfterMs ?? 0)) return error;
    return new UpstreamError("throttled", error.message, { retryAfterMs: leftMs, cause: error });
  }

  /** Starts no more calls, and ends those that wait. */
  async close(): Promise<void> {
    this.reach.close();
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
