/** The real time, of which a test may skip some: for waits behind real sockets and databases. */
import { type Clock, systemClock } from "../../src/base/clock.ts";

export class LeapingClock implements Clock {
  #leaptMs = 0;
  /** The sleepers to notify of a leap. */
  readonly #sleepers = new Set<() => void>();

  now(): number {
    return systemClock.now() + this.#leaptMs;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#leaptMs;
  }

  uptime(): number {
    return systemClock.uptime() + this.#leaptMs;
  }

  random(): number {
    return systemClock.random();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const until = this.monotonic() + ms;
    let leftMs = ms;
    do {
      signal?.throwIfAborted();
      const leapt = new AbortController();
      const wake = () => leapt.abort();
      this.#sleepers.add(wake);
      signal?.addEventListener("abort", wake);
      await systemClock.sleep(leftMs, leapt.signal).catch(() => {});
      this.#sleepers.delete(wake);
      signal?.removeEventListener("abort", wake);
      leftMs = until - this.monotonic();
    } while (leftMs > 0);
    signal?.throwIfAborted();
  }

  /** Skips this many milliseconds; sleepers whose time is then over wake. */
  leap(ms: number): void {
    this.#leaptMs += ms;
    for (const wake of this.#sleepers) wake();
  }

  /** Skips 0.1 s again and again until the promise is settled, also for sleepers that come later. */
  async leapUntil(settled: Promise<unknown>): Promise<void> {
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    settled.then(over, over);
    for (; !isOver; await systemClock.sleep(1)) this.leap(100);
  }
}
