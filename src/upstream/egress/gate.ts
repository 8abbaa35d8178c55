/**
 * The pace of one address: every call to the upstream from it waits here. The gate starts calls at least
 * `spacingMs` apart and keeps at most `concurrency` in flight, and after a throttling answer starts nothing until the
 * cooldown is over; where a page was throttled, no page alone. Of the calls that wait, the one due first goes first,
 * as its room's rank moves it; what callers wait for, polls and the pages of rooms take turns, so none can starve the others; probes come last.
 */
import type { Clock } from "../../clock.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { UpstreamError } from "../errors.ts";
import { Capacity } from "./capacity.ts";
import { Cooldown } from "./cooldown.ts";
import { type Reservation, Reservations, type SharedPace } from "./shared-pace.ts";

const LATE_WARNING_INTERVAL_MS = 60_000;

export interface GateSettings {
  /** Minimum time between the starts of two calls. */
  spacingMs: number;
  /** Maximum number of calls in flight. */
  concurrency: number;
  /** First pause after a throttling answer that names none. */
  cooldownMs: number;
  /** How late polls may start. */
  maxLatenessMs: number;
}

/**
 * The most urgent first. `caller`: a viewer or client waits for it right now. `poll`: a room reads on. `page`: a room
 * loads a page. `probe`: what can wait until no other call does.
 */
export const LANES = ["caller", "poll", "page", "probe"] as const;
export type Lane = (typeof LANES)[number];

/** Those who wait for a call. */
export interface Waiting {
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
  readonly dueAt: number;
  /** By which calls of a lane are ordered: when it is due, later by what it may stand back. */
  readonly orderAt: number;
  readonly lane: Lane;
  /** Ends the wait of those who do not sit out so long a cooldown. */
  refuseImpatient(cooldownMs: number, refusal: UpstreamError): void;
}

interface PacedCall<T> {
  kind: string;
  /** Pages are throttled long before chat calls are, and have a cooldown of their own. */
  isPage?: boolean;
  flight: Waiting;
  run(signal: AbortSignal): Promise<T>;
}

type Queued = PacedCall<unknown> & Omit<PromiseWithResolvers<unknown>, "promise">;

export class Gate {
  /** What the rooms ask of it. */
  readonly capacity: Capacity;
  readonly #name: string;
  readonly #settings: GateSettings;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #queue = new Set<Queued>();
  readonly #inFlight: Record<Lane, number> = { caller: 0, poll: 0, page: 0, probe: 0 };
  /** Whose turn it is: the lane that was served last stands last. */
  #turns: readonly Lane[] = ["caller", "poll", "page"];
  #lastStartAt = Number.NEGATIVE_INFINITY;
  #callerLandedAt = Number.NEGATIVE_INFINITY;
  /** When the gate wakes by itself. */
  #wakesAt = Number.POSITIVE_INFINITY;
  readonly #closed = new AbortController();
  readonly #cooldown: Cooldown;
  readonly #pageCooldown: Cooldown;
  #lateWarningAt = Number.NEGATIVE_INFINITY;
  /** With the other instances that call from this address. */
  #shared: { pace: SharedPace; reservations: Reservations } | undefined;

  /** `name`: that of the address's egress, which metrics and log carry. */
  constructor(name: string, settings: GateSettings, clock: Clock, telemetry: Telemetry) {
    this.#name = name;
    this.#settings = settings;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.capacity = new Capacity(settings, clock, () => this.#longestLateMs());
    this.#cooldown = new Cooldown(clock, settings.cooldownMs);
    this.#pageCooldown = new Cooldown(clock, settings.cooldownMs);
    telemetry.sources.gates.set(name, {
      queued: () => this.queued,
      roomCount: () => this.capacity.roomCount,
      roomsCarried: () => this.capacity.roomsCarried,
      cooldownLeftMs: (isPage) => this.cooldownLeftMs(isPage),
    });
  }

  /** From now on other instances call from this address, too: they share spacing and cooldowns. */
  share(pace: SharedPace): void {
    this.#shared = {
      pace,
      reservations: new Reservations(pace, this.#clock, (reservation) => this.#onReserved(reservation)),
    };
  }

  /** Milliseconds until chat calls, or pages, start again; 0 outside a cooldown. */
  cooldownLeftMs(isPage = false): number {
    return Math.max(0, this.#cooldownUntil(isPage) - this.#clock.monotonic());
  }

  /** How many calls wait. */
  get queued(): number {
    return this.#queue.size;
  }

  /** Why a call is not even queued that does not sit out the cooldown. */
  refusal(isPage = false): UpstreamError {
    return new UpstreamError("throttled", "the upstream is throttling this server", {
      retryAfterMs: this.cooldownLeftMs(isPage),
    });
  }

  /**
   * Runs the call when its turn comes. Rejects with what `run` rejects with, or with the reason of the flight's
   * signal; where it was throttled, with how long the cooldown lasts.
   */
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
      const now = this.#clock.monotonic();
      const [lane, call] = this.#next(now) ?? [];
      if (!lane || !call) {
        if (this.#queue.size > 0 && this.#pageCooldown.until > now) {
          this.#wakeAt(this.#pageCooldown.until, now);
        }
        return;
      }
      const mayStartAt = this.#mayStartAt(lane, now);
      if (mayStartAt > now) {
        this.#wakeAt(mayStartAt, now);
        return;
      }
      if (this.#shared) {
        const reservedAt = this.#shared.reservations.next(
          this.#settings.spacingMs,
          this.capacity.leastPollsPerSecond,
        );
        if (reservedAt === undefined) return;
        if (reservedAt > now) {
          this.#wakeAt(reservedAt, now);
          return;
        }
        this.#shared.reservations.taken();
      }
      this.#start(call, lane, now);
    }
  }

  get #inFlightCount(): number {
    return LANES.reduce((count, lane) => count + this.#inFlight[lane], 0);
  }

  #next(now: number): [Lane, Queued] | undefined {
    const first = new Map<Lane, Queued>();
    for (const call of this.#queue) {
      if (call.isPage && this.#pageCooldown.until > now) continue;
      const { lane, orderAt } = call.flight;
      const other = first.get(lane);
      if (!other || orderAt < other.flight.orderAt) first.set(lane, call);
    }
    if (!this.#hasPlaceForProbe) first.delete("probe");
    for (const lane of [...this.#turns, "probe"] as const) {
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

  /** How late the poll is by now that waits longest, cooldowns aside. */
  #longestLateMs(): number {
    const dueAt = this.#queue
      .values()
      .filter(({ flight }) => flight.lane === "poll")
      .reduce((first, { flight }) => Math.min(first, flight.dueAt), Number.POSITIVE_INFINITY);
    return Math.max(0, this.#clock.monotonic() - Math.max(dueAt, this.#cooldown.until));
  }

  #mayStartAt(lane: Lane, now: number): number {
    const { spacingMs } = this.#settings;
    this.#lastStartAt = Math.min(this.#lastStartAt, now); // a computer that woke up may have set its clock back
    const earliest = Math.max(this.#lastStartAt + spacingMs, this.#cooldown.until);
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
    if (lane !== "probe") this.#turns = [...this.#turns.filter((other) => other !== lane), lane];
    this.#lastStartAt = now;
    this.#inFlight[lane] += 1;
    // Time spent in a cooldown is not the gate's lateness.
    const lateMs = Math.max(0, now - Math.max(call.flight.dueAt, this.#cooldownUntil(call.isPage)));
    this.#telemetry.callStarted(this.#name, lane, lateMs);
    if (lane === "poll" && lateMs > this.#settings.maxLatenessMs) this.#warnLate(now, lateMs);
    call.run(call.flight.signal).then(
      (value) => {
        this.#land(lane);
        this.#cooldown.succeeded(call.kind);
        this.#pageCooldown.succeeded(call.kind);
        call.resolve(value);
      },
      (error: unknown) => {
        this.#land(lane);
        const isThrottled = error instanceof UpstreamError && error.fault === "throttled";
        if (isThrottled) this.#coolDown(call, now, error.retryAfterMs);
        call.reject(isThrottled ? this.refusal(call.isPage) : error);
      },
    );
  }

  #land(lane: Lane): void {
    this.#inFlight[lane] -= 1;
    if (lane === "caller") this.#callerLandedAt = this.#clock.monotonic();
    queueMicrotask(() => this.advance()); // after a cooldown that this answer may begin
  }

  #warnLate(now: number, lateMs: number): void {
    if (now - this.#lateWarningAt < LATE_WARNING_INTERVAL_MS) return;
    this.#lateWarningAt = now;
    const { roomCount, roomsCarried } = this.capacity;
    this.#telemetry.pollsLate(lateMs, roomCount, roomsCarried);
  }

  #cooldownUntil(isPage = false): number {
    return isPage ? Math.max(this.#cooldown.until, this.#pageCooldown.until) : this.#cooldown.until;
  }

  #coolDown({ kind, isPage = false }: Queued, startedAt: number, retryAfterMs: number | undefined): void {
    const cooldown = isPage ? this.#pageCooldown : this.#cooldown;
    if (!cooldown.extend({ kind, startedAt, retryAfterMs })) return;
    const leftMs = this.cooldownLeftMs(isPage);
    this.#telemetry.throttled(this.#name, leftMs, kind, isPage ? "page loads" : "all calls");
    this.#shared?.pace.coolDown(leftMs, isPage).catch(() => {}); // then the others find out by themselves
    this.#refuseImpatient(isPage);
  }

  #refuseImpatient(isPage = false): void {
    const leftMs = this.cooldownLeftMs(isPage);
    for (const call of this.#queue) {
      if (call.isPage || !isPage) call.flight.refuseImpatient(leftMs, this.refusal(call.isPage));
    }
  }

  #onReserved(reservation: Reservation | undefined): void {
    if (reservation) {
      this.capacity.othersPollsPerSecond = reservation.othersPollsPerSecond;
      if (this.#cooldown.adopt(reservation.cooldownMs)) this.#refuseImpatient();
      if (this.#pageCooldown.adopt(reservation.pageCooldownMs)) this.#refuseImpatient(true);
    }
    this.advance();
  }
}
