/**
 * One call for all callers that ask for the same: while a call waits or runs, another with its key joins it. It is
 * aborted when no caller waits for it any more. The gate reads from those who wait just then when the call is due, in
 * which lane, and which cooldown it sits out.
 */
import type { Clock } from "../../clock.ts";
import { UpstreamError } from "../errors.ts";
import { type Gate, LANES, type Lane, type Waiting } from "./gate.ts";

/** How a call queues. */
export interface CallOptions {
  lane: Lane;
  /** When it should start, on the monotonic clock; the past is allowed, now is the default. */
  dueAt?: number;
  /** How much later than due it counts among calls that wait, in milliseconds; 0 by default. */
  standsBackMs?: number;
  /** The longest cooldown that it sits out; a longer one refuses it, as throttled, at once. */
  maxCooldownMs: number;
  /** Called when the call goes out, behind its queue. A caller for whom it throws is given that, and waits no more. */
  beforeStart?: (() => void) | undefined;
  signal: AbortSignal;
}

export interface Call<T> extends CallOptions {
  /** Calls of one key are identical. */
  key: string;
  /** What is called (a path): a cooldown's doubling ends when the same kind succeeds. */
  kind: string;
  /** Whether it loads a page, which has a cooldown of its own. */
  isPage?: boolean;
  /** The call itself; the signal aborts when no caller waits for it any more. */
  run(signal: AbortSignal): Promise<T>;
}

type Waiter = Required<Pick<CallOptions, "lane" | "dueAt" | "standsBackMs" | "maxCooldownMs">> &
  Pick<CallOptions, "beforeStart"> &
  Omit<PromiseWithResolvers<unknown>, "promise">;

export class Flights {
  readonly #clock: Clock;
  readonly #byKey = new Map<string, Flight>();
  #closed: UpstreamError | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The outcome of the call, made when the gate lets it start. Rejects with what `run` rejects with, with the
   * signal's reason, or with `UpstreamError` "throttled" where a cooldown is longer than it sits out.
   */
  async call<T>(gate: Gate, call: Call<T>): Promise<T> {
    const { signal, key, lane, isPage, maxCooldownMs, beforeStart, run } = call;
    const { dueAt = this.#clock.monotonic(), standsBackMs = 0 } = call;
    signal.throwIfAborted();
    if (this.#closed) throw this.#closed;
    if (gate.cooldownLeftMs(isPage) > maxCooldownMs) throw gate.refusal(isPage);
    const flight = this.#byKey.get(key) ?? this.#begin(key);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const waiter: Waiter = { lane, dueAt, standsBackMs, maxCooldownMs, beforeStart, resolve, reject };
    const onAbort = () => flight.leave(waiter, signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    flight.join(waiter, () => gate.call({ ...call, flight, run: () => flight.run(run) }));
    gate.advance();
    try {
      return (await promise) as T; // one key, one kind of answer
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Refuses all who wait, and every later call. */
  close(): void {
    this.#closed = new UpstreamError("unusable", "the service is stopping");
    for (const flight of this.#byKey.values()) flight.leaveAll(this.#closed);
  }

  #begin(key: string): Flight {
    const flight = new Flight(() => {
      // One that was left and begun anew under its key is another one.
      if (this.#byKey.get(key) === flight) this.#byKey.delete(key);
    });
    this.#byKey.set(key, flight);
    return flight;
  }
}

/** One call and all who wait for it. */
class Flight implements Waiting {
  readonly #waiters = new Set<Waiter>();
  readonly #abort = new AbortController();
  readonly #onOver: () => void;
  #hasStarted = false;

  /** `onOver` is called before the waiters learn the outcome: one that asks for the same at once must not join. */
  constructor(onOver: () => void) {
    this.#onOver = onOver;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get dueAt(): number {
    return Math.min(...this.#waiters.values().map(({ dueAt }) => dueAt));
  }

  get orderAt(): number {
    return Math.min(...this.#waiters.values().map(({ dueAt, standsBackMs }) => dueAt + standsBackMs));
  }

  get lane(): Lane {
    const lanes = new Set(this.#waiters.values().map(({ lane }) => lane));
    return LANES.find((lane) => lanes.has(lane)) ?? "probe";
  }

  /** Adds a waiter; the first one starts the call. */
  join(waiter: Waiter, start: () => Promise<unknown>): void {
    this.#waiters.add(waiter);
    if (this.#hasStarted) return;
    this.#hasStarted = true;
    const outcome = start().finally(this.#onOver);
    outcome.then(
      (value) => {
        for (const each of this.#waiters) each.resolve(value);
      },
      (error: unknown) => {
        for (const each of this.#waiters) each.reject(error);
      },
    );
  }

  /** Makes the call for all who may still make it. */
  async run<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    for (const waiter of this.#waiters) {
      try {
        waiter.beforeStart?.();
      } catch (error) {
        this.leave(waiter, error);
      }
    }
    this.signal.throwIfAborted();
    return call(this.signal);
  }

  /** One waiter gives up; the last one takes the call along. */
  leave(waiter: Waiter, reason: unknown): void {
    this.#waiters.delete(waiter);
    waiter.reject(reason);
    if (this.#waiters.size > 0) return;
    this.#onOver(); // a newcomer must not join what is being aborted
    this.#abort.abort(reason);
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
