/**
 * Whether another machine confirms a wall clock. A computer may start with a clock that is wrong by years, so
 * nothing is deleted for good by a clock with which no other machine agrees.
 */
import type { Clock } from "./clock.ts";

/** How far a clock may be from that of the other machine, in milliseconds. */
const AGREEMENT_MS = 3_600_000;
/** How long what the other machine said counts, in milliseconds. */
const HEARD_FOR_MS = 24 * 3_600_000;

export class ClockWitness {
  readonly #clock: Pick<Clock, "now" | "uptime">;
  #heard: { time: number; at: number } | undefined;

  constructor(clock: Pick<Clock, "now" | "uptime">) {
    this.#clock = clock;
  }

  /** Another machine has just said that it is this time, in wall milliseconds; NaN says nothing. */
  hear(time: number): void {
    if (!Number.isNaN(time)) this.#heard = { time, at: this.#clock.uptime() };
  }

  /** What the clock of the other machine shows now; undefined if nobody was heard in the last day. */
  get time(): number | undefined {
    if (!this.#heard) return undefined;
    const agoMs = this.#clock.uptime() - this.#heard.at;
    return agoMs <= HEARD_FOR_MS ? Math.floor(this.#heard.time + agoMs) : undefined;
  }

  /** The wall milliseconds of the other machine; those of this one if nobody was heard in the last day. */
  get now(): number {
    return this.time ?? this.#clock.now();
  }

  /** By how much a clock that shows `now` is ahead; undefined if nobody was heard in the last day. */
  aheadMs(now: number): number | undefined {
    const { time } = this;
    return time === undefined ? undefined : now - time;
  }

  /**
   * What counts as now, in wall milliseconds, where a time is stored by a clock that shows `now`: the time of
   * the other machine if that is later and the two do not agree. Never an earlier one: new messages would
   * look old.
   */
  latest(now: number): number {
    return this.agrees(now) ? now : Math.max(now, this.time ?? now);
  }

  /** Whether the other machine agrees that it is `now`. */
  agrees(now: number): boolean {
    return Math.abs(this.aheadMs(now) ?? Number.NaN) <= AGREEMENT_MS;
  }
}
