/**
 * The rooms' totals in the store file, with the cursors up to which they count. The caller provides the
 * transaction, so that both change together.
 */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import {
  type AuthorSearch,
  BLOCK_KEY,
  blockKey,
  blockOf,
  blocksFor,
  IS_FOUND_BY_ALL,
  markOf,
  placeFor,
  type Span,
} from "../author-blocks.ts";
import { addBatchToStored } from "../stored-totals.ts";
import type { OnUnreadable } from "../strict-rows.ts";
import { readBatch, type TallyBatch, type TallyItem, type TallyMessage } from "../totals.ts";
import { prepared } from "./sqlite-schema.ts";

const ITEM = "select key, author, first, payment, authors from tally_item where room = ?";

/** The blocks with the author's mark, or with that of all, among those with these keys. */
const FOUND_BLOCK = `select key from tally_item where room = :room and key >= :first and key <= :last
  and (instr(authors, :mark) > 0 or ${IS_FOUND_BY_ALL})`;

const SQL = {
  tally: "select cursor, totals from tally where room = ?",
  uncounted: `select cursor, at, body, details from message where room = ? and cursor > ? and cursor <= ?
    order by cursor limit ?`,
  item: `${ITEM} and key = ?`,
  itemsByAuthor: `${ITEM} and author = ?`,
  itemsByFirst: `${ITEM} and first = ?`,
  putItem: `insert into tally_item (room, key, author, first, payment, authors)
    values (:room, :key, :author, :first, :payment, :authors)
    on conflict do update set author = :author, first = :first, payment = :payment, authors = :authors`,
  putTally: `insert into tally (room, cursor, totals) values (:room, :cursor, :totals)
    on conflict do update set cursor = :cursor, totals = :totals`,
  moveTally: "update tally set cursor = cursor + :by where room = :room",
  key: "select video_id as key from room where key = ?",
  deleteTally: "delete from tally where room = ?",
  deleteItems: "delete from tally_item where room = ?",
  deleteBlocks: "delete from tally_item where room = ? and key >= ? and key < ?",
  base: "select base from room where key = ?",
  firstBlock: `${FOUND_BLOCK} order by key limit 1`,
  lastBlock: `${FOUND_BLOCK} order by key desc limit 1`,
} as const;

export class Tallies {
  readonly #sql: Record<keyof typeof SQL, StatementSync>;
  readonly #onUnreadable: OnUnreadable;

  constructor(database: DatabaseSync, onUnreadable: OnUnreadable) {
    this.#sql = prepared(database, SQL);
    this.#onUnreadable = onUnreadable;
  }

  /**
   * Counts the room's next messages up to cursor `upTo`, at most `limit`. Returns their number. Totals that
   * cannot be read are counted again, from the oldest kept message.
   */
  count(room: number, upTo: number, limit: number): number {
    const tally = this.#sql.tally.get(room) as { cursor: number; totals: string } | undefined;
    const { cursor, totals } = tally ?? { cursor: 0, totals: null };
    const messages = this.#sql.uncounted.all(room, cursor, upTo, limit) as unknown as TallyMessage[];
    const last = messages.at(-1);
    const batch = readBatch(messages, this.#baseOf(room));
    const after = addBatchToStored(totals, batch, this.#held(room, batch));
    if (!after) {
      this.#onUnreadable({ part: "totals", key: String(this.#sql.key.get(room)?.key) });
      this.delete(room);
      return this.count(room, upTo, limit);
    }
    if (!last) return 0;
    for (const item of after.items) this.#sql.putItem.run({ room, ...item });
    this.#sql.putTally.run({ room, cursor: last.cursor, totals: JSON.stringify(after.totals) });
    return messages.length;
  }

  move(room: number, by: number): void {
    this.#sql.moveTally.run({ room, by });
  }

  delete(room: number): void {
    this.#sql.deleteItems.run(room);
    this.#sql.deleteTally.run(room);
  }

  /** Deletes the blocks whose messages are all gone: those up to the cursor `floor`. */
  prune(room: number, floor: number): void {
    this.#sql.deleteBlocks.run(room, BLOCK_KEY, blockKey(blockOf(floor + 1, this.#baseOf(room))));
  }

  /** See `Store.placeOfAuthor`. */
  placeOfAuthor(room: number, search: AuthorSearch): Span {
    const base = this.#baseOf(room);
    const { first, last } = blocksFor(search, base);
    const sql = search.isNewest ? this.#sql.lastBlock : this.#sql.firstBlock;
    const [mark, keys] = [markOf(search.authorId), { first: blockKey(first), last: blockKey(last) }];
    const found = sql.get({ room, mark, ...keys })?.key;
    const counted = Number(this.#sql.tally.get(room)?.cursor ?? 0);
    return placeFor(search, base, counted, found === undefined ? null : String(found));
  }

  #baseOf(room: number): number {
    return Number(this.#sql.base.get(room)?.base);
  }

  #held(room: number, { keys, authors, firsts }: TallyBatch): TallyItem[] {
    const found = [
      ...keys.map((key) => this.#sql.item.get(room, key)).filter((item) => item !== undefined),
      ...authors.flatMap((author) => this.#sql.itemsByAuthor.all(room, author)),
      ...firsts.flatMap((first) => this.#sql.itemsByFirst.all(room, first)),
    ];
    return found as unknown as TallyItem[];
  }
}
