/**
 * A page of a chat and the answer that follows it, as one list in the order of saying. The two overlap, and may show
 * different selections of the chat, so neither simply comes first.
 */
import type { Item } from "../upstream/readers/reader.ts";

/** Sorts before and after every ISO time. */
const FIRST = "";
const LAST = "~";

/** When the item was said, ISO 8601 in UTC with microseconds; undefined where the upstream gives no time. */
function saidAt({ message }: Item): string | undefined {
  return message.details.publishedAt;
}

/**
 * Times to sort by: an item without one keeps its place in its own list, behind the item before it or, at the list's
 * beginning, before the one after it.
 */
function timed(items: readonly Item[], withoutAny: string): { item: Item; at: string }[] {
  let at = items.map(saidAt).find((time) => time !== undefined) ?? withoutAny;
  return items.map((item) => {
    const time = saidAt(item);
    if (time === undefined) return { item, at };
    if (time > at) at = time;
    return { item, at: time };
  });
}

/**
 * Both lists as one. What both hold stands where the answer has it: it alone is sure to be in the order of saying. But
 * what the answer only repeats stands where the page has it: a payment in a ticker, a notice that was said before.
 */
export function mergeInOrder(page: readonly Item[], answer: readonly Item[]): readonly Item[] {
  if (page.length === 0) return answer;
  const onPage = new Map<string, Item>();
  for (const item of page) {
    if (!isTicker(item) && !onPage.has(idOf(item))) onPage.set(idOf(item), item);
  }
  const followed = answer.filter((item) => !isRepeated(item, onPage.get(idOf(item))));
  const answered = idsOf(followed);
  const pageAlone = timed(page, FIRST).filter(({ item }) => !answered.has(idOf(item)));
  return [...pageAlone, ...timed(followed, LAST)]
    .sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0))
    .map(({ item }) => item);
}

/** Whether the answer's item says again what the page's item of the same id said. */
function isRepeated(answered: Item, onPage: Item | undefined): boolean {
  if (!onPage) return false;
  return isTicker(answered) || (saidAt(onPage) ?? LAST) < (saidAt(answered) ?? FIRST);
}

/**
 * Completes an answer from a page that was loaded after it. What the page shows beyond the answer is left out: the next
 * answer brings it, with whatever lies between. `heldSince`: what was said before is in no later answer, as
 * `publishedAt` is written; the answer may hold nothing but what was said long ago and is shown again.
 */
export function completeInOrder(
  answer: readonly Item[],
  page: readonly Item[],
  heldSince: string,
): readonly Item[] {
  const newest = newestOf(answer);
  const upTo = newest > heldSince ? newest : heldSince;
  const upToAnswer = timed(page, FIRST).filter(({ at }) => at <= upTo);
  return mergeInOrder(
    upToAnswer.map(({ item }) => item),
    answer,
  );
}

/**
 * How many of the merged items a viewer that has just opened the chat counts as history: all up to the page's newest,
 * or all of them where the page shows nothing that was said.
 */
export function historyLength(merged: readonly Item[], page: readonly Item[]): number {
  const newest = newestOf(page);
  if (newest === FIRST) return merged.length;
  const onPage = idsOf(page);
  return merged.findLastIndex((item) => onPage.has(idOf(item)) || (saidAt(item) ?? LAST) <= newest) + 1;
}

function newestOf(items: readonly Item[]): string {
  return items.reduce((latest, item) => {
    const time = saidAt(item) ?? FIRST;
    return time > latest ? time : latest;
  }, FIRST);
}

function isTicker({ message }: Item): boolean {
  return message.details.upstreamKind?.startsWith("liveChatTicker") ?? false;
}

/** A replacement is another item than the message that it replaces, though it bears its id. */
function idOf({ message, replaces }: Item): string {
  return replaces?.as.id ?? message.id;
}

function idsOf(items: readonly Item[]): ReadonlySet<string> {
  return new Set(items.map(idOf));
}
