/**
 * Judges whether a viewer has stopped reading. That the connection takes more says too little: Linux says so only once a
 * third of its send buffer is free, which can be a megabyte. So what counts is the bytes that the client's system has
 * taken, looked at while the connection has been full for long.
 */

/** How long a viewer may take nothing of what was written, in milliseconds. */
export const STALL_MS = 30_000;
/** Who takes as much in that time reads without a pause: 4 KB/s, a little less than the 5 KB/s that are promised. */
const STALL_BYTES = 120_000;
/**
 * A proxy takes what its client reads in bursts, for its own send buffer is reported free by thirds, too. So what was
 * taken counts for the time in which 4 KB/s would have taken it, but for so many times the limit at most: of 4 MiB, the
 * usual maximum of a send buffer, 5 KB/s take a third in 280 s.
 */
const MAX_STALLS = 10;

export class Stall {
  readonly #limitMs: number;
  /** Since when the connection is full. */
  #fullSince: number | undefined;
  /** When it became full the last time (at first, when it was opened), and how many bytes had been written by then. */
  #countedAt: number;
  #counted = 0;
  /** How many bytes the viewer had been written by then beyond what the slowest reader would have taken. */
  #ahead = 0;
  /** When to look at it next. */
  #lookAt = 0;
  /** What it had taken at the last look since it is full, in bytes of the whole connection. */
  #taken: number | undefined;
  #takenAt = 0;

  /** Of a connection opened at `now`; `limitMs` is how long it may take nothing. Times are on a clock that never jumps. */
  constructor(limitMs: number, now: number) {
    this.#limitMs = limitMs;
    this.#countedAt = now;
  }

  get isFull(): boolean {
    return this.#fullSince !== undefined;
  }

  /** The connection takes no more for now; `written` is in bytes of the whole connection. */
  full(written: number, now: number): void {
    if (this.isFull) return;
    this.#ahead = Math.max(0, this.#ahead + written - this.#counted - this.#slowest(now));
    this.#counted = written;
    this.#countedAt = now;
    this.#fullSince = now;
    this.#taken = undefined;
    this.#lookAt = now + this.#limitMs / 2;
  }

  /** The connection takes more again. */
  drained(): void {
    this.#fullSince = undefined;
  }

  /** Whether the viewer is to be looked at by `hasStopped`: it costs a look into the system's tables. */
  isSuspect(now: number): boolean {
    return this.isFull && now >= this.#lookAt;
  }

  /** Whether the viewer has stopped reading; `taken` is what its system has taken, in bytes of the whole connection. */
  hasStopped(taken: number, now: number): boolean {
    if (this.#fullSince === undefined) return false;
    if (this.#taken === undefined) this.#takenAt = this.#fullSince;
    else if (taken !== this.#taken) this.#takenAt = now;
    this.#taken = taken;
    const idleMs = now - this.#takenAt;
    const aheadBytes = this.#ahead + taken - this.#counted - this.#slowest(now);
    const aheadMs = (aheadBytes * this.#limitMs) / STALL_BYTES;
    const leftMs = Math.max(this.#limitMs - idleMs, Math.min(aheadMs, MAX_STALLS * this.#limitMs - idleMs));
    this.#lookAt = now + Math.min(leftMs, this.#limitMs / 2);
    return leftMs <= 0;
  }

  /** What the slowest reader takes from the last count up to `now`, in bytes. */
  #slowest(now: number): number {
    return ((now - this.#countedAt) * STALL_BYTES) / this.#limitMs;
  }
}
