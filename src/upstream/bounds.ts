/**
 * Maximum sizes accepted from the upstream: several times the largest seen, so that no real data exceeds a
 * bound, and small enough that a broken upstream costs bounded time and memory.
 */
import { asArray, asObject, asString } from "../base/json.ts";

export const BOUNDS = {
  /** Bytes of one answer, decompressed. Watch pages reach 2 MB. A larger answer is an error. */
  answerBytes: 8 * 1024 * 1024,
  /** Nesting of objects that hold another item; reading them recurses. Real data has up to 4 levels. */
  holders: 20,
  /** Places in a page where its data could begin. Real pages have one or two. */
  candidates: 100,
  /** Number of times that a page may be read, summed over those places. */
  readings: 3,
  /**
   * Actions in one answer or page, counted inside a replay's wrappers. An answer with more is an error; of a
   * page, the last ones count. Real ones have a few hundred.
   */
  actions: 10_000,
  /** Streams on a channel's page. Real tabs show 30 before they are scrolled. */
  streams: 100,
  /** Milliseconds that an answer can ask to wait. A longer wait is cut to this. */
  waitMs: 600_000,

  /** Lengths below are in UTF-16 units. A real message has up to 200 characters. */
  messageLength: 10_000,
  parts: 500,
  /** Maximum total length of a text's URLs, relative to its maximum. Two hundred emojis have 30,000. */
  urlLengthPerText: 5,
  urlLength: 2048,
  /** Names, labels and headers. */
  wordsLength: 500,
  /** The upstream's text about an error or a video, which is passed on to callers. */
  reasonLength: 200,
  /** An item with a longer id counts as broken. */
  idLength: 500,
  /** At most three have been seen. */
  badges: 10,
  questionLength: 500,
  /** Creators can offer up to five. */
  choices: 20,
  /** The latest polls of a chat, open or closed; beyond this number, the oldest are forgotten. */
  panels: 20,
} as const;

/** The last ones that together have at most `limit` actions; the list itself if it has no more. */
export function lastWithin(actions: readonly unknown[], limit: number): readonly unknown[] {
  let count = 0;
  const last = actions.findLastIndex((action) => {
    const wrapper = asObject(asObject(action)?.replayChatItemAction);
    count += wrapper === undefined ? 1 : (asArray(wrapper.actions)?.length ?? 1);
    return count > limit;
  });
  return last < 0 ? actions : actions.slice(last + 1);
}

/** Times outside the years of the upstream are mistakes, and count as none. */
const MIN_TIME = Date.UTC(2005, 0);
const MAX_TIME = Date.UTC(2100, 0);

/** The time, in milliseconds since 1970, if it can be that of a broadcast. */
export function plausibleTime(ms: number): number | undefined {
  return ms >= MIN_TIME && ms < MAX_TIME ? ms : undefined;
}

/** The time of a text that `Date.parse` reads, such as ISO 8601; undefined if it is none or implausible. */
export function timeIn(value: unknown): number | undefined {
  return plausibleTime(Date.parse(asString(value) ?? ""));
}
