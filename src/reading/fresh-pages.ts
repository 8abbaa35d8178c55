/**
 * Fresh pages of a chat, from their loading to the answer that follows them. Pages that overlap form one
 * list; so do a page and the answer after it, unless messages may be missing between the two (`areOneList`).
 */
import type { CallTimes } from "../base/clock.ts";
import type { Marker } from "../telemetry/marks.ts";
import type { PollAnswer } from "../upstream/live-chat.ts";
import { mergeInOrder } from "../upstream/order.ts";
import { knownByText } from "../upstream/readers/notice.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { areJoined, type Gap, isChatInPlace, isInAll, overlap, type ReadBatch } from "./gap.ts";
import { unreadBetween } from "./unread-time.ts";

/** Items, and when they were read. */
export type Read = CallTimes & Pick<ReadBatch, "items" | "above">;

export interface FreshPage extends Read {
  /** The gap that may be before it; undefined if nothing can be missing there. */
  gap: Gap | undefined;
}

/** Minimum number of messages in the backlog of a lively chat. Popout pages show 52 to 97 actions. */
const BACKLOG = 40;

/**
 * Whether two reads form one list, so that nothing is missing between them: both contain the same chat
 * message, or the later one has all messages since the earlier one. It has them if the upstream still kept
 * them when it came. There is one exception: behind Top chat, the token of a menu brings a backlog, perhaps
 * the one at the time of the call. In a lively chat, that can begin later than Top chat ends, however soon it
 * comes. An example: Top chat shows 1 5 9, and a second later the answer shows 50 to 99; then 10 to 49 are
 * missing. A shorter answer continues Top chat. Test: "behind Top chat, in time, a backlog".
 */
export function areOneList(earlier: Read, later: Read, windowMs: number): boolean {
  const isOfMenu = earlier.items.some((item) => item.isInTop);
  const mayBeginLater = isOfMenu && later.items.filter(isChatInPlace).length >= BACKLOG;
  const isContinued = unreadBetween(earlier, later) <= windowMs && !mayBeginLater;
  return isContinued || areJoined(earlier.items, later.items);
}

/** Such a page proves nothing. */
export function showsNoChat({ items }: FreshPage): boolean {
  return !items.some(isChatInPlace);
}

/** The last page with a chat message. */
export function lastOf(pages: readonly FreshPage[]): FreshPage | undefined {
  return pages.findLast((page) => !showsNoChat(page));
}

/**
 * Adds a page. One without a chat message is merged into the next one, and so are pages that join. Two in Top
 * chat that overlap are one list, too: the gap that may be between them is taken for one before both.
 */
export function withPage(pages: readonly FreshPage[], page: FreshPage, mark: Marker): readonly FreshPage[] {
  const last = pages.at(-1);
  if (!last) return [page];
  const before = pages.slice(0, -1);
  const above = page.above ?? last.above;
  const merged = { ...page, above, items: mergeInOrder(last.items, page.items) };
  if (showsNoChat(last)) {
    mark("pages: a mute one is a part of the next");
    return withPage(before, { ...merged, gap: page.gap ?? last.gap }, mark);
  }
  const isJoined = areJoined(last.items, page.items);
  const endsInTop = last.items.findLast(isChatInPlace)?.isInTop;
  if (isJoined || (endsInTop && overlap(last.items, page.items))) {
    mark("pages: join");
    return [...before, { ...merged, gap: isJoined ? last.gap : (last.gap ?? page.gap) }];
  }
  mark("pages: do not join");
  return [...pages, page];
}

/**
 * A poll's answer. If a page completed it, `above` is the page's, and `beyond` has the page's messages that
 * are newer than the answer.
 */
export type CompleteAnswer = PollAnswer & Pick<ReadBatch, "above"> & { beyond?: readonly Item[] };

/**
 * The batches of the pages and of the answer to the last page's token, which brings the messages since that
 * page. `gap`: what may be missing before the answer; without it, both are one list. A page without a chat
 * message is a part of the answer, which counts as a page. An answer that shows the backlog as well shows its
 * notices, too.
 */
export function withAnswer(
  pages: readonly FreshPage[],
  answer: Read,
  gap: Gap | undefined,
  mark: Marker,
): readonly ReadBatch[] {
  const last = pages.at(-1);
  if (!last) return [{ items: answer.items, above: answer.above, suspectedGap: gap }];
  if (showsNoChat(last)) {
    mark(gap ? "answer: behind a mute page, with a gap" : "answer: behind a mute page, without a gap");
    const asPage = { ...answer, above: last.above, items: knownByText(answer.items), gap: last.gap ?? gap };
    return toBatches(withPage(pages, asPage, mark));
  }
  const items = areJoined(last.items, answer.items) ? knownByText(answer.items) : answer.items;
  if (!gap) return toBatches([...pages.slice(0, -1), { ...last, items: pageWithAnswer(last.items, items) }]);
  mark("answer: does not join its page");
  return [...toBatches(pages), { items, suspectedGap: gap }];
}

/**
 * The reads that an answer consists of. A Top chat answer and the full answer that completes it are one read,
 * at the first one's time, if they form one list. A Top chat answer without a chat message proves nothing, so
 * the full answer's time counts.
 */
export function readsOf(answer: CompleteAnswer, windowMs: number): readonly [Read, Read?] {
  const [inTop, all] = answer.parts ?? [];
  if (!inTop?.items.some(isChatInPlace) || !all) return [answer];
  const isOneList = areOneList(inTop, all, windowMs);
  return isOneList ? [{ ...inTop, items: answer.items, above: answer.above }] : [inTop, all];
}

/**
 * A page and the answer to its token, as one list. A page in Top chat is marked as such if the answer shows
 * that it leaves out messages, between two that it has. Otherwise it shows as much as the answer does.
 */
export function pageWithAnswer(page: readonly Item[], answer: readonly Item[]): readonly Item[] {
  const merged = mergeInOrder(page, answer);
  const onPage = new Set(page.filter(isChatInPlace).map(({ message }) => message.id));
  const isOnPage = ({ message }: Item) => onPage.has(message.id);
  const between = merged.slice(merged.findIndex(isOnPage), merged.findLastIndex(isOnPage) + 1);
  const leavesOut = between.some((item) => isChatInPlace(item) && !isOnPage(item));
  return leavesOut ? merged : merged.map(({ isInTop: _, ...item }) => item);
}

/**
 * The batches, cut where the list of all messages begins. An example: Top chat shows 1 5 9, all messages show
 * 7 8 9. The gap is written before 1 and before 7, if these are new, because Top chat leaves out some of the
 * messages from 1 to 7. Only 7 8 9 can disprove it. Behind a batch in Top chat alone, the gap lasts until a
 * later batch begins. Test: "does not hide what it leaves out, although it reaches back to the stored
 * messages".
 */
export function cutBehindTopChat(batches: readonly ReadBatch[]): readonly ReadBatch[] {
  return batches.flatMap((batch) => {
    if (!batch.suspectedGap) return [batch];
    const begin = batch.items.findIndex(isInAll);
    const inTop = begin < 0 ? batch.items : batch.items.slice(0, begin);
    if (!inTop.some(isChatInPlace)) return [batch];
    const cut = { ...batch, proof: batch.items.filter(isInAll) };
    return [
      { ...cut, items: inTop },
      { ...cut, items: batch.items.slice(inTop.length) },
    ];
  });
}

/** The batches of the pages, if no answer follows them. */
export function toBatches(pages: readonly FreshPage[]): readonly ReadBatch[] {
  return pages.map(({ items, above, gap }) => ({ items, above, suspectedGap: gap }));
}
