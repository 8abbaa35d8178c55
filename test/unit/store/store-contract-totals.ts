/** What every store promises of the totals of its rooms: all that was ever stored counts, once. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { ENDED } from "../../../src/protocol/chat.ts";
import type { Message } from "../../../src/protocol/message.ts";
import { blankDeleted, deletionIds } from "../../../src/store/blanking.ts";
import type { Hold } from "../../../src/store/ownership.ts";
import { decodeMessage, encodeMessage } from "../../../src/store/stored-message.ts";
import { messages, own } from "../../support/store-reading.ts";
import {
  BORN_MS,
  type FullStore,
  LATER_MS,
  type NewSubject,
  OTHER,
  ownedRoom,
  ROOM,
  type Wall,
} from "../../support/store-subject.ts";
import { judged, type Logged, paid, randomLog, said } from "../../support/totals-judge.ts";

const chats = (count: number, from = 0) =>
  Array.from({ length: count }, (_, n) => said("chat", `c${from + n}`, { authorId: `UC${n % 7}` }));

const deleted = (id: string) => said("deleted", `deleted:${id}`, { target: { messageId: id } });

/** Owns the room while a test writes to it, and remembers all that was ever stored of it. */
class Writer {
  log: Logged[] = [];
  store: FullStore;
  readonly #wall: Wall;
  #claim: Hold | undefined;
  #head = 0;

  constructor(store: FullStore, wall: Wall) {
    this.store = store;
    this.#wall = wall;
  }

  async append(batch: readonly Message[], isBlanking = false): Promise<void> {
    if (!this.#claim) {
      this.#claim = await own(this.store, ROOM);
      this.#head = this.#claim.head;
      if (!this.#claim.room) this.log = [];
    }
    this.#wall.nowMs += 1;
    const held = new Set((await this.store.messagesById(ROOM, deletionIds(batch))).map(({ id }) => id));
    const { messages, overwriting } = isBlanking
      ? await blankDeleted(batch, held, (by) => this.store.find(ROOM, by), this.#wall)
      : { messages: batch, overwriting: [] };
    const encoded = messages.map(encodeMessage);
    const added = await this.store.append(this.#claim, this.#head, encoded, "", overwriting);
    this.#head += added.length;
    const at = this.#wall.nowMs;
    this.log.push(...added.map((stored) => ({ message: decodeMessage(stored), at })));
  }

  async finish(): Promise<void> {
    if (this.#claim) await this.store.finish(this.#claim, ENDED);
    this.#claim = undefined;
  }

  /** Forgets that it owns the room. */
  leave(): void {
    this.#claim = undefined;
  }
}

async function totals(store: FullStore) {
  const account = await store.getAccount(ROOM);
  assert.equal(account?.uncounted, 0);
  return account?.totals;
}

interface Random {
  /** The number of random logs. */
  runs: number;
  persists: boolean;
}

export function totalsContract(subject: NewSubject, { runs, persists }: Random): void {
  test("a room is shown as in the list, with totals of all messages appended before the request", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const all = [...chats(1030), said("gap", "gap:1"), said("superchat", "s", paid(4.99))];
    for (let n = 0; n < all.length; n += 86) {
      wall.nowMs += 1;
      await store.append(claim, BORN_MS + n, all.slice(n, n + 86).map(encodeMessage), "");
    }
    const { totals, uncounted, ...room } = (await store.getAccount(ROOM)) ?? assert.fail("no room");
    assert.deepEqual([room], await store.listRooms(9));
    const { authors, types, paid: sums, lastAt } = totals;
    assert.deepEqual(types, { chat: 1030, gap: 1, superchat: 1 });
    assert.deepEqual([uncounted, authors, lastAt], [0, 7, wall.nowMs]);
    assert.deepEqual(sums, { EUR: { count: 1, thousandths: "4990" } });
  });

  test("a room that was never stored, or only taken, has none", async (t) => {
    const { store } = await ownedRoom(subject, t);
    assert.equal(await store.getAccount(ROOM), undefined);
    assert.equal(await store.getAccount("nobody's room"), undefined);
    assert.equal(await store.tally("nobody's room", 10), 0);
  });

  test("a message of no known kind does not disturb the totals", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const odd = ["", "null", "[]", '{"type":"superchat"}', '{"type":"chat","id":7}', '{"type":"toString"}'];
    const stored = odd.map((body, n) => ({ id: `${n}`, body, details: odd[(n * 2) % odd.length] ?? "" }));
    await store.append(claim, BORN_MS, [...stored, ...messages(["a"])], "");
    assert.deepEqual((await totals(store))?.types, { chat: 1, superchat: 1 });
  });

  test("rooms are counted in bounded steps, each once, and the remainder is reported", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const other = await own(store, OTHER);
    await store.append(claim, BORN_MS, chats(70).map(encodeMessage), "");
    await store.append(other, other.head, chats(40).map(encodeMessage), "");
    const left = await store.tally(ROOM, 30);
    assert.ok(left === 40 || left === 0, `${left} are left`); // none where appends count by themselves
    let steps = 0;
    for (let after: string | undefined = ""; after !== undefined; steps++) {
      after = await store.tallyRooms(after, 20);
    }
    assert.ok(left === 0 || steps > 4, `${steps} steps`);
    assert.deepEqual([await store.tally(ROOM, 1), await store.tally(OTHER, 1)], [0, 0]);
    assert.deepEqual((await totals(store))?.types, { chat: 70 });
    assert.deepEqual((await store.getAccount(OTHER))?.totals.types, { chat: 40 });
  });

  if (persists) {
    test("each message counts once, also over a restart", async (t) => {
      const { store, wall, reopen } = await subject(t);
      const writer = new Writer(store, wall);
      await writer.append(chats(30));
      assert.deepEqual((await totals(writer.store))?.types, { chat: 30 });
      await writer.store.close();
      wall.nowMs += LATER_MS;
      writer.store = await reopen();
      writer.leave();
      await writer.append([...chats(10), ...chats(5, 30)]);
      assert.deepEqual((await totals(writer.store))?.types, { chat: 35 });
    });
  }

  test("pruning lowers nothing, and counts what it deletes", async (t) => {
    const { store, wall } = await subject(t);
    const writer = new Writer(store, wall);
    await writer.append([said("superchat", "s", { ...paid(0.1), authorId: "UC1" }), ...chats(60)]);
    wall.nowMs += LATER_MS;
    await writer.append([...chats(3, 60), said("superchat", "s2", paid(0.2))]);
    assert.equal(await store.prune(LATER_MS / 2, 40), 40);
    assert.equal(await store.prune(LATER_MS / 2, 40), 21);
    await writer.append([deleted("s")]);
    assert.deepEqual(await totals(store), judged(writer.log));
    assert.equal((await store.getAccount(ROOM))?.totals.deletedPaid, 1);
    await writer.finish();
    wall.nowMs += LATER_MS;
    assert.equal(await store.prune(0, 2), 2);
    assert.deepEqual(await totals(store), judged(writer.log), "of a room that is half gone");
  });

  test("a paid message counts once, even if it is stored again after pruning, and so does its deletion", async (t) => {
    const { store, wall } = await subject(t);
    const writer = new Writer(store, wall);
    const batch = [said("superchat", "s", paid(5)), said("superchat", "d", paid(7)), deleted("d")];
    for (let times = 0; times < 2; times++) {
      await writer.append(batch);
      wall.nowMs += LATER_MS;
      assert.equal(await store.prune(LATER_MS / 2, 9), 3);
    }
    const { types, paid: sums, deletedPaid, deleted: gone } = (await totals(store)) ?? {};
    assert.deepEqual(types, { superchat: 4, deleted: 2 });
    assert.deepEqual([sums, deletedPaid], [{ EUR: { count: 1, thousandths: "5000" } }, 1]);
    assert.deepEqual(gone, { EUR: { count: 1, thousandths: "7000" } });
  });

  test("the totals stay with their room when it moves to other cursors", async (t) => {
    const { store, wall } = await subject(t);
    const writer = new Writer(store, wall);
    await writer.append(chats(20));
    await store.tally(ROOM, 12);
    wall.nowMs += LATER_MS;
    await store.moveCursors();
    assert.deepEqual(await totals(store), judged(writer.log));
  });

  test("the totals go with their room, and a room that is created again has its own", async (t) => {
    const { store, wall } = await subject(t);
    const writer = new Writer(store, wall);
    const batch = [said("superchat", "s", { ...paid(5), authorId: "UC1" }), deleted("s")];
    await writer.append(batch);
    await totals(store);
    await writer.append(chats(3));
    await writer.finish();
    wall.nowMs += LATER_MS;
    await store.prune(0, 100);
    assert.equal(await store.getAccount(ROOM), undefined);
    await writer.append(batch.slice(0, 1));
    assert.deepEqual(await totals(store), judged(writer.log));
    assert.equal(writer.log.length, 1);
  });

  test("an author whose message is blanked right after it came is counted", async (t) => {
    const { store, wall } = await subject(t);
    const writer = new Writer(store, wall);
    await writer.append([said("superchat", "s", { ...paid(5), authorId: "UC1" }), ...chats(1)]);
    const deletion = said("author_deleted", "author_deleted:UC1", { target: { authorId: "UC1" } });
    await writer.append([deletion], true);
    const counted = await totals(store);
    assert.deepEqual([counted?.authors, counted?.deletedPaid, counted?.paid], [2, 1, {}]);
  });

  test("are those of a full count, whatever is stored, deleted, blanked, pruned, moved and reopened", async (t) => {
    const step = fc.oneof(
      fc.tuple(fc.constant("append"), fc.nat(8)),
      fc.tuple(fc.constantFrom("again", "prune", "tally", "ask", "finish", "move", "reopen"), fc.nat(8)),
    );
    const plays = fc.tuple(randomLog, fc.array(step, { maxLength: 25, size: "max" }), fc.boolean());
    for (const [log, steps, isBlanking] of fc.sample(plays, runs)) {
      await play(t, log, steps, isBlanking).catch((error) => {
        const messages = log.map(({ id, details }) => `${id} ${JSON.stringify(details)}`);
        t.diagnostic([`${isBlanking} ${steps.join(" ")}`, ...messages].join("\n"));
        throw error;
      });
    }
  });

  async function play(t: TestContext, log: Message[], steps: [string, number][], isBlanking: boolean) {
    const { store, wall, reopen } = await subject(t);
    const writer = new Writer(store, wall);
    const left = [...log];
    const past: Message[] = [];
    const acts: Record<string, (n: number) => Promise<unknown>> = {
      append: (n) => {
        const batch = left.splice(0, n);
        past.push(...batch);
        return writer.append(batch, isBlanking);
      },
      again: (n) => writer.append(past.slice(n, 2 * n), isBlanking),
      prune: (n) => writer.store.prune(n, n + 1),
      tally: (n) => writer.store.tally(ROOM, n),
      ask: async () => {
        if (await writer.store.getRoom(ROOM))
          assert.deepEqual(await totals(writer.store), judged(writer.log));
      },
      finish: () => writer.finish(),
      move: async () => {
        wall.nowMs += LATER_MS;
        await writer.store.moveCursors();
        writer.leave();
      },
      reopen: async () => {
        if (!persists) return;
        await writer.store.close();
        wall.nowMs += LATER_MS;
        writer.store = await reopen();
        writer.leave();
      },
    };
    for (const [what, n] of [...steps, ["append", 9], ["ask", 0]] as typeof steps) await acts[what]?.(n);
    await writer.store.close();
  }
}
