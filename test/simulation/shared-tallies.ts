/** The totals of the shared store's rooms, and the statements that count them. */

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
  readonly #roomAt: (videoId: string) => SharedRoom | undefined;
  readonly #tallies = new Map<string, Tally>();

  constructor(roomAt: (videoId: string) => SharedRoom | undefined) {
    this.#roomAt = roomAt;
  }

  statements(): [text: string, act: (...values: never[]) => object[]][] {
    return [
      [TALLY_SQL.tally, (videoId: string) => this.#tally(videoId)],
      [TALLY_SQL.uncounted, this.#uncounted],
      [TALLY_SQL.items, this.#items],
      [TALLY_SQL.save, this.#save],
    ];
  }

  /** The room's tally, or one that counts nothing yet. */
  #tally(videoId: string) {
    const room = this.#roomAt(videoId);
    if (!room || room.checkpoint === null) return [];
    const { cursor = room.base, totals = null } = this.#tallies.get(videoId) ?? {};
    return [{ born: room.base, cursor, totals, uncounted: room.head - cursor, kept: room.head - room.base }];
  }

  account(videoId: string): Pick<RoomAccount, "totals" | "uncounted"> | undefined {
    const [room] = this.#tally(videoId);
    return room && withTotals(room);
  }

  readonly #uncounted = (videoId: string, after: number, limit: number): object[] => {
    const { base = 0, messages = [] } = this.#roomAt(videoId) ?? {};
    const batch = messages.slice(after - base, after - base + limit);
    return batch.map(({ cursor, body, details }) => ({ cursor, body, details, at: 0 }));
  };

  readonly #items = (
    videoId: string,
    _born: number,
    keys: readonly string[],
    authors: readonly string[],
    firsts: readonly string[],
  ): object[] => {
    const isWanted = ({ key, author, first }: TallyItem) =>
      keys.includes(key) ||
      (author !== null && authors.includes(author)) ||
      (first !== null && firsts.includes(first));
    return [...(this.#tallies.get(videoId)?.items.values() ?? [])].filter(isWanted);
  };

  readonly #save = (
    videoId: string,
    born: number,
    from: number,
    to: number,
    totals: string,
    keys: string[],
    authors: (string | null)[],
    firsts: (string | null)[],
    payments: (string | null)[],
    read: string | null,
  ): object[] => {
    const before = this.#tallies.get(videoId);
    if ((before?.cursor ?? born) !== from || (before?.totals ?? null) !== read) return [];
    const items = new Map(before?.items);
    for (const [i, key] of keys.entries()) {
      const [author = null, first = null, payment = null] = [authors[i], firsts[i], payments[i]];
      items.set(key, { key, author, first, payment });
    }
    this.#tallies.set(videoId, { cursor: to, totals, items });
    return [{}];
  };
}
