/** The totals of the shared store's rooms, and the statements that count them. */

import type { ChatKey } from "../../src/protocol/chat-key.ts";
import { blockKey, blocksFor, FOUND_BY_ALL } from "../../src/store/author-blocks.ts";
import type { RoomAccount } from "../../src/store/port.ts";
import { TALLY_SQL } from "../../src/store/postgres/postgres-tallies.ts";
import { withTotals } from "../../src/store/stored-totals.ts";
import type { TallyItem } from "../../src/store/totals.ts";
import type { SharedRoom } from "./shared-room.ts";

interface Tally {
  cursor: number;
  totals: string;
  readonly items: Map<string, TallyItem>;
}

export class SharedTallies {
  readonly #roomAt: (key: ChatKey) => SharedRoom | undefined;
  readonly #tallies = new Map<ChatKey, Tally>();

  constructor(roomAt: (key: ChatKey) => SharedRoom | undefined) {
    this.#roomAt = roomAt;
  }

  statements(): [text: string, act: (...values: never[]) => object[]][] {
    return [
      [TALLY_SQL.tally, (key: ChatKey) => this.#tally(key)],
      [TALLY_SQL.uncounted, this.#uncounted],
      [TALLY_SQL.items, this.#items],
      [TALLY_SQL.save, this.#save],
      [TALLY_SQL.placeAfter, this.#placeOfAuthor(false)],
      [TALLY_SQL.placeBefore, this.#placeOfAuthor(true)],
    ];
  }

  /** The room's tally, or one that counts nothing yet. */
  #tally(key: ChatKey) {
    const room = this.#roomAt(key);
    if (!room || room.checkpoint === null) return [];
    const { cursor = room.base, totals = null } = this.#tallies.get(key) ?? {};
    return [{ born: room.base, cursor, totals, uncounted: room.head - cursor, kept: room.head - room.base }];
  }

  account(key: ChatKey): Pick<RoomAccount, "totals" | "uncounted"> | undefined {
    const [room] = this.#tally(key);
    return room && withTotals(room);
  }

  readonly #uncounted = (key: ChatKey, after: number, limit: number): object[] => {
    const { base = 0, messages = [] } = this.#roomAt(key) ?? {};
    const batch = messages.slice(after - base, after - base + limit);
    return batch.map(({ cursor, body, details }) => ({ cursor, body, details, at: 0 }));
  };

  readonly #items = (
    key: ChatKey,
    _born: number,
    keys: readonly string[],
    authors: readonly string[],
    firsts: readonly string[],
  ): object[] => {
    const isWanted = (item: TallyItem) =>
      keys.includes(item.key) ||
      (item.author !== null && authors.includes(item.author)) ||
      (item.first !== null && firsts.includes(item.first));
    return [...(this.#tallies.get(key)?.items.values() ?? [])].filter(isWanted);
  };

  #placeOfAuthor(isNewest: boolean) {
    return (key: ChatKey, after: number, to: number, mark: string): object[] =>
      this.#tally(key).map(({ born, cursor }) => {
        const { first, last } = blocksFor({ after, to, isNewest }, born);
        const hasMark = ({ key, authors }: TallyItem) =>
          key >= blockKey(first) &&
          key <= blockKey(last) &&
          [mark, FOUND_BY_ALL].some((either) => authors?.includes(either));
        const items = [...(this.#tallies.get(key)?.items.values() ?? [])];
        const blocks = items.filter(hasMark).map(({ key }) => key);
        return { base: born, counted: cursor, found: blocks.sort().at(isNewest ? -1 : 0) ?? null };
      });
  }

  readonly #save = (
    key: ChatKey,
    born: number,
    from: number,
    to: number,
    totals: string,
    keys: string[],
    authors: (string | null)[],
    firsts: (string | null)[],
    payments: (string | null)[],
    blocks: (string | null)[],
    read: string | null,
  ): object[] => {
    const before = this.#tallies.get(key);
    if ((before?.cursor ?? born) !== from || (before?.totals ?? null) !== read) return [];
    const items = new Map(before?.items);
    for (const [i, item] of keys.entries()) {
      const of = (column: (string | null)[]) => column[i] ?? null;
      const [author, first, payment] = [of(authors), of(firsts), of(payments)];
      items.set(item, { key: item, author, first, payment, authors: of(blocks) });
    }
    this.#tallies.set(key, { cursor: to, totals, items });
    return [{}];
  };
}
