/**
 * Judges whether a viewer has stopped reading. Being writable says too little: Linux reports it only once a
 * third of the send buffer is free, which can be a megabyte. So the decision depends on the bytes that the
 * client's system has acknowledged. They are checked only when the connection has been full for a while.
 */

/** How long a viewer may go without taking any bytes, in milliseconds. */
export const STALL_MS = 30_000;
/**
 * A viewer that takes this many bytes per `STALL_MS` counts as reading: 4 KB/s. The documentation promises
 * that 5 KB/s is enough.
 */
const STALL_BYTES = 120_000;
/**
 * A proxy reads from us in bursts, because its system too reports the proxy's send buffer as writable only
 * when a third of it is free. So a burst extends the limit by the time that its bytes would take at 4 KB/s,
 * up to this multiple of the limit (300 s). That is enough: a client that reads 5 KB/s empties a third of a
 * send buffer of 4 MiB, the usual size, in 280 s.
 */
const MAX_STALLS = 10;

/**
 * An example: a client takes 600 KB at once, and then nothing. A reader of 4 KB/s would need 150 s for them,
 * so the client is disconnected after 150 s in place of 30 s; after 300 s if it takes 2 MB at once.
 */
export class Stall {
  readonly #limitMs: number;
  /** When the connection became full; undefined if it is not full. */
  #fullSince: number | undefined;
  /** When it last became full (at first, when it was opened), and the bytes written by then. */
  #countedAt: number;
  #counted = 0;
  /** How far the viewer was ahead of the slowest permitted reader at `#countedAt`, in bytes. */
  #ahead = 0;
  /** When to check it next. */
  #lookAt = 0;
  /**
   * Bytes that the client had taken since the connection was opened, at the last check; undefined until the
   * first check after the connection became full.
   */
  #taken: number | undefined;
  #takenAt = 0;

  /** `now`: when it was opened, on a monotonic clock; `limitMs`: as `STALL_MS`. */
  constructor(limitMs: number, now: number) {
    this.#limitMs = limitMs;
    this.#countedAt = now;
  }

  get isFull(): boolean {
    return this.#fullSince !== undefined;
  }

  /** The connection takes no more for now; `written`: bytes since the connection was opened. */
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

  /** Whether to `observe` the viewer, which costs a look into the system's tables. */
  isSuspect(now: number): boolean {
    return this.isFull && now >= this.#lookAt;
  }

  /**
   * Notes the bytes of the connection that the client's system has taken. Returns whether the viewer has
   * stopped reading.
   */
  observe(taken: number, now: number): boolean {
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

  /** Bytes that the slowest reader takes from the last count up to `now`. */
  #slowest(now: number): number {
    return ((now - this.#countedAt) * STALL_BYTES) / this.#limitMs;
  }
}
