/**
 * One call for all callers that ask for the same: while a call waits or runs, another with its key joins it. It is
 * aborted when no caller waits for it any more. The gate reads from those who wait just then when the call is due, in
 * which lane, and which cooldown it sits out.
 */
import { answeredNow, type CallTimes, type Clock } from "../../clock.ts";
import { UpstreamError } from "../errors.ts";
import type { Gate, Waiting } from "./gate.ts";
import { LANES, type Lane } from "./lanes.ts";

/** How a call queues. */
export interface CallOptions {
  lane: Lane;
  /** When it should start, on the monotonic clock; the past is allowed, now is the default. */
  dueAt?: number;
  /** How late it may start without a loss, in milliseconds; 0 by default. */
  toleranceMs?: number;
  /** How much more overdue it counts than it is, once it is too late, in milliseconds; 0 by default. */
  priorityMs?: number;
  /** The longest cooldown that it sits out; a longer one refuses it, as throttled, at once. */
  maxCooldownMs: number;
  /** Proves the room's lease when the call goes out, behind its queue. A caller for whom it throws is given that, and waits no more. */
  beforeStart?: (() => void) | undefined;
  signal: AbortSignal;
}

export interface Call<T> extends CallOptions {
  /** Calls of one key are identical. */
  key: string;
  /** What is called (a path): a cooldown's doubling ends when the same kind succeeds. */
  kind: string;
  /** Whether it loads a page, which has a cooldown of its own. */
  isPage?: boolean | undefined;
  /** The call itself; the signal aborts when no caller waits for it any more. */
  run(signal: AbortSignal): Promise<T>;
}

/** What a call gave, and when it went out and was answered. */
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
   * The outcome of the call, made when the gate lets it start. Rejects with what `run` rejects with, with the
   * signal's reason, or with `UpstreamError` "throttled" where a cooldown is longer than it sits out.
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
    if (!known) this.#begin(flight, call);
    this.#gate.advance();
    try {
      return (await promise) as Answered<T>; // one key, one kind of answer
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Refuses all who wait, and every later call. */
  close(): void {
    this.#closed = new UpstreamError("unusable", "the service is stopping");
    for (const flight of this.#byKey.values()) flight.leaveAll(this.#closed);
  }

  #begin<T>(flight: Flight, call: Call<T>): void {
    const { key } = call;
    this.#byKey.set(key, flight);
    // Before its waiters learn the outcome: one that asks for the same at once must not join a flight that is over.
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
    const slot = await this.#gate.enter({ kind, isPage, waiting: flight });
    try {
      flight.depart();
      const startedAt = this.#clock.monotonic();
      const value = await run(flight.signal);
      slot.succeeded();
      return { value, ...answeredNow(startedAt, this.#clock) };
    } catch (error) {
      throw slot.failed(error);
    }
  }
}

/** One call and all who wait for it. */
class Flight implements Waiting {
  readonly #waiters = new Set<Waiter>();
  readonly #abort = new AbortController();

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get dueAt(): number {
    return Math.min(...this.#waiters.values().map(({ dueAt }) => dueAt));
  }

  get lane(): Lane {
    const lanes = new Set(this.#waiters.values().map(({ lane }) => lane));
    return LANES.find((lane) => lanes.has(lane)) ?? "probe";
  }

  sortKey(now: number): number {
    const keys = this.#waiters.values().map(({ dueAt, toleranceMs, priorityMs }) => {
      const latestAt = dueAt + toleranceMs;
      return now > latestAt ? latestAt - priorityMs : latestAt;
    });
    return Math.min(...keys);
  }

  join(waiter: Waiter): void {
    this.#waiters.add(waiter);
  }

  /** To be called when the call goes out: those leave who may not make it. Throws where nobody is left. */
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

  /** One waiter gives up; the last one takes the call along. */
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
