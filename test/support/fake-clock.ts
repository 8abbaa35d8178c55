/** A clock that a test owns: time moves only by `advance`, and everything that is due happens in order. */
import type { Clock } from "../../src/base/clock.ts";

interface Timer {
  at: number;
  fire(): void;
}

export class FakeClock implements Clock {
  #time = 0;
  #wallAheadMs = 1_700_000_000_000;
  #sleptMs = 0;
  readonly #timers = new Set<Timer>();
  /** What `random` gives. */
  chance = 0.5;

  now(): number {
    return this.#wallAheadMs + this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  uptime(): number {
    return this.#sleptMs + this.#time;
  }

  /** Sets the wall clock forward, or back. */
  jump(ms: number): void {
    this.#wallAheadMs += ms;
  }

  /** The computer sleeps: the wall clock and the uptime continue, the monotonic clock does not. */
  fallAsleep(ms: number): void {
    this.#wallAheadMs += ms;
    this.#sleptMs += ms;
  }

  /** Sets the monotonic clock back, as only a fault of the machine does. */
  setBack(ms: number): void {
    this.#time -= ms;
    for (const timer of this.#timers) timer.at -= ms;
  }

  random(): number {
    return this.chance;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer: Timer = { at: this.#time + ms, fire: resolve };
      this.#timers.add(timer);
      signal?.addEventListener("abort", () => {
        this.#timers.delete(timer);
        reject(signal.reason);
      });
    });
  }

  /** Moves time on, stopping at each timer on the way until all it set off has settled. */
  async advance(ms: number): Promise<void> {
    const until = this.#time + ms;
    await settled();
    for (;;) {
      const next = [...this.#timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.#time = Math.max(this.#time, next.at);
      this.#timers.delete(next);
      next.fire();
      await settled();
    }
    this.#time = until;
  }
}

/** Lets every promise that can settle without time or input do so. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
