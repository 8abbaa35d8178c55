/**
 * The pace of one egress: all its calls to the upstream wait here. The gate starts calls at least `spacingMs`
 * apart and keeps at most `concurrency` in flight. After a throttling answer it starts nothing until the
 * cooldown is over; if a page was throttled, only pages wait. Lanes decide which kind of call is next; within
 * a lane, the first is the one that would lose messages first.
 */
import { after, type Clock } from "../../base/clock.ts";
import type { Reservation, SharedPace } from "../../base/shared-pace.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { UpstreamError } from "../upstream-error.ts";
import type { ChatLoad } from "./chat-load.ts";
import { Cooldown } from "./cooldown.ts";
import { isDeferrable, type Lane, Lanes } from "./lanes.ts";
import { Reservations } from "./reservations.ts";

const LATE_WARNING_INTERVAL_MS = 60_000;
/** The deferrable calls that may start at once: those that open a room. */
const BURST = 3;

export interface GateSettings {
  /** Minimum time between the starts of two calls. */
  spacingMs: number;
  /** Maximum number of calls in flight. */
  concurrency: number;
  /** First pause after a throttling answer that asks for none. */
  cooldownMs: number;
  /** Maximum lateness of polls, in milliseconds. */
  maxLatenessMs: number;
}

/** The callers of one call. */
export interface Waiting {
  /** Aborts when its last caller has given up. */
  readonly signal: AbortSignal;
  readonly dueAt: number;
  readonly lane: Lane;
  /** Orders a lane's calls: the latest time without loss; if that has passed, earlier by the priority. */
  sortKey(now: number): number;
  /** Rejects the callers that do not wait for a cooldown of this length. */
  refuseImpatient(cooldownMs: number, refusal: UpstreamError): void;
}

interface GatedCall {
  /** The endpoint or path: a cooldown's doubling ends when the same kind succeeds. */
  kind: string;
  /** Pages are throttled long before chat calls, and have their own cooldown. */
  isPage?: boolean | undefined;
  waiting: Waiting;
}

/** Permission for one call to start now. `succeeded` or `failed` must be called when it is over. */
interface Slot {
  /** The request leaves only now, as its connection had to be made: the next call keeps its distance. */
  sent(): void;
  succeeded(): void;
  /** Returns the error for the callers: if the call was throttled, one with the rest of the cooldown. */
  failed(error: unknown): unknown;
}

type Queued = GatedCall & Omit<PromiseWithResolvers<Slot>, "promise">;

export class Gate {
  readonly #egress: string;
  readonly #settings: GateSettings;
  readonly #load: ChatLoad;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #queue = new Set<Queued>();
  readonly #lanes: Lanes;
  #lastStartAt = Number.NEGATIVE_INFINITY;
  #openingLandedAt = Number.NEGATIVE_INFINITY;
  /** Before this time, no deferrable call may start: see `ChatLoad.deferrableEveryMs`. */
  #deferrableAt = Number.NEGATIVE_INFINITY;
  /** When the gate wakes by itself. */
  #wakesAt = Number.POSITIVE_INFINITY;
  readonly #closed = new AbortController();
  readonly #cooldown: Cooldown;
  readonly #pageCooldown: Cooldown;
  #lateWarningAt = Number.NEGATIVE_INFINITY;
  /** Set if other instances share this egress's pace. */
  #shared: { pace: SharedPace; reservations: Reservations } | undefined;

  /** `egress`: its name, for metrics and log. `load`: the demands of its rooms. */
  constructor(
    egress: string,
    settings: GateSettings,
    load: ChatLoad,
    { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
  ) {
    this.#egress = egress;
    this.#settings = settings;
    this.#load = load;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#lanes = new Lanes(settings.concurrency);
    this.#cooldown = new Cooldown(clock, settings.cooldownMs);
    this.#pageCooldown = new Cooldown(clock, settings.cooldownMs);
  }

  /** From now on other instances share this egress, its spacing and its cooldowns. */
  share(pace: SharedPace): void {
    const onReserved = (reservation: Reservation | undefined) => this.#onReserved(reservation);
    this.#shared = { pace, reservations: new Reservations(pace, this.#clock, onReserved) };
  }

  /** Milliseconds until chat calls, or pages, start again; 0 outside a cooldown. */
  cooldownLeftMs(isPage = false): number {
    return Math.max(0, this.#cooldownUntil(isPage) - this.#clock.monotonic());
  }

  /** Whether a cooldown held the chat call that was asked for and started at these monotonic times. */
  wasHeldBetween(askedAt: number, startedAt: number): boolean {
    const { until } = this.#cooldown;
    return askedAt < until && until <= startedAt;
  }

  get queued(): number {
    return this.#queue.size;
  }

  /** The error for a call that does not wait for the cooldown. */
  refusal(isPage = false): UpstreamError {
    return new UpstreamError("throttled", "YouTube is throttling this server", {
      retryAfterMs: this.cooldownLeftMs(isPage),
    });
  }

  /** Resolves when it is the call's turn. Rejects with the reason of `waiting.signal`. */
  takeSlot(call: GatedCall): Promise<Slot> {
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const queued: Queued = { ...call, resolve, reject };
    const { signal } = call.waiting;
    const onAbort = () => {
      if (this.#queue.delete(queued)) reject(signal.reason);
    };
    signal.addEventListener("abort", onAbort, { once: true });
    this.#queue.add(queued);
    this.advance();
    return promise;
  }

  /** Starts no more calls. */
  close(): void {
    this.#closed.abort();
  }

  /** Starts the calls that may start now. Also called when a queued call has become more urgent. */
  advance(): void {
    while (!this.#closed.signal.aborted && this.#queue.size > 0) {
      const now = this.#clock.monotonic();
      const spacedAt = this.#spacedAt(now);
      if (spacedAt > now) {
        this.#wakeAt(spacedAt, now); // without a search: a flood of calls must not cost one for each
        return;
      }
      const call = this.#next(now);
      if (!call) {
        for (const at of [this.#pageCooldown.until, this.#deferrableAt]) if (at > now) this.#wakeAt(at, now);
        return;
      }
      const mayStartAt = this.#mayStartAt(call.waiting.lane, now);
      if (mayStartAt === undefined) return;
      if (mayStartAt > now) {
        this.#wakeAt(mayStartAt, now);
        return;
      }
      this.#shared?.reservations.taken();
      this.#start(call, now);
    }
  }

  #next(now: number): Queued | undefined {
    if (this.#lanes.areFull) return undefined; // saves a search: the next answer leads here again
    const first = new Map<Lane, { call: Queued; key: number }>();
    const pollKeys: number[] = [];
    if (this.#deferrableAt > now)
      this.#deferrableAt = Math.min(this.#deferrableAt, now + this.#load.deferrableEveryMs);
    const deferrableWait = this.#deferrableAt > now;
    for (const call of this.#queue) {
      if (call.isPage && this.#pageCooldown.until > now) continue;
      const { lane } = call.waiting;
      if (deferrableWait && isDeferrable(lane)) continue;
      const key = call.waiting.sortKey(now);
      if (lane === "poll") pollKeys.push(key);
      const other = first.get(lane);
      if (!other) first.set(lane, { call, key });
      else if (key < other.key) {
        other.call = call;
        other.key = key;
      }
    }
    const lane = this.#lanes.next(first, this.#slack(pollKeys, now));
    return lane && first.get(lane)?.call;
  }

  /** The number of other calls that can start before one of these polls, sorted by key, is too late. */
  #slack(pollKeys: readonly number[], now: number): number {
    const { spacingMs } = this.#settings;
    const sorted = pollKeys.toSorted((one, other) => one - other);
    return Math.min(...sorted.map((key, before) => (key - now) / spacingMs - before));
  }

  /** Before this time no call may start. */
  #spacedAt(now: number): number {
    this.#lastStartAt = Math.min(this.#lastStartAt, now); // a suspend can set the clock back
    return Math.max(this.#lastStartAt + this.#settings.spacingMs, this.#cooldown.until);
  }

  /** Undefined until the reservation with other instances says when the next call may start. */
  #mayStartAt(lane: Lane, now: number): number | undefined {
    const { spacingMs } = this.#settings;
    // The next call of a bootstrap directly follows the previous one's answer.
    const at = lane === "probe" ? Math.max(now, this.#openingLandedAt + spacingMs) : now;
    if (at > now || !this.#shared) return at;
    return this.#shared.reservations.next(spacingMs, this.#load.minPollsPerSecond);
  }

  #wakeAt(at: number, now: number): void {
    if (this.#wakesAt <= at) return;
    this.#wakesAt = at;
    after(this.#clock, at - now, this.#closed.signal, () => {
      if (this.#wakesAt === at) this.#wakesAt = Number.POSITIVE_INFINITY;
      this.advance();
    });
  }

  #start(call: Queued, now: number): void {
    const { lane, dueAt } = call.waiting;
    this.#queue.delete(call);
    this.#lanes.started(lane);
    this.#lastStartAt = now;
    if (isDeferrable(lane)) {
      const everyMs = this.#load.deferrableEveryMs;
      this.#deferrableAt = Math.max(this.#deferrableAt, now - (BURST - 1) * everyMs) + everyMs;
    }
    // Time in a cooldown does not count as lateness.
    const lateMs = Math.max(0, now - Math.max(dueAt, this.#cooldownUntil(call.isPage)));
    this.#telemetry.upstream.callStarted(this.#egress, lane, lateMs);
    if (lane === "poll" && lateMs > this.#settings.maxLatenessMs) this.#warnLate(now, lateMs);
    call.resolve({
      sent: () => {
        this.#lastStartAt = Math.max(this.#lastStartAt, this.#clock.monotonic());
      },
      succeeded: () => {
        this.#land(lane);
        this.#cooldown.succeeded(call.kind);
        this.#pageCooldown.succeeded(call.kind);
      },
      failed: (error) => {
        this.#land(lane);
        if (!(error instanceof UpstreamError) || error.fault !== "throttled") return error;
        this.#coolDown(call, now, error.retryAfterMs);
        return this.refusal(call.isPage);
      },
    });
  }

  #land(lane: Lane): void {
    this.#lanes.landed(lane);
    if (lane === "opening" || lane === "caller") this.#openingLandedAt = this.#clock.monotonic();
    queueMicrotask(() => this.advance()); // once this answer's cooldown, if any, is set
  }

  #warnLate(now: number, lateMs: number): void {
    if (now - this.#lateWarningAt < LATE_WARNING_INTERVAL_MS) return;
    this.#lateWarningAt = now;
    this.#telemetry.upstream.pollsLate(lateMs, this.#load.roomCount, this.#load.roomsCarried);
  }

  #cooldownUntil(isPage = false): number {
    return isPage ? Math.max(this.#cooldown.until, this.#pageCooldown.until) : this.#cooldown.until;
  }

  #coolDown({ kind, isPage = false }: Queued, startedAt: number, retryAfterMs: number | undefined): void {
    const cooldown = isPage ? this.#pageCooldown : this.#cooldown;
    if (!cooldown.extend({ kind, startedAt, retryAfterMs })) return;
    const leftMs = this.cooldownLeftMs(isPage);
    this.#telemetry.upstream.throttled(this.#egress, leftMs, kind, isPage ? "page loads" : "all calls");
    this.#shared?.pace.coolDown(leftMs, isPage).catch(() => {}); // the others notice it anyway
    this.#refuseImpatient(isPage);
  }

  #refuseImpatient(isPage = false): void {
    const leftMs = this.cooldownLeftMs(isPage);
    for (const call of this.#queue) {
      if (call.isPage || !isPage) call.waiting.refuseImpatient(leftMs, this.refusal(call.isPage));
    }
  }

  #onReserved(reservation: Reservation | undefined): void {
    if (reservation) {
      this.#load.othersPollsPerSecond = reservation.othersPollsPerSecond;
      this.#load.otherInstances = reservation.otherInstances;
      if (this.#cooldown.adopt(reservation.cooldownMs)) this.#refuseImpatient();
      if (this.#pageCooldown.adopt(reservation.pageCooldownMs)) this.#refuseImpatient(true);
    }
    this.advance();
  }
}
