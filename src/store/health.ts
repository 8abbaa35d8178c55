/**
 * Whether the store works, as its operations show: each is reported here, once. All rooms meet the same failure, so one
 * line tells of it: when it begins, once a minute while it lasts, and when the store works again.
 */
import type { Clock } from "../clock.ts";
import type { StoreOperation } from "../telemetry/metrics.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { isUnavailable } from "./port.ts";

/** From one error line to the next: also where the store fails and works by turns, as at the edge of a full disk. */
const REMIND_MS = 60_000;
/** Whoever needs a read that failed tries again sooner than this: after it, nobody needs it any more. */
const READ_RETRIED_MS = 10_000;

/** They succeed only if the store takes writes: that ends an outage. Any other success speaks for its own kind. */
const PROOFS: ReadonlySet<StoreOperation> = new Set<StoreOperation>(["append", "finish", "probeWrite"]);

export class StoreHealth {
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** The operations that failed and have not succeeded since, with the time of the last failure. */
  readonly #failing = new Map<StoreOperation, number>();
  readonly #blockedRooms = new Set<string>();
  #beganAt = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, telemetry: Telemetry) {
    this.#clock = clock;
    this.#telemetry = telemetry;
  }

  /** Whether no operation has failed without a success since. */
  get isAvailable(): boolean {
    return this.#failing.size === 0;
  }

  /** Whether the store refuses what some room has to write. */
  get isBlocked(): boolean {
    return this.#blockedRooms.size > 0;
  }

  setBlocked(videoId: string, isBlocked: boolean): void {
    if (isBlocked) this.#blockedRooms.add(videoId);
    else this.#blockedRooms.delete(videoId);
  }

  /** The operation's outcome. One that is fenced was answered by a store that works: neither a failure nor a success. */
  async report<T>(operation: StoreOperation, outcome: Promise<T>): Promise<T> {
    const beganAt = this.#clock.monotonic();
    try {
      const value = await outcome;
      this.#telemetry.storeSucceeded(operation, this.#clock.monotonic() - beganAt);
      this.#succeeded(operation);
      return value;
    } catch (error) {
      if (isUnavailable(error)) {
        this.#telemetry.storeFailed(operation, error.message);
        this.failed(operation, error.message);
      }
      throw error;
    }
  }

  /** An operation failed; `why` says what to do where that is known. */
  failed(operation: StoreOperation, why: string): void {
    const now = this.#clock.monotonic();
    if (this.isAvailable) this.#beganAt = now;
    this.#failing.set(operation, now);
    if (now < this.#reportedAt + REMIND_MS) return;
    this.#reportedAt = now;
    this.#telemetry.storeOutage(operation, why, now - this.#beganAt);
  }

  /** The store is lost for good: that is the last line about it. */
  lose(why: string): void {
    this.#reportedAt = Number.POSITIVE_INFINITY;
    this.#telemetry.storeLost(why);
  }

  #succeeded(operation: StoreOperation): void {
    if (this.isAvailable) return;
    this.#failing.delete(operation);
    const isProof = PROOFS.has(operation) && !(operation === "probeWrite" && this.isBlocked);
    if (isProof) this.#endOutageOfWrites();
    if (this.isAvailable && this.#reportedAt >= this.#beganAt) {
      this.#telemetry.storeRecovered(this.#clock.monotonic() - this.#beganAt);
    }
  }

  /** A write does not show that history can be read: a read that is still tried for has to succeed itself. */
  #endOutageOfWrites(): void {
    const readFailedAt = this.#failing.get("read") ?? Number.NEGATIVE_INFINITY;
    this.#failing.clear();
    if (this.#clock.monotonic() < readFailedAt + READ_RETRIED_MS) this.#failing.set("read", readFailedAt);
  }
}
