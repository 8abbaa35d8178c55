/**
 * What every store keeps, as tests: `storeContract` runs them against one implementation. A new store is
 * right when it passes them unchanged.
 */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { ENDED } from "../../../src/protocol/chat.ts";
import { message, messages, own, readAll, saying, stored } from "../../support/store-reading.ts";
import {
  BORN_MS,
  isFenced,
  isUnavailable,
  LATER_MS,
  type NewSubject,
  OTHER,
  ownedRoom,
  ROOM,
  type Subject,
  type Wall,
  wallAt,
} from "../../support/store-subject.ts";
import { authorsContract } from "./store-contract-authors.ts";
import { channelsContract } from "./store-contract-channels.ts";
import { chatsContract } from "./store-contract-chats.ts";
import { commitContract } from "./store-contract-commit.ts";
import { damageContract } from "./store-contract-damage.ts";
import { featuredContract } from "./store-contract-featured.ts";
import { followContract } from "./store-contract-follow.ts";
import { overwriteContract } from "./store-contract-overwrite.ts";
import { ownershipContract } from "./store-contract-ownership.ts";
import { pruneContract } from "./store-contract-prune.ts";
import { recordingsContract } from "./store-contract-recordings.ts";
import { restoreContract } from "./store-contract-restore.ts";
import { sizeContract } from "./store-contract-size.ts";
import { timeContract } from "./store-contract-time.ts";
import { totalsContract } from "./store-contract-totals.ts";
import { typesContract } from "./store-contract-types.ts";

/** Opens a store, and closes it when the test ends. The rest is absent if the store is not on a disk. */
export type OpenForTest = (
  t: TestContext,
  clock: Wall,
) => Promise<Pick<Subject, "store"> & Partial<Pick<Subject, "reopen" | "poison">>>;

/** `runs`: how many random logs this store takes in a third of a second or so. */
export function storeContract(name: string, open: OpenForTest, persists: boolean, runs: number): void {
  const subject: NewSubject = async (t) => {
    const wall = wallAt(BORN_MS);
    const refuse = () => Promise.reject(new Error("it does not persist"));
    const { store, reopen = refuse, poison = refuse } = await open(t, wall);
    return { store, wall, reopen, poison };
  };
  describe(`${name}: the log`, () => logContract(subject));
  describe(`${name}: list`, () => listContract(subject));
  describe(`${name}: text`, () => textContract(subject));
  describe(`${name}: ownership`, () => ownershipContract(subject));
  describe(`${name}: followers`, () => followContract(subject));
  describe(`${name}: pruning`, () => pruneContract(subject));
  describe(`${name}: limit of its size`, () => sizeContract(subject));
  describe(`${name}: overwriting`, () => overwriteContract(subject));
  describe(`${name}: restored`, () => restoreContract(subject));
  describe(`${name}: types`, () => typesContract(subject));
  describe(`${name}: authors`, () => authorsContract(subject));
  describe(`${name}: times`, () => timeContract(subject));
  describe(`${name}: totals`, () => totalsContract(subject, { runs, persists }));
  describe(`${name}: channels of rooms`, () => channelsContract(subject));
  describe(`${name}: chats of a video`, () => chatsContract(subject));
  describe(`${name}: featured messages`, () => featuredContract(subject));
  describe(`${name}: recordings`, () => recordingsContract(subject, persists));
  describe(`${name}: closing`, () => closeContract(subject));
  if (persists) describe(`${name}: failed commits`, () => commitContract(subject));
  if (persists) describe(`${name}: reopened`, () => reopenContract(subject));
  if (persists) describe(`${name}: damaged`, () => damageContract(subject));
}

function logContract(subject: NewSubject): void {
  test("messages get dense cursors in their order, and are read as they were appended", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const first = await store.append(claim, BORN_MS, messages(["c", "a"]), "one");
    const second = await store.append(claim, BORN_MS + 2, messages(["b"]), "two");
    assert.deepEqual([...first, ...second], stored(BORN_MS, ["c", "a", "b"]));
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["c", "a", "b"]));
  });

  test("an id is added once, within a batch and across batches, and uses no second cursor", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b", "a", "c", "b"]), "");
    const added = await store.append(claim, BORN_MS + 3, messages(["c", "d", "a", "d", "e"]), "");
    assert.deepEqual(added, stored(BORN_MS + 3, ["d", "e"]));
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b", "c", "d", "e"]));
  });

  test("the first message of an id stays, whatever a later one contains", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "");
    await store.append(claim, BORN_MS + 1, [{ id: "a", body: '{"id":"other"}', details: "{}" }], "");
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a"]));
  });

  test("rooms do not share ids, cursors or owners", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    wall.nowMs += 5;
    const other = await own(store, OTHER);
    const one = store.append(claim, BORN_MS, messages(["a", "b"]), "one");
    const two = store.append(other, BORN_MS + 5, messages(["b", "a"]), "two");
    await Promise.all([one, two]);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b"], wall.nowMs));
    assert.deepEqual(await readAll(store, OTHER), stored(BORN_MS + 5, ["b", "a"], wall.nowMs));
  });

  test("its size grows with the stored messages, by about as much", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const before = await store.sizeBytes();
    const [large] = messages(["large"]);
    assert.ok(large);
    await store.append(claim, BORN_MS, [{ ...large, body: "x".repeat(300_000) }], "one");
    const growth = (await store.sizeBytes()) - before;
    assert.ok(growth > 290_000 && growth < 700_000, `${growth} bytes`);
  });

  test("an append that adds nothing moves the checkpoint", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    wall.nowMs += 1000;
    assert.deepEqual(await store.append(claim, BORN_MS + 1, [], "two"), []);
    const room = await store.getRoom(ROOM);
    assert.equal(room?.head, BORN_MS + 1);
    assert.equal(room?.checkpoint, "two");
    assert.equal(room?.readAgoMs, 0);
  });

  test("a checkpoint is seen with its batch, never without it", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    let reads = 0;
    const appends = (async () => {
      for (let head = BORN_MS; head < BORN_MS + 300 || reads < 4; head += 3) {
        await store.append(claim, head, messages([head, head + 1, head + 2]), `${head + 3}`);
      }
      return "done" as const;
    })();
    while ((await Promise.race([appends, store.getRoom(ROOM)])) !== "done") {
      const room = await store.getRoom(ROOM);
      if (room?.checkpoint) assert.equal(Number(room.checkpoint), room.head);
      reads++;
    }
  });

  test("an append of unknown outcome is repeated after a look, and adds the missing messages", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b", "c"]), "one");
    const head = (await store.getRoom(ROOM))?.head ?? 0;
    assert.deepEqual(await store.append(claim, head, messages(["a", "b", "c"]), "one"), []);
    assert.deepEqual(await store.append(claim, head, messages(["b", "c", "d"]), "two"), stored(head, ["d"]));
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b", "c", "d"]));
  });

  test("a read starts after its cursor, keeps to its limit, and is empty beyond the head", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const all = await store.append(claim, BORN_MS, messages([...Array(1200).keys()]), "");
    assert.deepEqual(await store.read(ROOM, BORN_MS, 500), all.slice(0, 500));
    assert.deepEqual(await store.read(ROOM, BORN_MS + 700, 10_000), all.slice(700));
    assert.deepEqual(await store.read(ROOM, 0, 1), all.slice(0, 1));
    assert.deepEqual(await store.read(ROOM, BORN_MS, 0), []);
    assert.deepEqual(await store.read(ROOM, BORN_MS + 1200, 10), []);
    assert.deepEqual(await store.read(ROOM, BORN_MS + 9999, 10), []);
    assert.deepEqual(await store.read(OTHER, 0, 10), []);
  });

  test("finds the messages of a room by ids, and none of another room", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await own(store, OTHER);
    const added = await store.append(claim, BORN_MS, messages(["a", "b", "a'; --", "c\0d", "B"]), "");
    assert.deepEqual(await store.messagesById(ROOM, ["b", "x", "b"]), added.slice(1, 2));
    const found = await store.messagesById(ROOM, ["c\0d", "a'; --", "c", "A"]);
    assert.deepEqual(new Set(found), new Set(added.slice(2, 4)));
    assert.deepEqual(await store.messagesById(ROOM, []), []);
    assert.deepEqual(await store.messagesById(OTHER, ["a"]), []);
    assert.deepEqual(await store.messagesById("nobody's room", ["a"]), []);
  });
}

function listContract(subject: NewSubject): void {
  test("lists rooms, the last read first, with their stored messages", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "gap:1", "gapless"]), "one");
    wall.nowMs += 1000;
    await store.append(claim, BORN_MS + 3, messages(["b"]), "two");
    wall.nowMs += 1000;
    const other = await own(store, OTHER);
    await store.append(other, other.head, [], "one");
    await store.finish(other, ENDED);
    await own(store, "never-read1");
    const first = { key: ROOM, floor: BORN_MS, head: BORN_MS + 4, end: null };
    const kept = {
      readAgoMs: 1000,
      firstAt: BORN_MS,
      lastAt: BORN_MS + 1000,
      gaps: 1,
      isKept: false,
      video: null,
    };
    const empty = {
      floor: other.head,
      head: other.head,
      firstAt: null,
      lastAt: null,
      gaps: 0,
      isKept: false,
      video: null,
    };
    const second = { key: OTHER, ...empty, end: ENDED, readAgoMs: 0 };
    assert.deepEqual(await store.listRooms(9), [second, { ...first, ...kept }]);
    assert.deepEqual(await store.listRooms(1), [second]);
  });
}

function textContract(subject: NewSubject): void {
  test("ids are opaque: quotes, NUL, letter case and similarity make no difference", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const ids = [
      "a'b",
      'a"b',
      "a;--",
      "%",
      "_",
      "a\0b",
      "a\0c",
      "a",
      "A",
      "a ",
      "",
      "é",
      "e\u0301",
      "1",
      "01",
      "1.0",
    ];
    assert.deepEqual(await store.append(claim, BORN_MS, messages(ids), ""), stored(BORN_MS, ids));
    assert.deepEqual(await store.append(claim, BORN_MS + ids.length, messages(ids), ""), []);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ids));
  });

  test("text comes back unchanged, in any script", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const texts = [
      "\u0000",
      "😀👩‍👩‍👧",
      "漢字かな",
      "שלום",
      "\u2028\u2029\ufeff\uffff",
      "\r\n\t",
      "'; drop table room; --",
    ];
    const batch = texts.map((text, index) => saying(`t${index}`, text, { text }));
    await store.append(claim, BORN_MS, batch, texts.join());
    const back = await readAll(store, ROOM);
    assert.deepEqual(
      back.map(({ cursor: _, storedAt: __, ...text }) => text),
      batch,
    );
    assert.equal((await store.getRoom(ROOM))?.checkpoint, texts.join());
  });

  test("a lone surrogate does no harm to its neighbours, and is read as it was stored", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const whole = saying("x", "lone", {});
    const odd = { id: "x\ud83dy", body: whole.body.replace("lone", "\udc00"), details: '{"\ud800":1}' };
    const added = await store.append(claim, BORN_MS, [message("before"), odd, message("after")], "");
    assert.equal(added.length, 3);
    assert.deepEqual(await readAll(store, ROOM), added);
    assert.deepEqual(added[0], { ...message("before"), cursor: BORN_MS + 1, storedAt: BORN_MS });
    assert.deepEqual(added[2], { ...message("after"), cursor: BORN_MS + 3, storedAt: BORN_MS });
    assert.deepEqual(await store.append(claim, BORN_MS + 3, [odd], ""), []);
  });

  test("messages of 100 KB are kept whole", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const batch = [1, 2, 3].map((n) => saying(`${n}`, `${n}`.repeat(100_000), { text: "é".repeat(100_000) }));
    const added = await store.append(claim, BORN_MS, batch, "");
    assert.deepEqual(await readAll(store, ROOM), added);
    assert.deepEqual(
      added.map(({ cursor: _, storedAt: __, ...text }) => text),
      batch,
    );
  });
}

function closeContract(subject: NewSubject): void {
  test("operations that began before a close complete, and later ones are unavailable", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const other = await own(store, OTHER);
    const begun = [
      store.append(claim, BORN_MS, messages(["a"]), ""),
      store.append(other, BORN_MS, messages(["b"]), ""),
      store.read(ROOM, 0, 10),
    ];
    await Promise.all([store.close(), store.close()]);
    await Promise.all(begun);
    await store.close();
    await assert.rejects(store.probeWrite(0), isUnavailable);
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["c"]), ""), isUnavailable);
    await assert.rejects(store.read(ROOM, 0, 10), isUnavailable);
    await assert.rejects(store.messagesById(ROOM, ["a"]), isUnavailable);
    await assert.rejects(store.ownership.take(ROOM), isUnavailable);
  });
}

function reopenContract(subject: NewSubject): void {
  test("rooms, messages, ids, owners and ends are unchanged", async (t) => {
    const { store, wall, reopen, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "one");
    const other = await own(store, OTHER);
    await store.append(other, BORN_MS, [], "two");
    await store.finish(other, ENDED);
    await own(store, "never-read");
    const before = [await store.getRoom(ROOM), await store.getRoom(OTHER)];
    await store.close();

    wall.nowMs += LATER_MS;
    const again = await reopen();
    const later = before.map(
      (room) =>
        room && {
          ...room,
          readAgoMs: room.readAgoMs + LATER_MS,
          endedAgoMs: room.endedAgoMs === null ? null : room.endedAgoMs + LATER_MS,
        },
    );
    assert.deepEqual([await again.getRoom(ROOM), await again.getRoom(OTHER)], later);
    assert.equal(await again.getRoom("never-read"), undefined);
    assert.deepEqual(await readAll(again, ROOM), stored(BORN_MS, ["a", "b"]));
    await assert.rejects(again.append(claim, BORN_MS + 2, messages(["stolen"]), ""), isFenced);
    const next = await own(again, ROOM);
    assert.ok(next.epoch > claim.epoch);
    const added = await again.append(next, BORN_MS + 2, messages(["b", "c", "a"]), "two");
    assert.deepEqual(added, stored(BORN_MS + 2, ["c"], wall.nowMs));
    await assert.rejects(again.append(claim, BORN_MS + 3, [], ""), isFenced);
  });

  test("a store that is closed and opened many times stays dense", async (t) => {
    const subjectNow = await subject(t);
    let { store } = subjectNow;
    const ids: string[] = [];
    for (let round = 0; round < 5; round++) {
      const claim = await own(store, ROOM);
      ids.push(`${round}a`, `${round}b`);
      await store.append(claim, claim.head, messages(ids), `${round}`);
      await store.close();
      subjectNow.wall.nowMs += LATER_MS;
      store = await subjectNow.reopen();
    }
    const storedAt = (index: number) => BORN_MS + LATER_MS * Math.floor(index / 2);
    const expected = stored(BORN_MS, ids).map((each, index) => ({ ...each, storedAt: storedAt(index) }));
    assert.deepEqual(await readAll(store, ROOM), expected);
  });
}
