/**
 * Keeps the interval of a room's polls, by its last answers and the rules in `interval-rules.ts`; reports its
 * demand to the gate, and reports a chat that is read too slowly.
 */
import type { CallTimes, Clock } from "../base/clock.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Demand } from "../upstream/egress/chat-load.ts";
import type { RoomEgress } from "../upstream/egress/room-egress.ts";
import type { PollAnswer } from "../upstream/live-chat.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { type IntervalSettings, intervalAfter, intervalBefore } from "./interval-rules.ts";
import { SlowCalls } from "./slow-calls.ts";
import { unreadBetween } from "./unread-time.ts";

/**
 * With this many actions, messages may be missing from a live answer: the upstream returns about 200, and
 * drops older ones.
 */
const FULL_ACTIONS = 150;
const FULL_LOG_INTERVAL_MS = 60_000;

export interface ScheduleSettings extends IntervalSettings {
  /** How long the upstream keeps messages, in milliseconds. */
  windowMs: number;
}

interface Ranked {
  isRecorded: boolean;
  isWatched: boolean;
  /** Whether nothing new has come for minutes. */
  isQuiet: boolean;
}

/**
 * Milliseconds by which a room's late calls rank as more overdue than those of a quiet, lingering room.
 * Bounded, so that no room starves.
 */
export function priorityMs({ isRecorded, isWatched, isQuiet }: Ranked): number {
  return (isRecorded ? 4000 : isWatched ? 2000 : 0) + (isQuiet ? 0 : 1000);
}

interface ScheduleParts {
  egress: RoomEgress;
  settings: ScheduleSettings;
  clock: Clock;
  telemetry: Telemetry;
}

export class PollSchedule {
  readonly #videoId: string;
  readonly #parts: ScheduleParts;
  readonly #slowCalls: SlowCalls;
  readonly #isReplay: boolean;
  #last: CallTimes;
  #intervalMs: number;
  #fullLoggedAt = Number.NEGATIVE_INFINITY;
  /** Number of full answers since reading began. */
  fullAnswers = 0;

  /** `start`: the call from which polling continues; its `intervalMs` is 0 if not known. */
  constructor(
    videoId: string,
    isReplay: boolean,
    start: CallTimes & { intervalMs: number },
    parts: ScheduleParts,
  ) {
    this.#videoId = videoId;
    this.#isReplay = isReplay;
    this.#parts = parts;
    this.#slowCalls = new SlowCalls(parts.settings.windowMs);
    this.#slowCalls.observe(start);
    this.#last = start;
    this.#intervalMs = start.intervalMs;
    this.#setDemand();
  }

  /** The interval of the polls if calls are fast, in milliseconds. */
  get intervalMs(): number {
    return this.#intervalMs;
  }

  /** From the start of the last poll to the start of the next one, in milliseconds; 0 if not known. */
  get startToStartMs(): number {
    const { egress, settings } = this.#parts;
    return intervalBefore(this.#slowCalls.excessMs + egress.earlierMs, this.#intervalMs, settings);
  }

  /** An answer came. `pageItems`: of the page that gave this poll's token, if any. */
  observe(batch: PollAnswer, pageItems: readonly Item[]): void {
    const { clock, settings, telemetry } = this.#parts;
    this.#intervalMs = intervalAfter(batch, settings, pageItems);
    this.#slowCalls.observe(batch);
    const unreadMs = unreadBetween(this.#last, batch);
    this.#last = batch;
    this.#setDemand();
    if (this.#isReplay || batch.actionCount < FULL_ACTIONS) return;
    this.fullAnswers += 1;
    const now = clock.monotonic();
    const isNews = now - this.#fullLoggedAt >= FULL_LOG_INTERVAL_MS;
    if (isNews) this.#fullLoggedAt = now;
    const silentMs = unreadMs > settings.windowMs ? Math.round(unreadMs) : undefined;
    telemetry.rooms.answerFull(this.#videoId, batch.actionCount, silentMs, isNews);
  }

  #setDemand(): void {
    const { egress, settings } = this.#parts;
    const windowMs = settings.windowMs - this.#slowCalls.excessMs;
    egress.setDemand(demandOf(this.#isReplay, this.startToStartMs || undefined, { windowMs }));
  }
}

/** The demand of a room on its gate. */
export function demandOf(
  isReplay: boolean,
  intervalMs: number | undefined,
  { windowMs }: Pick<ScheduleSettings, "windowMs">,
): Demand {
  return { intervalMs, windowMs: isReplay ? Number.POSITIVE_INFINITY : windowMs };
}
