/**
 * The pace of one address: every call to the upstream from it waits here. The gate starts calls at least
 * `spacingMs` apart and keeps at most `concurrency` in flight, and after a throttling answer starts nothing until the
 * cooldown is over. Of the calls that wait, the one due first goes first; polls and the calls that a caller waits for
 * take turns, so neither can starve the other; probes come after both.
 */
import type { Clock } from "../../clock.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { UpstreamError } from "../errors.ts";

/** The longest pause that doubling reaches. */
const MAX_COOLDOWN_MS = 10 * 60_000;
/** A `Retry-After` beyond this is taken for a mistake: a relay must come back by itself. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** Polls later than this lose messages on a busy chat: the upstream keeps about ten seconds. */
const LATE_MS = 5000;
const LATE_WARNING_INTERVAL_MS = 60_000;

export interface GateSettings {
  /** Minimum time between the starts of two calls. */
  spacingMs: number;
  /** Maximum number of calls in flight. */
  concurrency: number;
  /** First pause after a throttling answer that names none. */
  cooldownMs: number;
}

/**
 * The most urgent first. `caller`: a viewer or client waits for it right now. `poll`: a room's own work. `probe`: what
 * can wait until no other call does.
 */
export const LANES = ["caller", "poll", "probe"] as const;
export type Lane = (typeof LANES)[number];

/** Those who wait for a call. */
export interface Waiting {
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
  readonly dueAt: number;
  readonly lane: Lane;
  /** Ends the wait of those who do not sit out so long a cooldown. */
  refuseImpatient(cooldownMs: number, refusal: UpstreamError): void;
}

interface PacedCall<T> {
  kind: string;
  intervalMs?: number;
  flight: Waiting;
  run(signal: AbortSignal): Promise<T>;
}

type Queued = PacedCall<unknown> & Omit<PromiseWithResolvers<unknown>, "promise">;

export class Gate {
  readonly #name: string;
  readonly #settings: GateSettings;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #queue = new Set<Queued>();
  readonly #inFlight: Record<Lane, number> = { caller: 0, poll: 0, probe: 0 };
  #lastLane: Lane = "poll";
  #lastStartAt = Number.NEGATIVE_INFINITY;
  #callerLandedAt = Number.NEGATIVE_INFINITY;
  /** When the gate wakes by itself. */
  #wakesAt = Number.POSITIVE_INFINITY;
  readonly #closed = new AbortController();
  #cooldownBeganAt = Number.NEGATIVE_INFINITY;
  #cooldownUntil = Number.NEGATIVE_INFINITY;
  #throttleCount = 0;
  #throttledKind: string | undefined;
  #lateWarningAt = Number.NEGATIVE_INFINITY;

  /** `name`: that of the address's egress, which metrics and log carry. */
  constructor(name: string, settings: GateSettings, clock: Clock, telemetry: Telemetry) {
    this.#name = name;
    this.#settings = settings;
    this.#clock = clock;
    this.#telemetry = telemetry;
    telemetry.sources.gates.set(name, {
      queued: () => this.#queue.size,
      cooldownLeftMs: () => this.cooldownLeftMs,
    });
  }

  /** Milliseconds until calls start again; 0 outside a cooldown. */
  get cooldownLeftMs(): number {
    return Math.max(0, this.#cooldownUntil - this.#clock.monotonic());
  }

  /** Why a call is not even queued that does not sit out the cooldown. */
  refusal(): UpstreamError {
    return new UpstreamError("throttled", "the upstream is throttling this server", {
      retryAfterMs: this.cooldownLeftMs,
    });
  }

  /** Runs the call when its turn comes. Rejects with what `run` rejects with, or with the reason of the flight's signal. */
  call<T>(call: PacedCall<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const queued: Queued = { ...call, resolve, reject };
    const { signal } = call.flight;
    const onAbort = () => {
      if (this.#queue.delete(queued)) reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#queue.add(queued);
    this.advance();
    return promise as Promise<T>;
  }

  /** Starts nothing more. */
  close(): void {
    this.#closed.abort();
  }

  /** Starts whatever may start now; to be called, too, when a call that waits has become more urgent. */
  advance(): void {
    while (!this.#closed.signal.aborted && this.#inFlightCount < this.#settings.concurrency) {
      const [lane, call] = this.#next() ?? [];
      if (!lane || !call) return;
      const now = this.#clock.monotonic();
      const mayStartAt = this.#mayStartAt(lane);
      if (mayStartAt > now) {
        this.#wakeAt(mayStartAt, now);
        return;
      }
      this.#start(call, lane, now);
    }
  }

  get #inFlightCount(): number {
    return this.#inFlight.caller + this.#inFlight.poll + this.#inFlight.probe;
  }

  #next(): [Lane, Queued] | undefined {
    const first = new Map<Lane, Queued>();
    for (const call of this.#queue) {
      const { lane, dueAt } = call.flight;
      const other = first.get(lane);
      if (!other || dueAt < other.flight.dueAt) first.set(lane, call);
    }
    if (!this.#hasPlaceForProbe) first.delete("probe");
    const order: Lane[] = this.#lastLane === "caller" ? ["poll", "caller", "probe"] : [...LANES];
    for (const lane of order) {
      const call = first.get(lane);
      if (call) return [lane, call];
    }
    return undefined;
  }

  /** Probes hold at most half of the slots, and start nothing while a caller's call is under way. */
  get #hasPlaceForProbe(): boolean {
    const slots = Math.max(1, Math.floor(this.#settings.concurrency / 2));
    return this.#inFlight.caller === 0 && this.#inFlight.probe < slots;
  }

  #mayStartAt(lane: Lane): number {
    const { spacingMs } = this.#settings;
    const earliest = Math.max(this.#lastStartAt + spacingMs, this.#cooldownUntil);
    // A bootstrap makes its calls one after the other: its next one comes right after the last one's answer.
    return lane === "probe" ? Math.max(earliest, this.#callerLandedAt + spacingMs) : earliest;
  }

  #wakeAt(at: number, now: number): void {
    if (this.#wakesAt <= at) return;
    this.#wakesAt = at;
    this.#clock.sleep(at - now, this.#closed.signal).then(
      () => {
        if (this.#wakesAt === at) this.#wakesAt = Number.POSITIVE_INFINITY;
        this.advance();
      },
      () => {},
    );
  }

  #start(call: Queued, lane: Lane, now: number): void {
    this.#queue.delete(call);
    if (lane !== "probe") this.#lastLane = lane;
    this.#lastStartAt = now;
    this.#inFlight[lane] += 1;
    // Time spent in a cooldown is not the gate's lateness.
    const lateMs = Math.max(0, now - Math.max(call.flight.dueAt, this.#cooldownUntil));
    this.#telemetry.callStarted(this.#name, lane, lateMs);
    if (call.intervalMs !== undefined && lateMs > LATE_MS) this.#warnLate(now, lateMs, call.intervalMs);
    call.run(call.flight.signal).then(
      (value) => {
        this.#land(lane);
        if (call.kind === this.#throttledKind) this.#throttleCount = 0;
        call.resolve(value);
      },
      (error: unknown) => {
        this.#land(lane);
        if (error instanceof UpstreamError && error.fault === "throttled") this.#coolDown(call, now, error);
        call.reject(error);
      },
    );
  }

  #land(lane: Lane): void {
    this.#inFlight[lane] -= 1;
    if (lane === "caller") this.#callerLandedAt = this.#clock.monotonic();
    queueMicrotask(() => this.advance()); // after a cooldown that this answer may begin
  }

  #warnLate(now: number, lateMs: number, intervalMs: number): void {
    if (now - this.#lateWarningAt < LATE_WARNING_INTERVAL_MS) return;
    this.#lateWarningAt = now;
    this.#telemetry.pollsLate(lateMs, Math.floor(intervalMs / Math.max(1, this.#settings.spacingMs)));
  }

  #coolDown(call: Queued, startedAt: number, error: UpstreamError): void {
    const now = this.#clock.monotonic();
    // Calls that were in flight together report one and the same throttling: only the first one counts.
    const goesOn = startedAt >= this.#cooldownBeganAt;
    const doubled = Math.min(MAX_COOLDOWN_MS, this.#settings.cooldownMs * 2 ** this.#throttleCount);
    const named =
      error.retryAfterMs === undefined ? undefined : Math.min(error.retryAfterMs, MAX_RETRY_AFTER_MS);
    if (!goesOn && named === undefined) return;
    const until = now + (named ?? doubled);
    if (goesOn) {
      this.#throttleCount += 1;
      this.#cooldownBeganAt = now;
      this.#throttledKind = call.kind;
    }
    if (until <= this.#cooldownUntil) return;
    this.#cooldownUntil = until;
    this.#telemetry.throttled(this.#name, until - now, call.kind);
    for (const { flight } of this.#queue) flight.refuseImpatient(until - now, this.refusal());
  }
}
