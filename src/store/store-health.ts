/**
 * The state of the store, derived from the outcomes of its operations. A failure affects all rooms, so one
 * line describes it: when it begins, once a minute while it lasts, and when it is over.
 */
import type { Clock } from "../base/clock.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import type { StoreOperation } from "../telemetry/store-events.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { isUnavailable, StoreClosed, type StoreTrouble } from "./store-error.ts";

/**
 * The minimum interval between two error lines, even if the store alternately fails and works, as on a nearly
 * full disk.
 */
const REMIND_MS = 60_000;
/** Readers retry a failed read sooner than this. After this time, no reader needs it any more. */
const READ_RETRIED_MS = 10_000;

/**
 * Operations that succeed only if the store accepts writes; their success ends an outage. Any other success
 * proves only its own operation.
 */
const PROOFS: ReadonlySet<StoreOperation> = new Set<StoreOperation>(["append", "finish", "probeWrite"]);

export class StoreHealth {
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** The operations that failed and have not succeeded since, with the time of their last failure. */
  readonly #failing = new Map<StoreOperation, number>();
  readonly #blockedRooms = new Set<ChatKey>();
  /** Whether the store has reached `RELAY_MAX_STORE_BYTES`. It works all the same. */
  isStoreFull = false;
  #trouble: StoreTrouble = "it failed";
  /** Damage stays, whatever else succeeds. */
  #isDamaged = false;
  #beganAt = 0;
  #reportedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, telemetry: Telemetry) {
    this.#clock = clock;
    this.#telemetry = telemetry;
  }

  /** Whether every operation that failed has succeeded since. */
  get isAvailable(): boolean {
    return this.#failing.size === 0;
  }

  /** Whether the store refuses a write of some room, or a read that the write needs. */
  get isBlocked(): boolean {
    return this.#blockedRooms.size > 0;
  }

  /** The reason of the last failure. */
  get trouble(): StoreTrouble {
    return this.#trouble;
  }

  setBlocked(key: ChatKey, isBlocked: boolean): void {
    if (isBlocked) this.#blockedRooms.add(key);
    else this.#blockedRooms.delete(key);
  }

  /**
   * Reports the operation's outcome, and passes it on. A fenced write is neither a failure nor a success: a
   * working store has refused it. An operation on a store that this service has closed is counted as failed,
   * but begins no outage.
   */
  async report<T>(operation: StoreOperation, outcome: Promise<T>): Promise<T> {
    const beganAt = this.#clock.monotonic();
    try {
      const value = await outcome;
      this.#telemetry.store.succeeded(operation, this.#clock.monotonic() - beganAt);
      this.#succeeded(operation);
      return value;
    } catch (error) {
      if (isUnavailable(error)) {
        this.#telemetry.store.failed(operation, error.message);
        if (!(error instanceof StoreClosed)) this.failed(operation, error.message, error.trouble);
      }
      throw error;
    }
  }

  /** Records a failed operation. `why` says what to do if that is known. */
  failed(operation: StoreOperation, why: string, trouble: StoreTrouble): void {
    const now = this.#clock.monotonic();
    if (this.isAvailable || trouble !== "it does not answer") this.#trouble = trouble; // an error says more
    if (this.isAvailable) this.#beganAt = now;
    if (trouble === "it is damaged") this.#isDamaged = true;
    this.#failing.set(operation, now);
    if (now < this.#reportedAt + REMIND_MS) return;
    this.#reportedAt = now;
    this.#telemetry.store.outage(operation, trouble, why, now - this.#beganAt);
  }

  /** Reports that the store is lost for good: its last line. */
  reportLost(why: string): void {
    this.#reportedAt = Number.POSITIVE_INFINITY;
    this.#telemetry.store.lost(why);
  }

  #succeeded(operation: StoreOperation): void {
    if (this.isAvailable) return;
    this.#failing.delete(operation);
    const isProof = PROOFS.has(operation) && !(operation === "probeWrite" && this.isBlocked);
    if (isProof) this.#endOutageOfWrites();
    if (this.isAvailable && this.#reportedAt >= this.#beganAt) {
      this.#telemetry.store.recovered(this.#clock.monotonic() - this.#beganAt, this.#isDamaged);
    }
  }

  /**
   * A successful write does not prove that history can be read: a read that is still retried must succeed
   * itself.
   */
  #endOutageOfWrites(): void {
    const readFailedAt = this.#failing.get("read") ?? Number.NEGATIVE_INFINITY;
    this.#failing.clear();
    if (this.#clock.monotonic() < readFailedAt + READ_RETRIED_MS) this.#failing.set("read", readFailedAt);
  }
}
