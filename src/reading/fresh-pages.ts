/**
 * Fresh pages of a chat, from their loading to the answer that follows them. Pages that overlap form one
 * list; so do a page and the answer after it, if the upstream still kept all messages between them. Otherwise
 * messages may be missing between the two.
 */
import type { CallTimes } from "../base/clock.ts";
import type { Marker } from "../telemetry/marks.ts";
import type { PollAnswer } from "../upstream/live-chat.ts";
import { mergeInOrder } from "../upstream/order.ts";
import { knownByText } from "../upstream/readers/notice.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { areJoined, type Gap, isChatInPlace, type ReadBatch } from "./gap.ts";
import { unreadBetween } from "./late-answers.ts";

export interface FreshPage extends CallTimes, Pick<ReadBatch, "above"> {
  items: readonly Item[];
  /** The gap that may be before it; undefined if nothing can be missing there. */
  gap: Gap | undefined;
}

/**
 * The unread time before a page or an answer. Both may be set: it was read in time, but by the chat's rate at
 * least one message was said meanwhile. Then `gap` counts only behind a page without a chat message.
 */
export interface SpanBefore {
  /** What to write unless an overlap disproves it; undefined if nothing can be missing. */
  gap: Gap | undefined;
  /** Whether the upstream still kept all messages of the time, so that the token brings them. */
  isInTime: boolean;
}

/** Minimum number of messages in the backlog of a lively chat. Popout pages show 52 to 97 actions. */
const BACKLOG = 40;

/**
 * Whether messages may be missing between those of Top chat and an answer with all messages, however soon it
 * came. The token of a menu brings a backlog, perhaps the one at the time of the call: in a lively chat, it
 * can begin later than the page ends. A shorter answer without an overlap continues the page.
 */
export function mayBeginLater(inTop: readonly Item[], all: readonly Item[]): boolean {
  const isOfMenu = inTop.some((item) => item.isInTop);
  return isOfMenu && all.filter(isChatInPlace).length >= BACKLOG && !areJoined(inTop, all);
}

/** Such a page proves nothing. */
function showsNoChat({ items }: FreshPage): boolean {
  return !items.some(isChatInPlace);
}

/** The last page with a chat message. */
export function lastOf(pages: readonly FreshPage[]): FreshPage | undefined {
  return pages.findLast((page) => !showsNoChat(page));
}

/** Adds a page. One without a chat message is merged into the next one. */
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
  if (areJoined(last.items, page.items)) {
    mark("pages: join");
    return [...before, { ...merged, gap: last.gap }];
  }
  mark("pages: do not join");
  return [...pages, page];
}

/** Items, and when they were read. */
export type Read = CallTimes & Pick<ReadBatch, "items" | "above">;

/**
 * A poll's answer. If a page completed it, `above` is the page's, and `beyond` has the page's messages that
 * are newer than the answer.
 */
export type CompleteAnswer = PollAnswer & Pick<ReadBatch, "above"> & { beyond?: readonly Item[] };

/**
 * The batches of the pages and of what follows them. The last page's token brings the messages since that
 * page. One without a chat message is merged with the answer, as if both were the answer. An answer that
 * shows the backlog as well shows its notices, too.
 */
export function withAnswer(
  pages: readonly FreshPage[],
  { items: read, above }: Pick<ReadBatch, "items" | "above">,
  { gap, isInTime }: SpanBefore,
  mark: Marker,
): readonly ReadBatch[] {
  const last = pages.at(-1);
  if (!last) return [{ items: read, above, suspectedGap: gap }];
  const before = pages.slice(0, -1);
  if (showsNoChat(last)) {
    mark(isInTime ? "answer: in time behind a mute page" : "answer: late behind a mute page");
    const merged = { ...last, items: mergeInOrder(last.items, knownByText(read)) };
    return toBatches(withPage(before, { ...merged, gap: merged.gap ?? gap }, mark));
  }
  const answer = areJoined(last.items, read) ? knownByText(read) : read;
  const merged = { ...last, items: withAll(last.items, answer) };
  const isJoined = isInTime || areJoined(last.items, answer);
  if (!isInTime)
    mark(isJoined ? "answer: late, and joins its page" : "answer: late, and does not join its page");
  if (isJoined) return toBatches([...before, merged]);
  return [...toBatches(pages), { items: answer, suspectedGap: gap }];
}

/**
 * A Top chat answer and the full answer that completes it count as one, at the first one's time. If nothing
 * joins them and more than a window is between them, they are two. A Top chat answer without a chat message
 * proves nothing, so the full answer's time counts.
 */
export function inTurn(answer: CompleteAnswer, windowMs: number): readonly [Read, Read?] {
  const [inTop, all] = answer.parts ?? [];
  if (!inTop?.items.some(isChatInPlace) || !all) return [answer];
  const isInTime = unreadBetween(inTop, all) <= windowMs && !mayBeginLater(inTop.items, all.items);
  const isJoined = isInTime || areJoined(inTop.items, all.items);
  return isJoined ? [{ ...inTop, items: answer.items, above: answer.above }] : [inTop, all];
}

/**
 * A page and the answer to its token, as one list. A page in Top chat is marked as such if the answer shows
 * that it leaves out messages, between two that it has. Otherwise it shows as much as the answer does.
 */
export function withAll(page: readonly Item[], answer: readonly Item[]): readonly Item[] {
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
 * messages from 1 to 7. Only 7 8 9 can disprove it.
 */
export function cutAtAll(batches: readonly ReadBatch[]): readonly ReadBatch[] {
  const isInAll = (item: Item) => isChatInPlace(item) && !item.isInTop;
  return batches.flatMap((batch) => {
    if (!batch.suspectedGap) return [batch];
    const begin = batch.items.findIndex(isInAll);
    const inTop = batch.items.slice(0, Math.max(begin, 0));
    if (!inTop.some(isChatInPlace)) return [batch];
    const cut = { ...batch, proof: batch.items.filter(isInAll) };
    return [
      { ...cut, items: inTop },
      { ...cut, items: batch.items.slice(begin) },
    ];
  });
}

/** The batches of the pages, if no answer follows them. */
export function toBatches(pages: readonly FreshPage[]): readonly ReadBatch[] {
  return pages.map(({ items, above, gap }) => ({ items, above, suspectedGap: gap }));
}
