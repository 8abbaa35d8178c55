/**
 * The rooms' totals in the database. Any instance counts. The statement that stores a count also moves the
 * cursor up to which it counts, and does nothing if another instance has changed cursor or totals meanwhile.
 */
import type { ChatKey } from "../../protocol/chat-key.ts";
import {
  type AuthorSearch,
  BLOCK,
  BLOCK_DIGITS,
  BLOCK_KEY,
  IS_FOUND_BY_ALL,
  LOOKED_AT,
  markOf,
  placeFor,
  type Span,
} from "../author-blocks.ts";
import type { RoomAccount } from "../port.ts";
import { addBatchToStored, withTotals } from "../stored-totals.ts";
import { type OnUnreadable, withEnd } from "../strict-rows.ts";
import { NO_TOTALS, readBatch, type TallyBatch, type TallyItem, type TallyMessage } from "../totals.ts";
import { columns } from "./column-text.ts";
import type { Database } from "./pools.ts";
import { ms, SUMMARY, type SummaryRow } from "./postgres-tables.ts";

/** The columns of an item. */
export const TALLY_ITEM = ["key", "author", "first", "payment", "authors"] as const;
export const TALLIED = "room r left join tally t on t.video_id = r.video_id and t.born = r.base - r.shift";
/** The number of stored messages that the totals do not count yet. */
const UNCOUNTED = "r.head - greatest(r.floor, coalesce(t.cursor + r.shift, r.floor)) as uncounted";

const KEPT = "r.head - r.floor as kept";

const KEY_OF = (block: string) => `'${BLOCK_KEY}' || lpad((${block})::text, ${BLOCK_DIGITS}, '0')`;
const FIRST_BLOCK = `($2::bigint - r.base) / ${BLOCK}`;
const LAST_BLOCK = `($3::bigint - 1 - r.base) / ${BLOCK}`;

/**
 * Where the room is counted to, and the key of the first or the last of its blocks with the mark $4, or with
 * that of all, among those that `blocksFor` a search after $2 up to $3 returns.
 */
const placeOf = (order: "asc" | "desc", first: string, last: string) =>
  `select r.base, coalesce(t.cursor + r.shift, r.floor) as counted, (
      select key from tally_item i where i.video_id = r.video_id and i.born = r.base - r.shift
        and key >= ${KEY_OF(first)} and key <= ${KEY_OF(last)}
        and (strpos(authors, $4) > 0 or ${IS_FOUND_BY_ALL})
      order by key ${order} limit 1
    ) as found
    from ${TALLIED} where r.video_id = $1`;

export const TALLY_SQL = {
  account: `select ${SUMMARY}, t.totals, ${UNCOUNTED}, ${KEPT} from ${TALLIED}
    where r.video_id = $1 and checkpoint is not null`,
  tally: `select r.base - r.shift as born, coalesce(t.cursor, r.floor - r.shift) as cursor, t.totals, ${UNCOUNTED}, ${KEPT}
    from ${TALLIED} where r.video_id = $1 and checkpoint is not null`,
  uncounted: `select cursor, body, details, ${ms("at")} as at from message
    where video_id = $1 and cursor > $2 order by cursor limit $3`,
  items: `select key, author, first, payment, authors from tally_item
    where video_id = $1 and born = $2 and (key = any($3) or author = any($4) or first = any($5))`,
  save: `with mine as (
      insert into tally as t (video_id, born, cursor, totals)
      select video_id, $2, $4, $5 from room where video_id = $1 and base - shift = $2
      on conflict (video_id, born) do update set cursor = $4, totals = $5
        where t.cursor = $3 and t.totals is not distinct from $11
      returning video_id, born
    ), put as (
      insert into tally_item (video_id, born, key, author, first, payment, authors)
      select mine.*, item.* from mine,
        unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[]) as item
      on conflict (video_id, born, key) do update set author = excluded.author, first = excluded.first,
        payment = excluded.payment, authors = excluded.authors
    )
    select from mine`,
  // The row stays: an instance that read it before, and saves after this, finds that the totals have changed.
  forget: `with reset as (
      update tally t set cursor = r.floor - r.shift, totals = $4 from room r
      where t.video_id = $1 and t.born = $2 and t.cursor = $3
        and r.video_id = t.video_id and r.base - r.shift = t.born
      returning t.video_id, t.born
    )
    delete from tally_item i using reset where i.video_id = reset.video_id and i.born = reset.born`,
  placeAfter: placeOf("asc", FIRST_BLOCK, `least(${LAST_BLOCK}, ${FIRST_BLOCK} + ${LOOKED_AT - 1})`),
  placeBefore: placeOf("desc", `greatest(${FIRST_BLOCK}, ${LAST_BLOCK} - ${LOOKED_AT - 1})`, LAST_BLOCK),
  rooms: `select r.video_id as key, ${UNCOUNTED} from ${TALLIED}
    where r.video_id > $1 and checkpoint is not null order by r.video_id limit $2`,
} as const;

interface TallyRow {
  born: number;
  cursor: number;
  totals: string | null;
  uncounted: number;
  /** The number of stored messages. */
  kept: number;
}

export class Tallies {
  readonly #connections: Database;
  readonly #onUnreadable: OnUnreadable;
  #isClosed = false;

  constructor(connections: Database, onUnreadable: OnUnreadable) {
    this.#connections = connections;
    this.#onUnreadable = onUnreadable;
  }

  /** See `Store.getAccount`. */
  async account(key: ChatKey): Promise<RoomAccount | undefined> {
    type Row = SummaryRow & Pick<TallyRow, "totals" | "uncounted" | "kept">;
    const [row] = await this.#connections.query<Row>("reads", TALLY_SQL.account, [key]);
    return row && withTotals(withEnd(row, this.#onUnreadable));
  }

  /**
   * See `Tallying.tally`. If another instance counted meanwhile, nothing is stored, and all is left. Totals
   * that cannot be read are set to zero: the next step begins at the oldest stored message.
   */
  async tally(key: ChatKey, limit: number): Promise<number> {
    const [room] = await this.#connections.query<TallyRow>("reads", TALLY_SQL.tally, [key]);
    if (!room || this.#isClosed) return 0;
    const { born, cursor, uncounted, kept } = room;
    const asked = [key, cursor, limit];
    const messages = await this.#connections.query<TallyMessage>("reads", TALLY_SQL.uncounted, asked);
    const batch = readBatch(messages, born);
    const after = addBatchToStored(room.totals, batch, await this.#items(key, born, batch));
    if (!after) {
      this.#onUnreadable({ part: "totals", key });
      const nothing = [key, born, cursor, JSON.stringify(NO_TOTALS)];
      await this.#connections.query("writes", TALLY_SQL.forget, nothing);
      return kept;
    }
    const last = messages.at(-1);
    if (!last) return 0;
    const { totals, items } = after;
    const saved = await this.#connections.query("writes", TALLY_SQL.save, [
      ...[key, born, cursor, last.cursor, JSON.stringify(totals)],
      ...columns(items, TALLY_ITEM),
      room.totals,
    ]);
    return saved.length > 0 ? Math.max(0, uncounted - messages.length) : uncounted;
  }

  /** See `Store.placeOfAuthor`. */
  async placeOfAuthor(key: ChatKey, search: AuthorSearch): Promise<Span> {
    type Row = { base: number; counted: number; found: string | null };
    const { authorId, after, to, isNewest } = search;
    const sql = isNewest ? TALLY_SQL.placeBefore : TALLY_SQL.placeAfter;
    const [row] = await this.#connections.query<Row>("reads", sql, [key, after, to, markOf(authorId)]);
    // It may have moved to other cursors meanwhile.
    return row && row.base <= after ? placeFor(search, row.base, row.counted, row.found) : search;
  }

  /** See `Tallying.tallyRooms`. */
  async tallyRooms(after: ChatKey, limit: number): Promise<ChatKey | undefined> {
    type Row = { key: ChatKey; uncounted: number };
    const rooms = await this.#connections.query<Row>("reads", TALLY_SQL.rooms, [after, limit]);
    let left = limit;
    let done = after;
    for (const { key, uncounted } of rooms) {
      if (uncounted > 0) await this.tally(key, left);
      left -= uncounted;
      if (left <= 0 || this.#isClosed) return done;
      done = key;
    }
    return rooms.length < limit ? undefined : done;
  }

  /** Begins no further count. */
  close(): void {
    this.#isClosed = true;
  }

  async #items(key: ChatKey, born: number, { keys, authors, firsts }: TallyBatch): Promise<TallyItem[]> {
    if (keys.length === 0 && authors.length === 0) return [];
    const values = [key, born, keys, authors, firsts];
    return await this.#connections.query<TallyItem>("reads", TALLY_SQL.items, values);
  }
}
