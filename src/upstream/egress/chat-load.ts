/**
 * The number of live chats that one egress can read in time. A chat that is polled every T ms, and may be
 * polled L ms late without loss, needs a call every T + L ms; calls start in the order of their latest times.
 * So all chats are read in time if the sum of 1 / (T + L) does not exceed the calls that the gate starts per
 * millisecond. A live chat that would exceed the polls' share of these (`POLLS_SHARE`) is refused: it would
 * delay others, which then lose messages. Replays lose nothing by waiting: they use the remaining calls, and
 * do not count.
 */
import { atCapacity } from "../../protocol/capacity.ts";
import type { RelayError } from "../../protocol/errors.ts";

/** How long the upstream keeps the messages of a live chat, in milliseconds. */
export const WINDOW_MS = 10_000;
/** The upstream asks to wait as long as it keeps messages. Polls come after this part of such a wait. */
export const LONG_WAIT_FACTOR = 0.9;
/** Tolerated overrun of a slow interval, and duration of a fast call, as a fraction of the window. */
export const TOLERANCE = 0.05;
/** The share of calls planned for polls. The rest is for pages, new rooms, polling clients and probes. */
export const POLLS_SHARE = 0.7;
/** The interval of a live chat before its first answer. */
const USUAL_INTERVAL_MS = LONG_WAIT_FACTOR * WINDOW_MS;
/** The time between polls stays below the upstream's window by this margin: by one fast call. */
const MARGIN_MS = TOLERANCE * WINDOW_MS;
/** The number of calls that may start between the due time of a poll and its start. */
const CALLS_BEFORE_POLL = 2;
/** The minimum share of deferrable calls, however many polls the rooms need. */
const LEAST_SHARE = 0.1;
/** The share of calls that stays free where instances share an egress: without it, each waits for all. */
const FREE_SHARE = 0.15;

interface ChatLoadSettings {
  /** Minimum time between the starts of two calls. */
  spacingMs: number;
  /** Maximum lateness of polls, in milliseconds. */
  maxLatenessMs: number;
}

/** The calls that a room needs. */
export interface Demand {
  /** From the start of one poll to the start of the next, in milliseconds; undefined if not known yet. */
  intervalMs: number | undefined;
  /**
   * The longest interval without loss, in milliseconds: how long the upstream keeps messages, less the
   * time by which calls are too slow; infinite for a replay.
   */
  windowMs: number;
}

export class ChatLoad {
  readonly #settings: ChatLoadSettings;
  readonly #rooms = new Map<string, Demand>();
  /** The minimum that the rooms of other instances need of the same egress. */
  othersPollsPerSecond = 0;
  /** The number of other instances that call on it. */
  otherInstances = 0;

  constructor(settings: ChatLoadSettings) {
    this.#settings = settings;
  }

  /** Number of rooms that are read, replays included. */
  get roomCount(): number {
    return this.#rooms.size;
  }

  /** Live chats like these that can be read in time; infinite without spacing, NaN without chats. */
  get roomsCarried(): number {
    const left = POLLS_SHARE - this.#othersLoad;
    return Math.max(0, Math.floor((this.#live.length * left) / this.#ownLoad(this.#live)));
  }

  /** Polls per second that the live chats ask for if none is late. */
  get pollsPerSecond(): number {
    const usualMs = this.#usualIntervalMs;
    return 1000 * sum(this.#live.map(({ intervalMs = usualMs }) => 1 / Math.max(1, intervalMs)));
  }

  /** Polls per second that the live chats need if each is as late as it may be. */
  get minPollsPerSecond(): number {
    return 1000 * sum(this.#live.map((demand) => this.#minPollsPerMs(demand)));
  }

  /**
   * By how much polls must be due before `USUAL_INTERVAL_MS` is over, so that other calls may start first; 0
   * while the calls are close together. In milliseconds.
   */
  get earlierMs(): number {
    const { spacingMs, maxLatenessMs } = this.#settings;
    return Math.max(0, Math.min(CALLS_BEFORE_POLL * spacingMs, maxLatenessMs) - MARGIN_MS);
  }

  /**
   * The mean time between this instance's deferrable calls, in milliseconds; 0 if no other instance has live
   * chats. Instances take turns at a shared egress, whatever their calls are: so those that can be deferred
   * must not use more than the polls of all instances leave.
   */
  get deferrableEveryMs(): number {
    if (this.othersPollsPerSecond === 0) return 0;
    const left = 1 - FREE_SHARE - this.#othersLoad - this.#ownLoad(this.#live);
    return (this.#settings.spacingMs * (1 + this.otherInstances)) / Math.max(LEAST_SHARE, left);
  }

  /** How late a poll of the room may start without loss, in milliseconds. */
  toleranceMs(room: string): number {
    const demand = this.#rooms.get(room);
    return demand ? this.#toleranceMs(demand) : 0;
  }

  /** Whether one more live chat like these could be read in time. */
  get hasRoom(): boolean {
    const carried = this.roomsCarried;
    return Number.isNaN(carried) || carried > this.#live.length;
  }

  /**
   * Begins to carry a room that is not read yet. Throws `RelayError` CAPACITY if a live chat could not be
   * read in time, with as many more like it as are `reserved`.
   */
  carry(room: string, demand: Demand, reserved = 0): void {
    const others = this.#live.filter((other) => other !== this.#rooms.get(room));
    const added = Array.from({ length: 1 + reserved }, () => demand);
    const load = this.#ownLoad([...others, ...added]) + this.#othersLoad;
    if (isLive(demand) && load > POLLS_SHARE) throw this.#refusal(others.length);
    this.set(room, demand);
  }

  /** Sets the demand of a room that is read. Never refuses it. */
  set(room: string, demand: Demand): void {
    this.#rooms.set(room, demand);
  }

  /** The room is no longer read. */
  leave(room: string): void {
    this.#rooms.delete(room);
  }

  get #live(): readonly Demand[] {
    return [...this.#rooms.values()].filter(isLive);
  }

  /** The mean interval of the live chats whose interval is known. */
  get #usualIntervalMs(): number {
    const known = this.#live.flatMap(({ intervalMs }) => intervalMs ?? []);
    return known.length > 0 ? sum(known) / known.length : USUAL_INTERVAL_MS - this.earlierMs;
  }

  #toleranceMs({ intervalMs = this.#usualIntervalMs, windowMs }: Demand): number {
    // A chat whose own interval exceeds the window loses messages regardless of the others.
    const spareMs = windowMs < intervalMs ? windowMs : windowMs - intervalMs - MARGIN_MS;
    return Math.min(this.#settings.maxLatenessMs, Math.max(0, spareMs));
  }

  /** The share of the gate's calls that the rooms of other instances need. */
  get #othersLoad(): number {
    return (this.othersPollsPerSecond / 1000) * this.#settings.spacingMs;
  }

  #minPollsPerMs(demand: Demand): number {
    const { spacingMs } = this.#settings;
    const { intervalMs = this.#usualIntervalMs } = demand;
    const toleranceMs = this.#toleranceMs(demand);
    // A call of another kind that has just started takes one spacing. If that exceeds the tolerance, plan
    // polls sooner.
    const blockedMs = toleranceMs < spacingMs ? spacingMs : 0;
    return 1 / Math.max(1, intervalMs + toleranceMs - blockedMs);
  }

  /** The share of the gate's calls that these chats need. */
  #ownLoad(live: readonly Demand[]): number {
    return sum(live.map((demand) => this.#minPollsPerMs(demand))) * this.#settings.spacingMs;
  }

  #refusal(others: number): RelayError {
    const read = others === 1 ? "1 live chat" : `${others} live chats`;
    return atCapacity(
      "calls",
      `At capacity with ${read} on this address: one more would delay the others too long, or lose messages.`,
    );
  }
}

function isLive({ windowMs }: Demand): boolean {
  return windowMs < Number.POSITIVE_INFINITY;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
