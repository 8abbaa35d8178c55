/**
 * The interval of a room's polls, from the start of one to the start of the next. The upstream keeps about
 * ten seconds or 200 messages of a live chat: anything beyond that is lost between two polls.
 */

import { isReplayChat } from "../protocol/chat.ts";
import { DEFAULT_TIMEOUT_MS } from "../upstream/answer.ts";
import { LONG_WAIT_FACTOR } from "../upstream/egress/chat-load.ts";
import type { PollAnswer } from "../upstream/live-chat.ts";
import type { Item } from "../upstream/readers/reader.ts";

/** Maximum actions to aim for in a live answer: less than half of what the upstream keeps. */
const TARGET_ACTIONS = 75;
/** Minimum number of messages for a rate; fewer are noise. */
const RATE_MESSAGES = 20;
/**
 * Minimum number of messages for a rate from a page and the answer after it: a rough rate is better than a
 * wait that loses messages.
 */
const PAGE_RATE_MESSAGES = 5;
/** Messages that are as close as this on average have one time, which says nothing: chats are slower. */
const MIN_DISTANCE_MS = 1;
/** The minimum wait that is shortened by `LONG_WAIT_FACTOR`. */
const LONG_WAIT_MS = 5000;

export interface IntervalSettings {
  // [spec] Poll at the interval the upstream requests, clamped to 500 ms to 15 s.
  pollMinMs: number;
  pollMaxMs: number;
}

/**
 * Milliseconds from the start of the poll of this answer to the start of the next one. `page`: the items of
 * the page that the answer follows.
 */
export function intervalAfter(
  answer: Pick<PollAnswer, "timeoutMs" | "actionCount" | "position" | "items">,
  { pollMinMs, pollMaxMs }: IntervalSettings,
  page: readonly Item[] = [],
): number {
  const isReplay = isReplayChat(answer.position.chatType);
  const asked = answer.timeoutMs ?? (isReplay ? pollMinMs : DEFAULT_TIMEOUT_MS);
  const clamped = Math.min(pollMaxMs, Math.max(pollMinMs, asked));
  if (isReplay) return clamped;
  const wait = clamped < LONG_WAIT_MS ? clamped : LONG_WAIT_FACTOR * clamped;
  const fullness = answer.actionCount / TARGET_ACTIONS;
  const shown = {
    items: [...new Map([...page, ...answer.items].map((item) => [item.message.id, item])).values()],
  };
  const filledMs = page.length > 0 ? filledAfterMs(shown, PAGE_RATE_MESSAGES) : filledAfterMs(answer);
  return Math.max(pollMinMs, Math.min(fullness > 1 ? clamped / fullness : wait, wait, filledMs));
}

/** The longest interval of a live chat, in milliseconds. */
export function longestIntervalMs({ pollMinMs, pollMaxMs }: IntervalSettings): number {
  return Math.max(pollMinMs, Math.min(pollMaxMs, LONG_WAIT_MS), LONG_WAIT_FACTOR * pollMaxMs);
}

/**
 * The interval before a call that may be answered `excessMs` later than is tolerated. It is shorter than
 * `intervalMs` if the answer would otherwise come too late for the upstream's window.
 */
export function intervalBefore(
  excessMs: number,
  intervalMs: number,
  { pollMinMs, windowMs }: { pollMinMs: number; windowMs: number },
): number {
  const longestMs = Math.max(intervalMs, LONG_WAIT_FACTOR * windowMs);
  return Math.min(intervalMs, Math.max(pollMinMs, longestMs - excessMs));
}

/**
 * Milliseconds until an answer reaches `TARGET_ACTIONS`, at the rate of this answer's last messages; infinite
 * for fewer than `minimum` messages, and for messages that all have one time.
 */
export function filledAfterMs({ items }: Pick<PollAnswer, "items">, minimum = RATE_MESSAGES): number {
  const times = timesOf(items.filter(({ isInTicker }) => !isInTicker));
  const latest = times.sort((a, b) => a - b).slice(-RATE_MESSAGES);
  const [first, last] = [latest[0], latest.at(-1)];
  if (first === undefined || last === undefined || latest.length < minimum) return Number.POSITIVE_INFINITY;
  const distanceMs = (last - first) / (latest.length - 1);
  return distanceMs > MIN_DISTANCE_MS ? distanceMs * TARGET_ACTIONS : Number.POSITIVE_INFINITY;
}

/** The times of messages that have one, in milliseconds since 1970. */
export function timesOf(items: readonly Item[]): number[] {
  return items.flatMap(({ message }) => Date.parse(message.details.publishedAt ?? "") || []);
}
