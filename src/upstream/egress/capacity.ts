/**
 * How many live chats one address can read in time. A chat that is to be polled each T ms, and may be polled L ms late
 * without a loss, needs a call each T + L ms; calls go out in the order in which they must. So all chats are read in
 * time where the sum of 1 / (T + L) over them is not above the calls that the gate starts per millisecond. A live chat
 * that would break this is refused: taken in, it would make others late, and those lose messages. Replays lose nothing
 * by waiting: they take the calls that are left, and do not count.
 */
import { RelayError } from "../../protocol/errors.ts";

/** The part of the gate's calls that polls are planned for; the rest is for pages, new rooms, sessions and probes. */
const POLLS_SHARE = 0.7;
/** The interval of a live chat that has had no answer: the upstream asks for 10 s, and polls come each 9 s. */
const USUAL_INTERVAL_MS = 9000;
/** One answer takes longer than another: polls stay so much below the upstream's window. */
const MARGIN_MS = 500;
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
}

export class Capacity {
  readonly #settings: CapacitySettings;
  readonly #rooms = new Map<string, Demand>();
  /** What the rooms of other instances ask of the same address at least. */
  othersPollsPerSecond = 0;

  constructor(settings: CapacitySettings) {
    this.#settings = settings;
  }

  /** How many rooms are read, replays included. */
  get roomCount(): number {
    return this.#rooms.size;
  }

  /** How many live chats like these can be read in time; infinite where calls need no spacing, NaN where there are none. */
  get roomsCarried(): number {
    const left = POLLS_SHARE - (this.othersPollsPerSecond / 1000) * this.#settings.spacingMs;
    return Math.max(0, Math.floor((this.#live.length * left) / this.#ownLoad(this.#live)));
  }

  /** How many polls the live chats ask for in a second, none of them late. */
  get pollsPerSecond(): number {
    const usualMs = this.#usualIntervalMs;
    return 1000 * sum(this.#live.map(({ intervalMs = usualMs }) => 1 / Math.max(1, intervalMs)));
  }

  /** How many polls the live chats need in a second, each as late as it may be. */
  get leastPollsPerSecond(): number {
    return 1000 * sum(this.#live.map((demand) => this.#leastPollsPerMs(demand)));
  }

  /** How late a poll of the room may start without a loss, in milliseconds. */
  toleranceMs(room: string): number {
    const demand = this.#rooms.get(room);
    return demand ? this.#toleranceMs(demand) : 0;
  }

  /** Whether a live chat like those that are read could be read in time, too. */
  get hasRoom(): boolean {
    const carried = this.roomsCarried;
    return Number.isNaN(carried) || carried > this.#live.length;
  }

  /** Takes in a room that is not read yet. Throws `RelayError` CAPACITY where a live chat could not be read in time. */
  admit(room: string, demand: Demand): void {
    const others = this.#live.filter((other) => other !== this.#rooms.get(room));
    const load =
      this.#ownLoad([...others, demand]) + (this.othersPollsPerSecond / 1000) * this.#settings.spacingMs;
    if (isLive(demand) && load > POLLS_SHARE) throw this.#refusal(others.length);
    this.set(room, demand);
  }

  /** What a room that is read asks for from now on. It is never refused. */
  set(room: string, demand: Demand): void {
    this.#rooms.set(room, demand);
  }

  /** The room is not read any more. */
  leave(room: string): void {
    this.#rooms.delete(room);
  }

  get #live(): readonly Demand[] {
    return [...this.#rooms.values()].filter(isLive);
  }

  /** The mean of the live chats whose interval is known. */
  get #usualIntervalMs(): number {
    const known = this.#live.flatMap(({ intervalMs }) => intervalMs ?? []);
    return known.length > 0 ? sum(known) / known.length : USUAL_INTERVAL_MS;
  }

  #toleranceMs({ intervalMs = this.#usualIntervalMs, windowMs }: Demand): number {
    // A chat whose own interval is beyond the window loses messages whatever the others do.
    const spareMs = windowMs < intervalMs ? windowMs : windowMs - intervalMs - MARGIN_MS;
    return Math.min(this.#settings.maxLatenessMs, Math.max(0, spareMs));
  }

  #leastPollsPerMs(demand: Demand): number {
    const { spacingMs } = this.#settings;
    const { intervalMs = this.#usualIntervalMs } = demand;
    const toleranceMs = this.#toleranceMs(demand);
    // A call of another kind that has just started takes a spacing: where that is too long, polls are planned sooner.
    const blockedMs = toleranceMs < spacingMs ? spacingMs : 0;
    return 1 / Math.max(1, intervalMs + toleranceMs - blockedMs);
  }

  /** The part of the gate's calls that these chats need. */
  #ownLoad(live: readonly Demand[]): number {
    return sum(live.map((demand) => this.#leastPollsPerMs(demand))) * this.#settings.spacingMs;
  }

  #refusal(others: number): RelayError {
    const { spacingMs, maxLatenessMs } = this.#settings;
    const read = others === 1 ? "1 live chat" : `${others} live chats`;
    return new RelayError(
      "CAPACITY",
      `At capacity with ${read} on this address: one more would delay polls beyond ${maxLatenessMs} ms ` +
        `(RELAY_MAX_LATENESS_MS) or lose messages, at one call per ${spacingMs} ms (RELAY_GATE_SPACING_MS).`,
      { retryAfterMs: RETRY_MS },
    );
  }
}

function isLive({ windowMs }: Demand): boolean {
  return windowMs < Number.POSITIVE_INFINITY;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
