/**
 * The index of authors: which of them said something in which thousand cursors of a room. Counting writes it,
 * with the totals and in the same commit, so only an append that blanks messages waits for it. A search skips
 * the blocks in which the author said nothing, and reads the others, and all that is not counted yet.
 */
import { hash } from "node:crypto";

/** The number of cursors in a block. */
export const BLOCK = 1000;
/** The maximum number of blocks that one search looks at: 1 MB, for some milliseconds. */
export const LOOKED_AT = 250;
/** The keys of blocks, among those of the totals' items, begin with it. */
export const BLOCK_KEY = "block:";
export const BLOCK_DIGITS = 12;
export const MARK_LENGTH = 4;

/**
 * A search in the log of a room: for messages of an author, and for gaps, with cursors after `after` up to
 * `to`. `isNewest`: whether it begins at the end.
 */
export interface AuthorSearch {
  authorId: string;
  after: number;
  to: number;
  isNewest: boolean;
}

/** The messages after cursor `after` up to `to`; none if the two are equal. */
export interface Span {
  after: number;
  to: number;
}

/**
 * What the index keeps of an author. It is so short that some channels of YouTube have the same, so it does
 * not name one; a message of another one costs the search of a block.
 */
export function markOf(authorId: string): string {
  return hash("sha256", authorId, "base64url").slice(0, MARK_LENGTH);
}

/** The mark of a message that each search finds: a gap, or one that cannot be read. It is a block's first. */
export const FOUND_BY_ALL = "*".repeat(MARK_LENGTH);
/** In SQL: whether each search finds the block with these `authors`. */
export const IS_FOUND_BY_ALL = `substr(authors, 1, ${MARK_LENGTH}) = '${FOUND_BY_ALL}'`;

/** The marks in a block's text; undefined if it is damaged. */
export function marksIn(authors: string): string[] | undefined {
  return /^(?:[\w-]{4}|\*{4})*$/.test(authors) ? (authors.match(/.{4}/gs) ?? []) : undefined;
}

/** The number of the block with this cursor. It stays the same if the room moves to other cursors. */
export function blockOf(cursor: number, base: number): number {
  return Math.floor((cursor - base - 1) / BLOCK);
}

/** The keys of blocks are in their order. */
export function blockKey(block: number): string {
  return BLOCK_KEY + String(block).padStart(BLOCK_DIGITS, "0");
}

/** The first and the last block that a search looks at next. */
export function blocksFor(
  { after, to, isNewest }: Omit<AuthorSearch, "authorId">,
  base: number,
): { first: number; last: number } {
  const [first, last] = [blockOf(after + 1, base), blockOf(to, base)];
  return isNewest
    ? { first: Math.max(first, last - LOOKED_AT + 1), last }
    : { first, last: Math.min(last, first + LOOKED_AT - 1) };
}

/**
 * The next place at which a search must read: the messages before it (after it, if `isNewest`) are none that
 * it looks for. `counted`: the cursor up to which the room is counted. `found`: the key of the first (last)
 * of its blocks that has the author's mark or `FOUND_BY_ALL`, if one has.
 */
export function placeFor(
  search: Omit<AuthorSearch, "authorId">,
  base: number,
  counted: number,
  found: string | null,
): Span {
  const { after, to, isNewest } = search;
  const uncounted = { after: Math.max(after, counted), to };
  if (isNewest && counted < to) return uncounted;
  if (found !== null) {
    const start = base + Number(found.slice(BLOCK_KEY.length)) * BLOCK;
    return { after: Math.max(after, start), to: Math.min(to, start + BLOCK) };
  }
  const { first, last } = blocksFor(search, base);
  const [start, end] = [Math.max(after, base + first * BLOCK), Math.min(to, base + (last + 1) * BLOCK)];
  if (isNewest) return { after: start, to: start };
  return counted < end ? uncounted : { after: end, to: end };
}
