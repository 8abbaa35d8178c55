/** The part of the stores' contract that is about the cursor of a time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { followed, message, messages, own, readAll, saying, stored } from "../../support/store-reading.ts";
import {
  BORN_MS,
  type FullStore,
  type NewSubject,
  OTHER,
  ownedRoom,
  ROOM,
} from "../../support/store-subject.ts";

/** When each message of `ROOM` was stored, the oldest first. */
type Times = readonly number[];

/** Asserts the cursor of each time around those of the messages; the first of them has cursor `floor + 1`. */
async function assertCursors(store: FullStore, floor: number, times: Times): Promise<void> {
  for (const near of new Set(times)) {
    for (const time of [near - 1, near, near + 1]) {
      const first = times.findIndex((at) => at >= time);
      const expected = floor + (first === -1 ? times.length : first);
      assert.equal(await store.cursorAt(ROOM, time), expected, `${time - BORN_MS} ms after the birth`);
    }
  }
}

export function timeContract(subject: NewSubject): void {
  test("a time is before the first message stored at or after it, also after pruning and a restore", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const times: number[] = [];
    for (const [afterMs, count] of [
      [0, 3],
      [0, 1],
      [1, 2],
      [1, 1],
      [60_000, 5],
      [60_001, 1],
    ] as const) {
      wall.nowMs = BORN_MS + afterMs;
      const ids = Array.from({ length: count }, (_, n) => times.length + n);
      await store.append(claim, BORN_MS + times.length, messages(ids), "");
      times.push(...ids.map(() => wall.nowMs));
    }
    await assertCursors(store, BORN_MS, times);
    assert.equal(await store.cursorAt(ROOM, 0), BORN_MS);
    assert.equal(await store.cursorAt(ROOM, 8.64e15), BORN_MS + times.length);

    assert.equal(await store.prune(1000, 5), 5);
    await assertCursors(store, BORN_MS + 5, times.slice(5));

    wall.nowMs = BORN_MS + 100_000;
    assert.equal(await store.moveCursors(), 1);
    await assertCursors(store, BORN_MS + 100_005, times.slice(5));
  });

  test("a room without messages has one cursor for all times, and one that was never read has none", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await own(store, OTHER);
    await store.append(claim, BORN_MS, [], "");
    for (const time of [0, BORN_MS, BORN_MS + 1]) {
      assert.equal(await store.cursorAt(ROOM, time), BORN_MS);
      assert.equal(await store.cursorAt(OTHER, time), undefined);
      assert.equal(await store.cursorAt("nobody's room", time), undefined);
    }
  });

  test("if the clock was set back, the cursor is between an earlier message and a later one", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const times = [0, 5, 9, 3, 4, 8, 2, 9, 1].map((ms) => BORN_MS + ms);
    for (const [place, at] of times.entries()) {
      wall.nowMs = at;
      await store.append(claim, BORN_MS + place, messages([place]), "");
    }
    for (let time = BORN_MS - 1; time < BORN_MS + 11; time++) {
      const place = Number(await store.cursorAt(ROOM, time)) - BORN_MS;
      const [before = Number.NEGATIVE_INFINITY] = place > 0 ? times.slice(place - 1) : [];
      const { [place]: behind = Number.POSITIVE_INFINITY } = times;
      assert.ok(before < time && time <= behind, `${time - BORN_MS}: ${before} and ${behind}`);
    }
  });

  test("a message has the time at which it was stored, at once and to followers", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const following = followed(store, ROOM, BORN_MS, { count: 3 });
    wall.nowMs += 1234;
    const added = await store.append(claim, BORN_MS, messages(["a", "b"]), "");
    wall.nowMs -= 500;
    added.push(...(await store.append(claim, BORN_MS + 2, messages(["c"]), "")));
    assert.deepEqual(added, stored(BORN_MS, ["a", "b", "c"], BORN_MS + 1234));
    assert.deepEqual((await following).messages, added);
    assert.deepEqual(await readAll(store, ROOM), added);
    assert.deepEqual(await store.messagesById(ROOM, ["c"]), added.slice(2));
  });

  test("a message is never stored before it was said, and keeps the time that another store gave it", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const saidAfter = (ms: number) => new Date(BORN_MS + ms).toISOString();
    const added = await store.append(
      claim,
      BORN_MS,
      [
        { ...message("kept"), storedAt: BORN_MS - 9000 },
        { ...saying("said later", "", { publishedAt: saidAfter(-8000) }), storedAt: BORN_MS - 8500 },
        { ...message("before"), storedAt: BORN_MS - 9500 },
        message("new"),
        { ...message("ahead"), storedAt: BORN_MS + 1 },
        saying("in the future", "", { publishedAt: saidAfter(50) }),
        message("last"),
      ],
      "",
    );
    const times = added.map(({ storedAt = 0 }) => storedAt - BORN_MS);
    assert.deepEqual(times, [-9000, -8000, -8000, 0, 0, 50, 50]);
    assert.deepEqual(await readAll(store, ROOM), added);
    assert.equal(await store.cursorAt(ROOM, BORN_MS - 8000), BORN_MS + 1);
  });

  test("a message is found by the running maximum of the times said, and of the places in the video", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    wall.nowMs += 100_000;
    const details = [{}, [1, -5], [4, 20], {}, [2, 10], [9, 30]].map((times) => {
      const [said, offsetMs] = Array.isArray(times) ? times : [];
      return said === undefined ? {} : { publishedAt: new Date(BORN_MS + said).toISOString(), offsetMs };
    });
    const batch = details.map((each, n) => saying(`${n}`, "", each));
    await store.append(claim, BORN_MS, batch.slice(0, 4), "");
    await store.append(claim, BORN_MS + 4, batch.slice(4), "");
    const rows: [kind: "said" | "offset", time: number, place: number][] = [
      ["said", BORN_MS, 1],
      ["said", BORN_MS + 1, 1],
      ["said", BORN_MS + 2, 2],
      ["said", BORN_MS + 4, 2],
      ["said", BORN_MS + 5, 5],
      ["said", BORN_MS + 10, 6],
      ["offset", -6, 1],
      ["offset", 10, 2],
      ["offset", 21, 5],
      ["offset", 31, 6],
    ];
    for (const [kind, time, place] of rows)
      assert.equal(await store.cursorAt(ROOM, time, kind), BORN_MS + place, `${kind} ${time}`);
  });
}
