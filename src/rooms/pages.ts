/**
 * Fresh pages of a chat, from their loading to the answer that follows them. What overlaps, or follows so soon that the
 * upstream still holds all that was said between, is one list in the order of saying; else a hole may lie between.
 */
import type { CallTimes } from "../clock.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { areJoined, type Hole, isSaid, type Stretch } from "./gap.ts";
import { mergeInOrder } from "./order.ts";

/** A page shows the newest fifty messages, or a selection of them: one with some, but fewer, shows the whole chat. */
const FULL_PAGE = 10;

/** What may lie before a page or an answer. */
interface Silence {
  /** Undefined where nothing can be missing, as in a replay. */
  hole: Hole | undefined;
  /** Whether it was no longer than the upstream holds what was said. */
  isShort: boolean;
}

export interface FreshPage extends Silence, CallTimes {
  items: readonly Item[];
}

/** The last page that shows what somebody said; others prove nothing. */
export function lastOf(pages: readonly FreshPage[]): FreshPage | undefined {
  return pages.findLast(({ items }) => items.some(isSaid));
}

/** The pages with one more, which comes after a silence. What a page holds that proves nothing is the next one's too. */
export function withPage(
  pages: readonly FreshPage[],
  loaded: Omit<FreshPage, keyof Silence>,
  silence: Silence,
): readonly FreshPage[] {
  const last = pages.at(-1);
  const page = { ...loaded, ...silence };
  if (!last) return [page];
  const before = pages.slice(0, -1);
  const merged = { ...page, items: mergeInOrder(last.items, page.items) };
  if (!lastOf([last])) return withPage(before, merged, silence);
  if (areJoined(last.items, page.items))
    return [...before, { ...merged, hole: last.hole, isShort: last.isShort }];
  return [...pages, page];
}

/**
 * The pages, and the answer that follows them after a silence. The last page's token brings what was said since that
 * page; where it shows nothing that was said, the answer stands in its place.
 */
export function withAnswer(
  pages: readonly FreshPage[],
  answer: readonly Item[],
  { hole, isShort }: Silence,
): readonly Stretch[] {
  const last = pages.at(-1);
  if (!last) return [{ items: answer, after: hole }];
  const before = pages.slice(0, -1);
  const merged = { ...last, items: mergeInOrder(last.items, answer) };
  if (!lastOf([last])) {
    return stretchesOf(withPage(before, merged, { hole: last.hole, isShort: last.isShort && isShort }));
  }
  if (isShort || areJoined(last.items, answer)) return stretchesOf([...before, merged]);
  return [...stretchesOf(pages), { items: answer, after: hole }];
}

/** What the pages hold, where no answer follows them. */
export function stretchesOf(pages: readonly FreshPage[]): readonly Stretch[] {
  return pages.map(({ items, hole, isShort }) => {
    const said = items.filter(isSaid).length;
    return { items, after: isShort && said > 0 && said < FULL_PAGE ? undefined : hole };
  });
}
