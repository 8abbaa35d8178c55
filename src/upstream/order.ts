/**
 * Merges a page of a chat and the answer that follows it into one list, in the order in which the messages
 * were sent. The two overlap and may show different selections of the chat, so neither simply comes first.
 */
import type { Item } from "./readers/reader.ts";

/** Sort before and after every ISO time. */
const FIRST = "";
const LAST = "~";

/** When the item was sent, ISO 8601 in UTC with microseconds; undefined if the upstream gives no time. */
function saidAt({ message }: Item): string | undefined {
  return message.details.publishedAt;
}

/** An item of a list, with the earliest and the latest time at which it can have been sent. */
interface Placed {
  item: Item;
  /** The sort key. */
  at: string;
  until: string;
}

/**
 * Adds sort times to the items. An item without a time keeps its place in its own list: after the item before
 * it or, at the list's beginning, before the item after it. The time of a notice that a page shows again is
 * that of the page, so it places no other item. `withoutAny`: the sort key if no item has a time.
 */
function placed(items: readonly Item[], withoutAny: string): Placed[] {
  const times = items.map((item) => (item.isInTicker || item.isKnownByText ? undefined : saidAt(item)));
  let at = times.find((time) => time !== undefined) ?? withoutAny;
  let until = LAST;
  const untils = times.toReversed().map((time) => {
    until = time ?? until;
    return until;
  });
  return items.map((item, i) => {
    const time = saidAt(item);
    if (time !== undefined && time > at && !item.isKnownByText) at = time;
    return { item, at: time ?? at, until: time ?? untils.at(-1 - i) ?? LAST };
  });
}

/**
 * Merges both lists. Items in both lists take the answer's position, because only the answer is known to be
 * in order. Repeats (a payment in a ticker, an earlier notice) keep the page's position. An author's messages
 * can be deleted repeatedly, so the page's earlier deletions stay beside the answer's: only the room's stored
 * messages show which are new.
 */
export function mergeInOrder(page: readonly Item[], answer: readonly Item[]): readonly Item[] {
  if (page.length === 0) return answer;
  const shown = placed(page, FIRST);
  const onPage = firstOf(shown.filter(({ item }) => !item.isInTicker));
  const followed = placed(answer, LAST).filter((one) => !isRepeated(one, onPage.get(idOf(one.item))));
  const answered = firstOf(followed);
  const isEarlier = ({ item, until }: Placed, { at }: Placed) => isAuthorDeletion(item) && until < at;
  const pageAlone = shown.filter((one) => {
    const same = answered.get(idOf(one.item));
    return !same || isEarlier(one, same);
  });
  return [...pageAlone, ...followed]
    .sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : 0))
    .map(({ item }) => item);
}

/** The items of a page or an answer in Top chat, marked as such. */
export function inTopChat(items: readonly Item[]): readonly Item[] {
  return items.map((item) => ({ ...item, isInTop: true }));
}

/** The first of the items with each id. */
function firstOf(list: readonly Placed[]): ReadonlyMap<string, Placed> {
  return new Map(list.toReversed().map((one) => [idOf(one.item), one]));
}

const isAuthorDeletion = ({ message }: Item) => message.type === "author_deleted";

/** Whether the answer repeats an earlier item that the page shows. */
function isRepeated({ item, at }: Placed, onPage: Placed | undefined): boolean {
  if (!onPage || isAuthorDeletion(item)) return false;
  return item.isInTicker === true || onPage.until < at;
}

/**
 * Completes an answer from a page that was loaded after it. Items of the page beyond the answer's newest, or
 * beyond `heldSince` if that is later, are left to the next answer, which brings everything in between; those
 * that have a time are returned as `beyond`, as it may not bring them.
 * `heldSince`, in the format of `publishedAt`: nothing sent before it comes in a later answer.
 * Test: "leave what the page of a late answer shows beyond it to the next answer".
 */
export function completeInOrder(
  answer: readonly Item[],
  page: readonly Item[],
  heldSince: string,
): { items: readonly Item[]; beyond: readonly Item[] } {
  const newest = newestOf(answer);
  const upTo = newest > heldSince ? newest : heldSince;
  // An item without a time counts only if a later item with a time does: the page may lack deleted items. One
  // above the chat may come twice, so it counts if the item before it does: the next answer may begin behind
  // it.
  const isUpToAnswer = ({ item, at, until }: Placed) => (isAboveChat(item) ? at : until) <= upTo;
  const shown = placed(page, FIRST).map((one) => ({ item: one.item, isLeft: !isUpToAnswer(one) }));
  // The page shows the answer's notices, too, under other ids.
  const notices = new Set(
    answer.flatMap(({ message, noticeId }) => (noticeId === undefined ? [] : message.id)),
  );
  const isOfAnswer = ({ message, isKnownByText }: Item) => isKnownByText === true && notices.has(message.id);
  const before = shown.filter(({ item, isLeft }) => !isLeft && !isOfAnswer(item));
  // Only a page that reaches back to the answer shows that nothing is missing before the rest.
  const isJoined = shown.some(({ item, isLeft }) => !isLeft && item.message.type === "chat");
  const beyond = shown.filter(({ item, isLeft }) => isJoined && isLeft && isOfOneTime(item));
  return { items: mergeInOrder(before.map(itemOf), answer), beyond: beyond.map(itemOf) };
}

const itemOf = ({ item }: { item: Item }) => item;

/** Whether the item has a time, and no page shows it in another form. */
function isOfOneTime(item: Item): boolean {
  return saidAt(item) !== undefined && !item.isInTicker && !item.isKnownByText;
}

/** Whether the item is above the chat: it has no time and, read twice, is one message. */
function isAboveChat({ message: { type } }: Item): boolean {
  return ["banner", "poll", "raid", "summary", "product"].includes(type);
}

/**
 * Number of merged items that are history for a viewer who has just opened the chat: everything up to the
 * page's newest, or all of them if the page shows no item with a time.
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

/**
 * A replacement differs from the message that it replaces, although both have the same id; so do two notices
 * of one text that have different ids upstream.
 */
function idOf({ message, replaces, noticeId, isKnownByText }: Item): string {
  if (noticeId !== undefined && !isKnownByText) return `${message.id} ${noticeId}`;
  return replaces?.as.id ?? message.id;
}

function idsOf(items: readonly Item[]): ReadonlySet<string> {
  return new Set(items.map(idOf));
}
