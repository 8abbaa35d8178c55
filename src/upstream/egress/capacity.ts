/**
 * How many rooms one address can read in time. A room that asks for a poll each T ms and gets it L ms late makes a call
 * each T + L ms; all rooms share L. So they are read no later than L where the sum of 1 / (T + L) over them is not
 * above the calls that the gate starts per millisecond. A new room that would break this is refused: taken in, it would
 * make all rooms late, and those lose messages. One that fits waits while its calls would make polls late; of those
 * that wait, recorded ones come first.
 */
import type { Clock } from "../../clock.ts";
import { RelayError } from "../../protocol/errors.ts";

/** The part of the gate's calls that polls are planned for; the rest is for pages, new rooms, sessions and probes. */
const POLLS_SHARE = 0.7;
/** What a room asks for, where no answer of any has told yet: the upstream asks for 10 s, and polls come each 9 s. */
const USUAL_INTERVAL_MS = 9000;
/** The calls that open a room: for credentials, a page and the chat. They take turns with polls. */
const OPENING_CALLS = 3;
/** One answer takes longer than another: polls may start so much closer together than the upstream's window. */
const MARGIN_MS = 500;
/** So long may the calls take that open rooms at a time: opened together, rooms would be polled together ever after. */
const MAX_OPENING_MS = 3000;
/** How often a room that waits looks whether it may be opened, and for how long it waits. */
const LOOK_MS = 100;
const MAX_WAIT_MS = 30_000;
/** What a caller is told to wait. */
const RETRY_MS = 30_000;

export interface CapacitySettings {
  /** Minimum time between the starts of two calls. */
  spacingMs: number;
  /** How late polls may start. */
  maxLatenessMs: number;
}

/** What a room asks of the gate. */
export interface Demand {
  /** From the start of one poll to the start of the next; undefined where it is not known yet. */
  intervalMs: number | undefined;
  /** How long the upstream holds what was said: polls further apart lose messages. Infinite for a replay. */
  windowMs: number;
  /** Whether it is taken in before all others that wait. */
  isFirst?: boolean;
}

interface KnownDemand extends Demand {
  state: "waiting" | "opening" | "polled";
}

export class Capacity {
  readonly #settings: CapacitySettings;
  readonly #clock: Clock;
  readonly #lateMs: () => number;
  readonly #rooms = new Map<string, KnownDemand>();
  /** What the rooms of other instances ask of the same address at least. */
  othersPollsPerSecond = 0;

  /** `lateMs`: how late the poll is by now that waits longest, cooldowns aside. */
  constructor(settings: CapacitySettings, clock: Clock, lateMs: () => number) {
    this.#settings = settings;
    this.#clock = clock;
    this.#lateMs = lateMs;
  }

  /** How many rooms are polled, or are to be. */
  get roomCount(): number {
    return this.#rooms.size;
  }

  /** How many rooms like these can be read in time; infinite where calls need no spacing, NaN where there is no room. */
  get roomsCarried(): number {
    const rooms = [...this.#rooms.values()];
    const others = this.#load([], 0);
    const own = this.#load(rooms, this.#limitMs(rooms)) - others;
    return Math.max(0, Math.floor((rooms.length * (POLLS_SHARE - others)) / own));
  }

  /** How many polls its rooms ask for in a second, late by none. */
  get pollsPerSecond(): number {
    const rooms = [...this.#rooms.values()];
    return 1000 * callsPerMs(rooms, 0);
  }

  /** How many polls its rooms make in a second where each is as late as it may be. */
  get leastPollsPerSecond(): number {
    const rooms = [...this.#rooms.values()];
    return 1000 * callsPerMs(rooms, this.#limitMs(rooms));
  }

  /**
   * Resolves when a new room may be opened; `ask` or `leave` must follow. Rejects with `RelayError` CAPACITY where it
   * could not be read in time, or not be opened within 30 s, and with the signal's reason.
   */
  async admit(room: string, wish: Demand, signal: AbortSignal): Promise<void> {
    const demand: KnownDemand = { ...wish, state: "waiting" };
    const until = this.#clock.monotonic() + MAX_WAIT_MS;
    this.#rooms.set(room, demand);
    try {
      for (;;) {
        const rooms = this.#upTo(demand);
        const opening = rooms.filter(({ state }) => state !== "polled").length;
        const limitMs = this.#limitMs(rooms);
        const isTooMuch = this.#load(rooms, limitMs) > POLLS_SHARE || this.#delayMs(rooms, 1) > limitMs;
        if (isTooMuch || this.#clock.monotonic() > until) throw this.#refusal(rooms.length - 1);
        const openingMs = opening * OPENING_CALLS * this.#settings.spacingMs;
        const isNext = opening === 1 || openingMs <= MAX_OPENING_MS;
        if (isNext && this.#lateMs() + this.#delayMs(rooms, opening) <= limitMs) break;
        await this.#clock.sleep(LOOK_MS, signal);
      }
    } catch (error) {
      this.leave(room);
      throw error;
    }
    demand.state = "opening";
  }

  /** A room that is polled asks for this from now on. It is never refused. */
  ask(room: string, demand: Demand): void {
    this.#rooms.set(room, { ...demand, state: "polled" });
  }

  /** The room is not read any more. */
  leave(room: string): void {
    this.#rooms.delete(room);
  }

  /** This room, and all others but those that wait behind it. */
  #upTo(room: KnownDemand): KnownDemand[] {
    const rooms = [...this.#rooms.values()];
    const place = rooms.indexOf(room);
    const isAhead = (other: Demand, i: number) =>
      Boolean(other.isFirst) === Boolean(room.isFirst) ? i <= place : other.isFirst;
    return rooms.filter((other, i) => other.state !== "waiting" || isAhead(other, i));
  }

  /** How late polls may be: as the settings say, and no room beyond the window that its own interval leaves. */
  #limitMs(rooms: readonly Demand[]): number {
    const usualMs = usualInterval(rooms);
    const sparesMs = rooms.map(({ intervalMs = usualMs, windowMs }) => windowMs - intervalMs);
    // A room whose own interval is beyond the window loses messages whatever the others do.
    const safeMs = sparesMs.filter((ms) => ms >= 0).map((ms) => Math.max(0, ms - MARGIN_MS));
    return Math.min(this.#settings.maxLatenessMs, ...safeMs);
  }

  /** The part of the gate's calls that these rooms and those of other instances need where polls start so late. */
  #load(rooms: readonly Demand[], lateMs: number): number {
    return (callsPerMs(rooms, lateMs) + this.othersPollsPerSecond / 1000) * this.#settings.spacingMs;
  }

  /** How much later the polls of these rooms become, in milliseconds, while so many of them are opened. */
  #delayMs(rooms: readonly Demand[], opening: number): number {
    // Half of the gate's calls are left to polls in that time.
    const missing = Math.max(0, 2 * Math.min(1, this.#load(rooms, 0)) - 1);
    return opening * OPENING_CALLS * missing * this.#settings.spacingMs;
  }

  #refusal(others: number): RelayError {
    const { spacingMs, maxLatenessMs } = this.#settings;
    return new RelayError(
      "CAPACITY",
      `This chat cannot be read in time beside ${others} others: upstream calls start ${spacingMs} ms after each other ` +
        `(RELAY_GATE_SPACING_MS), and polls at most ${maxLatenessMs} ms late (RELAY_MAX_LATENESS_MS) and before the ` +
        "upstream forgets what was said.",
      { retryAfterMs: RETRY_MS },
    );
  }
}

/** How many polls these rooms make in a millisecond where all start so late. */
function callsPerMs(rooms: readonly Demand[], lateMs: number): number {
  const usualMs = usualInterval(rooms);
  const calls = rooms.map(({ intervalMs = usualMs }) => 1 / Math.max(1, intervalMs + lateMs));
  return calls.reduce((sum, each) => sum + each, 0);
}

/** What a room asks for that has no answer yet: the mean of the live ones that have. */
function usualInterval(rooms: readonly Demand[]): number {
  const known = rooms.flatMap(({ intervalMs, windowMs }) =>
    intervalMs === undefined || windowMs === Number.POSITIVE_INFINITY ? [] : [intervalMs],
  );
  if (known.length === 0) return USUAL_INTERVAL_MS;
  return known.reduce((sum, ms) => sum + ms, 0) / known.length;
}
