/**
 * The one door through which every call to the upstream goes. It starts calls at least `spacingMs` apart and
 * keeps at most `concurrency` in flight, collapses identical ones into one, and after a throttling answer
 * starts nothing until the cooldown is over. Of the calls that wait, the one due first goes first; polls and
 * the calls that a caller waits for take turns, so neither can starve the other.
 */
import type { Clock } from "../../clock.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { UpstreamError } from "../errors.ts";

/** Longest pause that doubling can reach. */
const COOLDOWN_CEILING_MS = 10 * 60_000;
/** A `Retry-After` beyond this is taken for a mistake: a relay must come back by itself. */
const RETRY_AFTER_CEILING_MS = 24 * 3_600_000;

export interface GateSettings {
  /** Least time between the starts of two calls. */
  spacingMs: number;
  /** Most calls in flight. */
  concurrency: number;
  /** First pause after a throttling answer that names none. */
  cooldownMs: number;
}

/** Polls later than this lose messages on a busy chat: the upstream keeps about ten seconds. */
const LATE_MS = 5000;
const LATE_WARNING_EVERY_MS = 60_000;

/** `caller`: a viewer or client waits for it right now. `poll`: a room's own work. */
export type Lane = "caller" | "poll";

/** How a call queues. */
export interface CallOptions {
  lane: Lane;
  /** When it should start, on the monotonic clock; the past is allowed, now is the default. */
  dueAt?: number;
  /** A poll's interval: how often its room calls. */
  intervalMs?: number;
  /** The longest cooldown that it sits out; a longer one refuses it, as throttled, at once. */
  maxCooldownMs: number;
  signal: AbortSignal;
}

export interface Call<T> extends CallOptions {
  /** Calls of one key are identical: while one waits or runs, another joins it. */
  key: string;
  /** What is called (a path): a cooldown's doubling ends when the same kind succeeds. */
  kind: string;
  /** The call itself; the signal aborts when nobody waits for it any more. */
  run(signal: AbortSignal): Promise<T>;
}

interface Waiter {
  maxCooldownMs: number;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Flight {
  key: string;
  kind: string;
  lane: Lane;
  dueAt: number;
  intervalMs: number | undefined;
  run(signal: AbortSignal): Promise<unknown>;
  waiters: Set<Waiter>;
  abort: AbortController;
}

export class Gate {
  readonly #settings: GateSettings;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #flights = new Map<string, Flight>();
  readonly #queues: Record<Lane, Set<Flight>> = { caller: new Set(), poll: new Set() };
  #lastLane: Lane = "poll";
  #lastStartAt = Number.NEGATIVE_INFINITY;
  #inFlight = 0;
  #timerArmed = false;
  #cooldownBeganAt = Number.NEGATIVE_INFINITY;
  #cooldownUntil = Number.NEGATIVE_INFINITY;
  #strikes = 0;
  #throttledKind: string | undefined;
  #lateWarningAt = Number.NEGATIVE_INFINITY;
  readonly #closed = new AbortController();

  constructor(settings: GateSettings, clock: Clock, telemetry: Telemetry) {
    this.#settings = settings;
    this.#clock = clock;
    this.#telemetry = telemetry;
    telemetry.watchGate({
      queued: () => this.#queues.caller.size + this.#queues.poll.size,
      cooldownLeftMs: () => this.cooldownLeftMs,
    });
  }

  /** Milliseconds until calls start again; 0 outside a cooldown. */
  get cooldownLeftMs(): number {
    return Math.max(0, this.#cooldownUntil - this.#clock.monotonic());
  }

  /**
   * Runs the call when its turn comes. Rejects with what `run` rejects with, with the signal's reason, or with
   * `UpstreamError` "throttled" where a cooldown is longer than its patience.
   */
  call<T>(call: Call<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (call.signal.aborted) return reject(call.signal.reason);
      if (this.#closed.signal.aborted) return reject(this.#closed.signal.reason);
      if (this.cooldownLeftMs > call.maxCooldownMs) return reject(this.#refusal());
      const dueAt = call.dueAt ?? this.#clock.monotonic();
      const flight = this.#flights.get(call.key) ?? this.#enqueue(call, dueAt);
      flight.dueAt = Math.min(flight.dueAt, dueAt);
      const waiter: Waiter = {
        maxCooldownMs: call.maxCooldownMs,
        resolve: (value) => {
          call.signal.removeEventListener("abort", onAbort);
          resolve(value as T); // one key, one kind of answer
        },
        reject: (error) => {
          call.signal.removeEventListener("abort", onAbort);
          reject(error);
        },
      };
      const onAbort = () => this.#leave(flight, waiter, call.signal.reason);
      call.signal.addEventListener("abort", onAbort, { once: true });
      flight.waiters.add(waiter);
      this.#advance();
    });
  }

  /** Starts nothing more; whoever still waits is refused. */
  close(): void {
    this.#closed.abort(new UpstreamError("unusable", "the service is stopping"));
    for (const flight of this.#flights.values()) {
      for (const waiter of flight.waiters) this.#leave(flight, waiter, this.#closed.signal.reason);
    }
  }

  #enqueue<T>({ key, kind, lane, intervalMs, run }: Call<T>, dueAt: number): Flight {
    const flight: Flight = {
      key,
      kind,
      lane,
      dueAt,
      intervalMs,
      run,
      waiters: new Set(),
      abort: new AbortController(),
    };
    this.#flights.set(key, flight);
    this.#queues[lane].add(flight);
    return flight;
  }

  /** One waiter gives up; the last one takes the flight along. */
  #leave(flight: Flight, waiter: Waiter, reason: unknown): void {
    flight.waiters.delete(waiter);
    waiter.reject(reason);
    if (flight.waiters.size > 0) return;
    this.#queues[flight.lane].delete(flight);
    this.#forget(flight); // a newcomer must not join what is being aborted
    flight.abort.abort(reason);
  }

  #advance(): void {
    while (!this.#timerArmed && this.#inFlight < this.#settings.concurrency) {
      const flight = this.#next();
      if (!flight) return;
      const now = this.#clock.monotonic();
      const waitMs = Math.max(this.#lastStartAt + this.#settings.spacingMs, this.#cooldownUntil) - now;
      if (waitMs > 0) this.#arm(waitMs);
      else this.#start(flight, now);
    }
  }

  #arm(waitMs: number): void {
    this.#timerArmed = true;
    this.#clock.sleep(waitMs, this.#closed.signal).then(
      () => {
        this.#timerArmed = false;
        this.#advance();
      },
      () => {},
    );
  }

  #next(): Flight | undefined {
    const turn: Lane = this.#lastLane === "poll" ? "caller" : "poll";
    return firstDue(this.#queues[turn]) ?? firstDue(this.#queues[this.#lastLane]);
  }

  #start(flight: Flight, now: number): void {
    this.#queues[flight.lane].delete(flight);
    this.#lastLane = flight.lane;
    this.#lastStartAt = now;
    this.#inFlight += 1;
    // Time spent in a cooldown is not the gate's lateness.
    const lateMs = Math.max(0, now - Math.max(flight.dueAt, this.#cooldownUntil));
    this.#telemetry.callStarted(flight.lane, lateMs);
    if (flight.intervalMs !== undefined && lateMs > LATE_MS) this.#warnLate(now, lateMs, flight.intervalMs);
    flight.run(flight.abort.signal).then(
      (value) => {
        this.#land(flight);
        if (flight.kind === this.#throttledKind) this.#strikes = 0;
        for (const waiter of flight.waiters) waiter.resolve(value);
      },
      (error: unknown) => {
        this.#land(flight);
        if (error instanceof UpstreamError && error.fault === "throttled") this.#coolDown(flight, now, error);
        for (const waiter of flight.waiters) waiter.reject(error);
      },
    );
  }

  /** Before its waiters hear of it: one that asks for the same at once must not join what is over. */
  #land(flight: Flight): void {
    this.#inFlight -= 1;
    this.#forget(flight);
    queueMicrotask(() => this.#advance()); // after a cooldown that this answer may begin
  }

  /** A flight that was left and begun anew under its key is another one. */
  #forget(flight: Flight): void {
    if (this.#flights.get(flight.key) === flight) this.#flights.delete(flight.key);
  }

  #warnLate(now: number, lateMs: number, intervalMs: number): void {
    if (now - this.#lateWarningAt < LATE_WARNING_EVERY_MS) return;
    this.#lateWarningAt = now;
    this.#telemetry.pollsLate(lateMs, Math.floor(intervalMs / Math.max(1, this.#settings.spacingMs)));
  }

  #coolDown(flight: Flight, startedAt: number, error: UpstreamError): void {
    const now = this.#clock.monotonic();
    // Calls that were in flight together are told of one and the same throttling: only the first one counts.
    const goesOn = startedAt >= this.#cooldownBeganAt;
    const doubled = Math.min(COOLDOWN_CEILING_MS, this.#settings.cooldownMs * 2 ** this.#strikes);
    const named =
      error.retryAfterMs === undefined ? undefined : Math.min(error.retryAfterMs, RETRY_AFTER_CEILING_MS);
    if (!goesOn && named === undefined) return;
    const until = now + (named ?? doubled);
    if (goesOn) {
      this.#strikes += 1;
      this.#cooldownBeganAt = now;
      this.#throttledKind = flight.kind;
    }
    if (until <= this.#cooldownUntil) return;
    this.#cooldownUntil = until;
    this.#telemetry.throttled(until - now, flight.kind);
    this.#refuseImpatient();
  }

  /** Ends the wait of every queued call that will not sit out so long a cooldown. */
  #refuseImpatient(): void {
    for (const flight of [...this.#queues.caller, ...this.#queues.poll]) {
      for (const waiter of flight.waiters) {
        if (this.cooldownLeftMs > waiter.maxCooldownMs) this.#leave(flight, waiter, this.#refusal());
      }
    }
  }

  #refusal(): UpstreamError {
    return new UpstreamError("throttled", "the upstream is throttling this server", {
      retryAfterMs: this.cooldownLeftMs,
    });
  }
}

function firstDue(queue: Set<Flight>): Flight | undefined {
  let first: Flight | undefined;
  for (const flight of queue) if (!first || flight.dueAt < first.dueAt) first = flight;
  return first;
}
