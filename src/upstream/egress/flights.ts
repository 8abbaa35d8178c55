/**
 * Makes one call for all callers that ask for the same: while a call waits or runs, another with its key
 * joins it. It is aborted when its last caller gives up. The gate derives the due time, the lane and the
 * accepted cooldown from the current callers. It repeats no call that has failed, except one for which this
 * machine had no free file.
 */
import { answeredNow, type CallTimes, type Clock, startedNow } from "../../base/clock.ts";
import { UpstreamError } from "../upstream-error.ts";
import type { Gate, Waiting } from "./gate.ts";
import { LANES, type Lane } from "./lanes.ts";

/** The pause of a call for which this machine had no free file, in milliseconds. */
const NO_FILES_MS = 500;

/** How a call queues. */
export interface CallOptions {
  lane: Lane;
  /** When it should start, on the monotonic clock, possibly in the past; now by default. */
  dueAt?: number;
  /** How late it may start without loss, in milliseconds; 0 by default. */
  toleranceMs?: number;
  /**
   * Once it is later than `toleranceMs`, it counts as this much more overdue, in milliseconds; 0 by default.
   */
  priorityMs?: number;
  /** The longest cooldown that it waits for. A longer one rejects it at once, as throttled. */
  maxCooldownMs: number;
  /**
   * Proves the room's lease when the call starts. If it throws, its caller is rejected with that error. A
   * caller that joins a call which runs already is not asked.
   */
  beforeStart?: (() => void) | undefined;
  signal: AbortSignal;
}

export interface Call<T> extends CallOptions {
  /** Calls with the same key are identical. */
  key: string;
  /** The endpoint or path: a cooldown's doubling ends when the same kind succeeds. */
  kind: string;
  /** Whether it loads a page, which has its own cooldown. */
  isPage?: boolean | undefined;
  /** Makes the call. The signal aborts when no caller waits for it. `onSent`: as in `Connections.request`. */
  run(signal: AbortSignal, onSent: () => void): Promise<T>;
}

/** The result of a call, and when it started and was answered. */
export interface Answered<T> extends CallTimes {
  value: T;
}

type Waiter = Required<Omit<CallOptions, "beforeStart" | "signal">> &
  Pick<CallOptions, "beforeStart"> &
  Omit<PromiseWithResolvers<Answered<unknown>>, "promise">;

export class Flights {
  readonly #gate: Gate;
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Flight>();
  #closed: UpstreamError | undefined;

  constructor(gate: Gate, clock: Clock) {
    this.#gate = gate;
    this.#clock = clock;
  }

  /**
   * The outcome of the call, which runs when the gate starts it. Rejects with the error of `run` or of
   * `beforeStart`, the signal's reason, or `UpstreamError`: "throttled" if a cooldown is longer than
   * `maxCooldownMs`, "unusable" after `close`.
   */
  async call<T>(call: Call<T>): Promise<Answered<T>> {
    const { signal, key, lane, isPage, maxCooldownMs, beforeStart } = call;
    const { dueAt = this.#clock.monotonic(), toleranceMs = 0, priorityMs = 0 } = call;
    signal.throwIfAborted();
    if (this.#closed) throw this.#closed;
    if (this.#gate.cooldownLeftMs(isPage) > maxCooldownMs) throw this.#gate.refusal(isPage);
    const { promise, resolve, reject } = Promise.withResolvers<Answered<unknown>>();
    const queueing = { lane, dueAt, toleranceMs, priorityMs, maxCooldownMs };
    const waiter: Waiter = { ...queueing, beforeStart, resolve, reject };
    const known = this.#byKey.get(key);
    const flight = known ?? new Flight();
    const onAbort = () => flight.leave(waiter, signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    flight.join(waiter);
    if (known) this.#gate.advance();
    else this.#begin(flight, call);
    try {
      return (await promise) as Answered<T>; // calls with the same key have the same type of answer
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Rejects all waiting callers, and every later call. */
  close(): void {
    this.#closed = new UpstreamError("unusable", "the service is stopping");
    for (const flight of this.#byKey.values()) flight.leaveAll(this.#closed);
  }

  #begin<T>(flight: Flight, call: Call<T>): void {
    const { key } = call;
    this.#byKey.set(key, flight);
    // This comes before the callers get the outcome: a caller that repeats the call at once must not join a
    // finished flight.
    const isOver = () => {
      if (this.#byKey.get(key) === flight) this.#byKey.delete(key);
    };
    flight.signal.addEventListener("abort", isOver, { once: true });
    this.#fly(flight, call).then(
      (answered) => {
        isOver();
        flight.resolve(answered);
      },
      (error: unknown) => {
        isOver();
        flight.leaveAll(error);
      },
    );
  }

  async #fly<T>(flight: Flight, { kind, isPage, run }: Call<T>): Promise<Answered<T>> {
    for (;;) {
      const slot = await this.#gate.takeSlot({ kind, isPage, waiting: flight });
      try {
        flight.depart();
        const start = startedNow(this.#clock);
        const value = await run(flight.signal, slot.sent);
        slot.succeeded();
        return { value, ...answeredNow(start, this.#clock) };
      } catch (error) {
        const failure = slot.failed(error);
        if (!(error instanceof UpstreamError && error.needsFiles)) throw failure;
      }
      await this.#clock.sleep(NO_FILES_MS, flight.signal);
    }
  }
}

/** One call and all its callers. */
class Flight implements Waiting {
  readonly #waiters = new Set<Waiter>();
  readonly #abort = new AbortController();

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get dueAt(): number {
    return Math.min(...this.#waiters.values().map(({ dueAt }) => dueAt));
  }

  // The gate reads `lane` and `sortKey` of all waiting calls at each start, so they create no arrays.
  get lane(): Lane {
    let first = LANES.indexOf("probe");
    for (const { lane } of this.#waiters) first = Math.min(first, LANES.indexOf(lane));
    return LANES[first] ?? "probe";
  }

  sortKey(now: number): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { dueAt, toleranceMs, priorityMs } of this.#waiters) {
      const latestAt = dueAt + toleranceMs;
      first = Math.min(first, now > latestAt ? latestAt - priorityMs : latestAt);
    }
    return first;
  }

  join(waiter: Waiter): void {
    this.#waiters.add(waiter);
  }

  /** Called when the call starts: rejects the callers whose `beforeStart` throws. Throws if none is left. */
  depart(): void {
    for (const waiter of this.#waiters) {
      try {
        waiter.beforeStart?.();
      } catch (error) {
        this.leave(waiter, error);
      }
    }
    this.signal.throwIfAborted();
  }

  resolve(answered: Answered<unknown>): void {
    for (const waiter of this.#waiters) waiter.resolve(answered);
  }

  /** One caller gives up. The last one aborts the call. */
  leave(waiter: Waiter, reason: unknown): void {
    this.#waiters.delete(waiter);
    waiter.reject(reason);
    if (this.#waiters.size === 0) this.#abort.abort(reason);
  }

  leaveAll(reason: unknown): void {
    for (const waiter of this.#waiters) this.leave(waiter, reason);
  }

  refuseImpatient(cooldownMs: number, refusal: UpstreamError): void {
    for (const waiter of this.#waiters) {
      if (cooldownMs > waiter.maxCooldownMs) this.leave(waiter, refusal);
    }
  }
}
