/**
 * Whether the upstream answers. Everything that a working upstream says is an answer, a refusal or a wall as
 * well as a success; throttling is none (`isAnswer`). There are three questions, because a wrong guess costs
 * something else each time:
 * - How long has it been silent for a room? `Silence` measures that. It decides when a room is given to
 *   another instance that wants it.
 * - Does this instance reach it at all? `Reach` says no from the first room or opening that is given up for
 *   its silence until any answer, or until no page may be loaded to find out. Meanwhile the instance takes no
 *   room from others. Silence alone does not suffice: if no other instance wants the rooms, this one must
 *   read them as soon as it can.
 * - Is a failure the egress's, or that of one chat? The `Breaker` asks for the failures of several rooms.
 */
import type { Clock } from "../../base/clock.ts";
import { unlessAborted } from "../../base/deadline.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { isAnswer } from "../upstream-error.ts";
import type { Egress } from "./egress.ts";

/** Time between tries while no egress reaches the upstream. */
const TRY_MS = 5000;

interface ReachParts {
  clock: Clock;
  telemetry: Telemetry;
  /** The egress that may be the first to reach the upstream. */
  best(): Egress;
}

export class Reach {
  readonly #parts: ReachParts;
  readonly #closed = new AbortController();
  /** Resolved when the upstream is reached again; undefined while it is reached, as far as is known. */
  #reaching: PromiseWithResolvers<void> | undefined;

  constructor(parts: ReachParts) {
    this.#parts = parts;
  }

  /** Whether no egress reaches the upstream. */
  get isCutOff(): boolean {
    return this.#reaching !== undefined;
  }

  /** The upstream has not been reached for long: from now on `reachable` waits until it is again. */
  cutOff(): void {
    if (this.#reaching) return;
    this.#reaching = Promise.withResolvers();
    this.#parts.telemetry.upstream.cutOff();
    void this.#try(this.#reaching);
  }

  /** The upstream answered a room, an opening or a try, through any egress. */
  reached(): void {
    if (!this.#reaching) return;
    this.#parts.telemetry.upstream.reached();
    this.#trust();
  }

  /** Resolves when the upstream can be reached, as far as is known. Rejects with the signal's reason. */
  async reachable(signal: AbortSignal): Promise<void> {
    if (this.#reaching) await unlessAborted(this.#reaching.promise, signal);
  }

  /** Starts no more tries. */
  close(): void {
    this.#closed.abort();
  }

  #trust(): void {
    this.#reaching?.resolve();
    this.#reaching = undefined;
  }

  /**
   * Tries until the upstream answers any caller. While page loads alone are throttled, which can take hours,
   * only the calls of rooms can show whether it does.
   */
  async #try(reaching: PromiseWithResolvers<void>): Promise<void> {
    const { signal } = this.#closed;
    const { clock, telemetry } = this.#parts;
    while (this.#reaching === reaching && !signal.aborted) {
      const best = this.#parts.best();
      const mayTry = best.cooldownLeftMs(true) <= TRY_MS;
      const isReached = mayTry && (await best.tryOut(signal, TRY_MS).then(() => true, isAnswer));
      if (isReached) return this.reached();
      await clock.sleep(TRY_MS, signal).catch(() => {});
      if (mayTry || best.cooldownLeftMs() > 0 || this.#reaching !== reaching) continue;
      telemetry.upstream.untried();
      this.#trust();
    }
  }
}
