/** The part of the stores' contract that is about messages of some types, which an index finds. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TypedPart } from "../../../src/store/port.ts";
import { type StoredMessage, typeOf } from "../../../src/store/stored-message.ts";
import { own, readAll, saying } from "../../support/store-reading.ts";
import { BORN_MS, type NewSubject, OTHER, ownedRoom, ROOM } from "../../support/store-subject.ts";

const TYPES = [
  "chat",
  "superchat",
  "chat",
  "gap",
  "chat",
  "raid",
  "superchat",
  "hologram",
  "chat",
  "superchat",
];
const batch = (types: readonly string[], from = 0) =>
  types.map((type, index) => saying(`${from + index}`, "", {}, type));

/** What the part must have, by looking at every message. */
function expected(all: readonly StoredMessage[], { types, after, to, limit, isNewest }: TypedPart) {
  const found = all.filter(
    (message) => message.cursor > after && message.cursor <= to && types.includes(typeOf(message)),
  );
  return isNewest ? found.slice(-limit) : found.slice(0, limit);
}

export function typesContract(subject: NewSubject): void {
  test("the first and the last messages of some types are found, also after pruning and a restore", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, batch(TYPES), "");
    await store.append(claim, BORN_MS + 10, batch(TYPES, 10), "");
    const other = await own(store, OTHER);
    await store.append(other, other.head, batch(TYPES), "");
    const check = async () => {
      const all = await readAll(store, ROOM);
      const base = (all[0]?.cursor ?? 0) - 1;
      for (const types of [["superchat"], ["raid", "superchat", "gap"], ["poll"], []])
        for (const [after, to] of [
          [0, 20],
          [3, 17],
          [9, 10],
          [18, 99],
        ] as const)
          for (const limit of [1, 3, 99])
            for (const isNewest of [false, true]) {
              const part = { types, after: base + after, to: base + to, limit, isNewest };
              assert.deepEqual(await store.readTypes(ROOM, part), expected(all, part), JSON.stringify(part));
            }
    };
    await check();
    wall.nowMs += 1;
    assert.equal(await store.prune(0, 4), 4);
    await check();
    wall.nowMs += 60_000;
    await store.moveCursors();
    await check();
    const everything = { types: ["superchat"], after: 0, to: 2 * BORN_MS, limit: 9, isNewest: false };
    assert.deepEqual(await store.readTypes("nobody's room", everything), []);
  });

  test("a message that is overwritten is found by its new version", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, batch(["superchat", "superchat"]), "");
    const over = saying("1", "blank", {}, "superchat");
    await store.append(claim, BORN_MS + 2, [], "", [over]);
    const part = { types: ["superchat"], after: BORN_MS, to: BORN_MS + 2, limit: 1, isNewest: true };
    assert.deepEqual(await store.readTypes(ROOM, part), [
      { ...over, cursor: BORN_MS + 2, storedAt: BORN_MS },
    ]);
  });

  test("a damaged message is found by its type, and as a gap if that is lost", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    const [lost, cut, plain] = batch(["superchat", "superchat", "chat"]);
    assert.ok(lost && cut && plain);
    const damaged = [
      { ...lost, body: "superchat" },
      { ...cut, body: cut.body.slice(0, -9) },
      { ...plain, body: plain.body.slice(0, -9) },
    ];
    await store.append(claim, BORN_MS, damaged, "");
    const find = async (...types: string[]) => {
      const part = { types, after: BORN_MS, to: BORN_MS + 3, limit: 9, isNewest: false };
      return (await store.readTypes(ROOM, part)).map((found) => [found.cursor - BORN_MS, typeOf(found)]);
    };
    assert.deepEqual(await find("gap"), [[1, "gap"]]);
    assert.deepEqual(await find("superchat"), [[2, "gap"]]);
  });
}
