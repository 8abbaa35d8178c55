/**
 * The interval of a room's polls, from the start of one to the start of the next. The upstream holds about ten seconds
 * or 200 messages of a live chat: what is said faster than it is asked for is lost.
 */
import { DEFAULT_TIMEOUT_MS } from "../upstream/answer.ts";
import type { Batch } from "../upstream/live-chat.ts";
import type { Item } from "../upstream/readers/reader.ts";

/** A live answer shall not bring more actions than this: less than half of what the upstream holds. */
const FULL_ANSWER_ACTIONS = 75;
/** Minimum number of messages for a rate; fewer are noise. */
const RATE_MESSAGES = 20;
/** Behind a page the answer has little, and waiting too long for the next costs messages: a rough rate must do. */
const PAGE_RATE_MESSAGES = 5;
/** The upstream asks for just as long as it holds messages: polls that wait so long start this much sooner. */
const LONG_WAIT_MS = 5000;
const LONG_WAIT_FACTOR = 0.9;

export interface IntervalSettings {
  // [spec] Poll at the interval the upstream requests, clamped to 500 ms to 15 s.
  pollMinMs: number;
  pollMaxMs: number;
}

/** Milliseconds from the start of the poll that brought this answer to the start of the next. `page`: what it follows. */
export function waitAfter(
  answer: Pick<Batch, "timeoutMs" | "actionCount" | "position" | "items">,
  { pollMinMs, pollMaxMs }: IntervalSettings,
  page: readonly Item[] = [],
): number {
  const isReplay = answer.position.chatType === "liveChatReplayRenderer";
  const asked = answer.timeoutMs ?? (isReplay ? pollMinMs : DEFAULT_TIMEOUT_MS);
  const clamped = Math.min(pollMaxMs, Math.max(pollMinMs, asked));
  if (isReplay) return clamped;
  const wait = clamped < LONG_WAIT_MS ? clamped : LONG_WAIT_FACTOR * clamped;
  const fullness = answer.actionCount / FULL_ANSWER_ACTIONS;
  const shown = {
    items: [...new Map([...page, ...answer.items].map((item) => [item.message.id, item])).values()],
  };
  const filledMs = page.length > 0 ? filledAfterMs(shown, PAGE_RATE_MESSAGES) : filledAfterMs(answer);
  return Math.max(pollMinMs, Math.min(fullness > 1 ? clamped / fullness : wait, wait, filledMs));
}

/** How soon an answer is full at the rate at which this one's last messages were said, in milliseconds; often infinite. */
export function filledAfterMs({ items }: Pick<Batch, "items">, least = RATE_MESSAGES): number {
  const times = items
    .filter(({ isInTicker }) => !isInTicker)
    .flatMap(({ message }) => Date.parse(message.details.publishedAt ?? "") || []);
  const latest = times.sort((a, b) => a - b).slice(-RATE_MESSAGES);
  const [first, last] = [latest[0], latest.at(-1)];
  if (first === undefined || last === undefined || latest.length < least) return Number.POSITIVE_INFINITY;
  return ((last - first) * FULL_ANSWER_ACTIONS) / (latest.length - 1);
}
