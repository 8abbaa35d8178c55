/**
 * A page of a chat and the answer that follows it, as one list in the order of saying. The two overlap, and may show
 * different selections of the chat, so neither simply comes first.
 */
import type { Item } from "./readers/reader.ts";

/** Sorts before and after every ISO time. */
const FIRST = "";
const LAST = "~";

/** When the item was said, ISO 8601 in UTC with microseconds; undefined where the upstream gives no time. */
function saidAt({ message }: Item): string | undefined {
  return message.details.publishedAt;
}

/** An item in its own list, with the times between which it was said there. */
interface Placed {
  item: Item;
  /** To sort by. */
  at: string;
  until: string;
}

/**
 * The items with the times to sort them by: one without a time keeps its place in its own list, behind the item before
 * it or, at the list's beginning, before the one after it.
 */
function placed(items: readonly Item[], withoutAny: string): Placed[] {
  const times = items.map((item) => (item.isInTicker ? undefined : saidAt(item)));
  let at = times.find((time) => time !== undefined) ?? withoutAny;
  let until = LAST;
  const untils = times.toReversed().map((time) => {
    until = time ?? until;
    return until;
  });
  return items.map((item, i) => {
    const time = saidAt(item);
    if (time !== undefined && time > at) at = time;
    return { item, at: time ?? at, until: time ?? untils.at(-1 - i) ?? LAST };
  });
}

/**
 * Both lists as one. What both hold stands where the answer has it: it alone is sure to be in the order of saying. But
 * what the answer only repeats stands where the page has it: a payment in a ticker, a notice or a deletion that came
 * before.
 */
export function mergeInOrder(page: readonly Item[], answer: readonly Item[]): readonly Item[] {
  if (page.length === 0) return answer;
  const shown = placed(page, FIRST);
  const onPage = new Map<string, Placed>();
  for (const one of shown) {
    if (!one.item.isInTicker && !onPage.has(idOf(one.item))) onPage.set(idOf(one.item), one);
  }
  const { followed = [], repeated = [] } = Object.groupBy(placed(answer, LAST), (one) =>
    isRepeated(one, onPage.get(idOf(one.item))) ? "repeated" : "followed",
  );
  const answered = idsOf(followed.map(({ item }) => item));
  const pageAlone = shown.filter(({ item }) => !answered.has(idOf(item)));
  // All messages of an author can be deleted once more: whether they were is known to who knows what the room holds.
  const deletions = repeated.filter(({ item }) => item.message.type === "author_deleted");
  return [...pageAlone, ...followed, ...deletions]
    .sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0))
    .map(({ item }) => item);
}

/** Whether what the answer holds was said before, as the page shows it. */
function isRepeated({ item, at }: Placed, onPage: Placed | undefined): boolean {
  return onPage !== undefined && (item.isInTicker || onPage.until < at);
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
  // What bears no time is surely of the answer's time only before an item that is: the page may lack what was deleted.
  const upToAnswer = placed(page, FIRST).filter(({ until }) => until <= upTo);
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

/** A replacement is another item than the message that it replaces, though it bears its id. */
function idOf({ message, replaces }: Item): string {
  return replaces?.as.id ?? message.id;
}

function idsOf(items: readonly Item[]): ReadonlySet<string> {
  return new Set(items.map(idOf));
}
