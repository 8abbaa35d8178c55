/** The part of the stores' contract that is about forgetting. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ENDED, RELEASED } from "../../../src/protocol/chat.ts";
import type { ChatKey } from "../../../src/protocol/chat-key.ts";
import type { Hold } from "../../../src/store/ownership.ts";
import { followed, messages, own, readAll, saying, stored } from "../../support/store-reading.ts";
import {
  BORN_MS,
  type FullStore,
  isFenced,
  type NewSubject,
  OTHER,
  ownedRoom,
  ROOM,
} from "../../support/store-subject.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** A room's cursors from its birth, or undefined if it is gone. */
async function kept(store: FullStore, key: ChatKey): Promise<[floor: number, head: number] | undefined> {
  const room = await store.getRoom(key);
  return room && [room.floor - room.base, room.head - room.base];
}

export function pruneContract(subject: NewSubject): void {
  test("an open room loses older messages, its floor rises, and it continues", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "");
    wall.nowMs = BORN_MS + 100;
    await store.append(claim, BORN_MS + 2, messages(["c"]), "");
    assert.equal(await store.prune(100, 100), 0);
    assert.equal(await store.prune(0, 100), 2);
    const room = await store.getRoom(ROOM);
    assert.deepEqual([room?.base, room?.floor, room?.head], [BORN_MS, BORN_MS + 2, BORN_MS + 3]);
    assert.deepEqual(await store.read(ROOM, BORN_MS, 10), stored(BORN_MS + 2, ["c"], wall.nowMs));
    assert.deepEqual(await store.messagesById(ROOM, ["a", "c"]), stored(BORN_MS + 2, ["c"], wall.nowMs));

    wall.nowMs = BORN_MS + 101;
    assert.equal(await store.prune(0, 100), 1);
    assert.equal((await store.getRoom(ROOM))?.floor, BORN_MS + 3);
    assert.deepEqual(await readAll(store, ROOM), []);
    const added = await store.append(claim, BORN_MS + 3, messages(["d"]), "");
    assert.deepEqual(added, stored(BORN_MS + 3, ["d"], wall.nowMs));
    assert.deepEqual(await readAll(store, ROOM), added);
  });

  test("a message stored by a clock in the past has its said time, so a right clock prunes nothing", async (t) => {
    const { store, wall } = await subject(t);
    wall.nowMs = BORN_MS - 3652 * DAY_MS;
    const claim = await own(store, ROOM);
    const publishedAt = new Date(BORN_MS).toISOString();
    const batch = [saying("a", "", { publishedAt }), saying("b", "", {})];
    await store.append(claim, claim.head, batch, "");
    await store.append(claim, claim.head + 2, [saying("c", "", {})], "");
    await store.finish(claim, ENDED);
    wall.nowMs = BORN_MS + 1000;
    assert.equal(await store.prune(DAY_MS, 100), 0);
    assert.equal(await store.cursorAt(ROOM, BORN_MS), claim.head);
    assert.equal(await store.cursorAt(ROOM, BORN_MS + 1), claim.head + 3);
    const { now, oldestAt } = await store.age();
    assert.equal(now, wall.nowMs);
    assert.ok(oldestAt <= BORN_MS);
    wall.nowMs = BORN_MS + 2 * DAY_MS;
    assert.equal(await store.prune(DAY_MS, 100, BORN_MS + 1000), 0, "by the time that was checked");
    assert.equal(await store.prune(DAY_MS, 100), 3);
  });

  test("a message stored by a clock in the past is as old as the witness says, also once corrected", async (t) => {
    const { store, wall } = await subject(t);
    wall.nowMs = BORN_MS - 3652 * DAY_MS;
    wall.witness.hear(BORN_MS);
    const claim = await own(store, ROOM);
    await store.append(claim, claim.head, messages(["a"]), "");
    await store.append(claim, claim.head + 1, messages(["b"]), "");
    await store.finish(claim, ENDED);
    assert.equal(await store.cursorAt(ROOM, BORN_MS), claim.head);
    assert.equal(await store.cursorAt(ROOM, BORN_MS + HOUR_MS), claim.head + 2);
    assert.equal(
      (await store.age()).now,
      wall.nowMs,
      "the clock that the retention compares with the witness",
    );
    wall.nowMs = BORN_MS + 1000;
    assert.equal(await store.prune(DAY_MS, 100), 0);
    wall.nowMs = BORN_MS + 2 * DAY_MS;
    assert.equal(await store.prune(DAY_MS, 100), 2);
    assert.equal(await store.getRoom(ROOM), undefined);
  });

  test("a room without messages that ends with a clock in the past stays once the clock is right", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, claim.head, [], "");
    wall.nowMs = BORN_MS - 3652 * DAY_MS;
    await store.finish(claim, RELEASED);
    wall.nowMs = BORN_MS + DAY_MS;
    assert.equal(await store.prune(DAY_MS, 100), 0);
    assert.deepEqual(await kept(store, ROOM), [0, 0]);
    wall.nowMs += 1;
    assert.equal(await store.prune(DAY_MS, 100), 1);
    assert.equal(await store.getRoom(ROOM), undefined);
  });

  for (const [what, heardMs] of [
    ["agrees", BORN_MS + HOUR_MS - 5000],
    ["is behind", BORN_MS - 3652 * DAY_MS],
  ] as const) {
    test(`a witness that ${what} changes no time`, async (t) => {
      const { store, wall, claim } = await ownedRoom(subject, t);
      wall.witness.hear(heardMs);
      await store.append(claim, claim.head, messages(["a"]), "");
      assert.equal(await store.cursorAt(ROOM, BORN_MS), claim.head);
      assert.equal(await store.cursorAt(ROOM, BORN_MS + 1000), claim.head + 1);
    });
  }

  test("a step deletes at most its limit, the oldest of all open rooms first, even inside a batch", async (t) => {
    const { store, wall } = await subject(t);
    const one = await own(store, ROOM);
    const two = await own(store, OTHER);
    await store.append(one, BORN_MS, messages([1, 2, 3, 4]), "");
    await store.append(two, BORN_MS, messages([1, 2, 3]), "");
    await store.append(one, BORN_MS + 4, messages([5, 6]), "");
    wall.nowMs += 1000;
    const floors = async () => [(await store.getRoom(ROOM))?.floor, (await store.getRoom(OTHER))?.floor];
    assert.equal(await store.prune(0, 3), 3);
    assert.deepEqual(await floors(), [BORN_MS + 3, BORN_MS]);
    assert.equal(await store.prune(0, 3), 3);
    assert.deepEqual(await floors(), [BORN_MS + 4, BORN_MS + 2]);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS + 4, [5, 6]));
    assert.deepEqual(await readAll(store, OTHER), stored(BORN_MS + 2, [3]));
    assert.equal(await store.prune(0, 4), 3);
    assert.equal(await store.prune(0, 4), 0);
  });

  test("finished rooms go first, longest finished first, each whole, then others' oldest messages", async (t) => {
    const { store, wall } = await subject(t);
    const names = ["open", "ended-second", "ended-first", "ended-late"];
    const claims = new Map<string, Hold>();
    for (const name of names) claims.set(name, await own(store, name));
    for (const half of [0, 3]) {
      for (const claim of claims.values()) {
        await store.append(claim, BORN_MS + half, messages([half, half + 1, half + 2]), "");
      }
    }
    for (const [atMs, name] of [
      [100, "ended-first"],
      [200, "ended-second"],
      [300, "ended-late"],
    ] as const) {
      wall.nowMs = BORN_MS + atMs;
      await store.finish({ key: name, epoch: claims.get(name)?.epoch ?? 0 }, ENDED);
    }
    wall.nowMs = BORN_MS + 350;
    const keptOf = () => Promise.all(names.map((name) => kept(store, name)));

    assert.equal(await store.prune(50, 4), 4);
    assert.deepEqual(await keptOf(), [
      [0, 6],
      [0, 6],
      [4, 6],
      [0, 6],
    ]);
    assert.deepEqual(await readAll(store, "ended-first"), stored(BORN_MS + 4, [4, 5]));
    assert.equal(await store.prune(50, 4), 4);
    assert.deepEqual(await keptOf(), [[0, 6], [2, 6], undefined, [0, 6]]);
    assert.deepEqual(await readAll(store, "ended-first"), []);
    assert.equal(await store.prune(50, 4), 4);
    assert.deepEqual(await keptOf(), [[0, 6], undefined, undefined, [0, 6]]);

    assert.equal(await store.prune(50, 4), 4);
    assert.deepEqual(await keptOf(), [[3, 6], undefined, undefined, [1, 6]]);
    assert.equal(await store.prune(50, 100), 8);
    assert.deepEqual(await keptOf(), [[6, 6], undefined, undefined, [6, 6]]);
  });

  test("a step that is done with finished rooms continues with old messages, up to its limit", async (t) => {
    const { store, wall } = await subject(t);
    const open = await own(store, OTHER);
    const ended = await own(store, ROOM);
    await store.append(open, BORN_MS, messages([1, 2, 3]), "");
    await store.append(ended, BORN_MS, messages([1, 2]), "");
    await store.finish(ended, RELEASED);
    wall.nowMs += 1;
    assert.equal(await store.prune(0, 4), 4);
    assert.equal(await store.getRoom(ROOM), undefined);
    assert.deepEqual(await kept(store, OTHER), [2, 3]);
    assert.equal(await store.prune(0, 4), 1);
    assert.equal(await store.prune(0, 4), 0);
  });

  test("a recently finished room keeps its place when its messages go", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "");
    wall.nowMs = BORN_MS + 500;
    await store.finish(claim, ENDED);
    assert.equal(await store.prune(499, 1), 1);
    assert.equal(await store.prune(0, 10), 1);
    assert.deepEqual(await kept(store, ROOM), [2, 2]);
    wall.nowMs = BORN_MS + 501;
    assert.equal(await store.prune(0, 10), 1);
    assert.equal(await store.getRoom(ROOM), undefined);
    assert.deepEqual(await readAll(store, ROOM), []);
  });

  test("finished rooms without messages also go, up to the limit of a step, and open ones stay", async (t) => {
    const { store, wall } = await subject(t);
    const names = ["one", "two", "three"];
    for (const name of [...names, OTHER]) {
      const hold = await own(store, name);
      await store.append(hold, hold.head, [], "");
      if (name !== OTHER) await store.finish(hold, ENDED);
    }
    wall.nowMs += 1;
    assert.equal(await store.prune(0, 2), 2);
    const left = await Promise.all(names.map((name) => store.getRoom(name)));
    assert.equal(left.filter((room) => room !== undefined).length, 1);
    assert.equal(await store.prune(0, 2), 1);
    assert.equal(await store.prune(0, 2), 0);
    assert.equal((await store.getRoom(OTHER))?.key, OTHER);
  });

  test("nothing goes, however old, if everything is kept", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const ended = await own(store, OTHER);
    await store.append(claim, BORN_MS, messages(["a"]), "");
    await store.append(ended, BORN_MS, messages(["a"]), "");
    await store.finish(ended, ENDED);
    wall.nowMs += 10 * 365 * DAY_MS;
    assert.equal(await store.prune(Number.POSITIVE_INFINITY, 10), 0);
    assert.deepEqual(
      [await kept(store, ROOM), await kept(store, OTHER)],
      [
        [0, 1],
        [0, 1],
      ],
    );
  });

  test("kept rooms lose nothing, however old; messages of other rooms from the same time are pruned", async (t) => {
    const { store, wall } = await subject(t);
    const names = ["kept-ended", "kept-open", "ended", "open"];
    const holds = new Map<string, Hold>();
    for (const name of names) holds.set(name, await own(store, name));
    const append = async (name: string, count: number) => {
      const hold = holds.get(name) as Hold;
      const { head } = (await store.getRoom(name)) ?? hold;
      await store.append(hold, head, messages(Array.from({ length: count }, (_, n) => head + n)), "");
    };
    for (const counts of [
      [70, 1, 0, 2],
      [30, 5, 3, 1],
      [20, 4, 2, 2],
    ])
      for (const [index, name] of names.entries()) await append(name, counts[index] ?? 0);
    for (const name of ["kept-ended", "kept-open"]) await store.keep(name);
    for (const name of ["kept-ended", "ended"]) await store.finish(holds.get(name) as Hold, ENDED);
    const listed = await store.listRooms(10);
    assert.deepEqual(
      listed
        .filter(({ isKept }) => isKept)
        .map(({ key }) => key)
        .sort(),
      names.slice(0, 2),
    );
    wall.nowMs += 365 * DAY_MS;
    await append("open", 1);
    wall.nowMs += 1;
    for (let step = 3; step === 3; ) step = await store.prune(30 * DAY_MS, 3);
    const left = await Promise.all(names.map((name) => kept(store, name)));
    assert.deepEqual(left, [[0, 120], [0, 10], undefined, [5, 6]]);
    assert.equal((await readAll(store, "kept-ended")).length, 120);
    wall.nowMs += 365 * DAY_MS;
    assert.equal(await store.prune(30 * DAY_MS, 100), 1);
    assert.equal(await store.prune(30 * DAY_MS, 100), 0);
    assert.equal((await store.age()).oldestAt, Number.POSITIVE_INFINITY);
  });

  test("a finished room that was taken again and is pruned meanwhile continues where its owner took it", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b"]), "");
    await store.finish(claim, ENDED);
    wall.nowMs += 1000;
    const again = await own(store, ROOM);
    await store.prune(0, 10);
    again.assertHeld();
    const added = await store.append(again, again.head, messages(["c"]), "");
    assert.deepEqual(added, stored(BORN_MS + 2, ["c"], wall.nowMs));
    assert.equal((await store.getRoom(ROOM))?.end, null);
    assert.deepEqual((await readAll(store, ROOM)).slice(-1), added);
  });

  test("a room that is taken again while it is half pruned stays, with its floor, and continues", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b", "c"]), "");
    await store.finish(claim, RELEASED);
    wall.nowMs += 1000;
    assert.equal(await store.prune(0, 2), 2);
    const again = await own(store, ROOM);
    const { base, floor, head } = again.room ?? {};
    assert.deepEqual([base, floor, head], [BORN_MS, BORN_MS + 2, BORN_MS + 3]);
    assert.equal(again.head, head);
    await store.append(again, BORN_MS + 3, messages(["d"]), "");
    assert.equal(await store.prune(0, 10), 1);
    assert.equal(await store.prune(0, 10), 0);
    assert.deepEqual(await kept(store, ROOM), [3, 4]);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS + 3, ["d"], wall.nowMs));
  });

  test("the remaining messages of a room stay in order, whatever was pruned and when", async (t) => {
    const { store, wall } = await subject(t);
    const one = await own(store, ROOM);
    const two = await own(store, OTHER);
    for (let n = 0; n < 6; n++) {
      wall.nowMs = BORN_MS + n;
      await store.append(one, BORN_MS + 2 * n, messages([2 * n, 2 * n + 1]), "");
      await store.append(two, BORN_MS + n, messages([n]), "");
    }
    assert.equal(await store.prune(4, 2), 2);
    await store.finish(one, RELEASED);
    wall.nowMs = BORN_MS + 6;
    assert.equal(await store.prune(0, 3), 3);
    const again = await own(store, ROOM);
    await store.append(again, BORN_MS + 12, [], "");
    assert.deepEqual(await kept(store, ROOM), [5, 12]);
    assert.equal(await store.prune(2, 4), 4);
    assert.deepEqual(
      await readAll(store, ROOM),
      [6, 7, 8, 9, 10, 11].flatMap((n) => stored(BORN_MS + n, [n], BORN_MS + Math.floor(n / 2))),
    );
    assert.deepEqual(
      await readAll(store, OTHER),
      [3, 4, 5].flatMap((n) => stored(BORN_MS + n, [n], BORN_MS + n)),
    );
    const added = await store.append(again, BORN_MS + 12, messages([5, 11, 12]), "");
    assert.deepEqual(added, stored(BORN_MS + 12, [5, 12], wall.nowMs));
  });

  for (const [count, step] of [
    [1, 1000],
    [30, 10],
  ] as const) {
    test(`${count} messages stored while the clock was ahead go with the next after them, ${step} a step`, async (t) => {
      const { store, wall } = await subject(t);
      const early = await own(store, OTHER);
      const live = await own(store, ROOM);
      wall.nowMs += 365 * DAY_MS;
      await store.append(early, BORN_MS, messages([...Array(count).keys()]), "");
      const keepDays = 30 * DAY_MS;
      const prune = async () => {
        let total = 0;
        for (let done: number = step; done === step; total += done) done = await store.prune(keepDays, step);
        return total;
      };
      wall.nowMs = BORN_MS;
      assert.equal(await prune(), 0);
      await store.append(live, BORN_MS, messages(["a", "b"]), "");
      wall.nowMs += keepDays;
      await store.append(live, BORN_MS + 2, messages(["c"]), "");
      assert.equal(await prune(), 0);
      wall.nowMs += 1;
      assert.equal(await prune(), count + 2);
      assert.deepEqual(await kept(store, OTHER), [count, count]);
      assert.deepEqual(await kept(store, ROOM), [2, 3]);
    });
  }

  test("a clock that is behind makes nothing old, whether it stores or prunes", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "");
    wall.nowMs -= 365 * DAY_MS;
    await store.append(claim, BORN_MS + 1, messages(["b"]), "");
    assert.equal(await store.prune(DAY_MS, 10), 0);
    wall.nowMs = BORN_MS + 1;
    await store.append(claim, BORN_MS + 2, messages(["c"]), "");
    assert.equal(await store.prune(1, 10), 0);
    assert.equal((await readAll(store, ROOM)).length, 3);
  });

  test("appends continue between the steps of a long pruning", async (t) => {
    const { store, wall } = await subject(t);
    const old = await own(store, OTHER);
    const live = await own(store, ROOM);
    await store.append(old, BORN_MS, messages([...Array(5000).keys()]), "");
    await store.finish(old, ENDED);
    wall.nowMs += 1;
    let isPruning = true;
    const pruning = (async () => {
      let steps = 1;
      while ((await store.prune(0, 20)) === 20) steps += 1;
      isPruning = false;
      return steps;
    })();
    let appends = 0;
    while (isPruning)
      appends += (await store.append(live, BORN_MS + appends, messages([appends]), "")).length;
    assert.equal(await pruning, 251);
    // How many is the machine's business; a store that pruned in one go would let one or two through.
    assert.ok(appends > 5, `${appends} appends`);
    assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, [...Array(appends).keys()], wall.nowMs));
  });

  test("a room that is created again begins above its old cursors, and its old owners are fenced", async (t) => {
    const { store, wall } = await subject(t);
    const old = await own(store, ROOM);
    await store.append(old, BORN_MS, messages(["a", "b"]), "");
    await store.finish(old, ENDED);
    wall.nowMs += 1000;
    await store.prune(0, 10);
    const reborn = await own(store, ROOM);
    assert.deepEqual([reborn.room, reborn.head], [undefined, BORN_MS + 1000]);
    assert.ok(reborn.epoch > old.epoch);
    await assert.rejects(store.finish(old, ENDED), isFenced);
    const added = await store.append(reborn, reborn.head, messages(["b", "a"]), "");
    assert.deepEqual(added, stored(BORN_MS + 1000, ["b", "a"], wall.nowMs));
  });

  test("a follower whose next message was pruned gets an error instead of skipping ahead", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a", "b", "c"]), "");
    wall.nowMs += 1;
    await store.prune(0, 2);
    await assert.rejects(followed(store, ROOM, BORN_MS + 1), /cursor/);
    assert.deepEqual(
      (await followed(store, ROOM, BORN_MS + 2, { count: 1 })).messages,
      stored(BORN_MS + 2, ["c"]),
    );
    await store.prune(0, 10);
    await assert.rejects(followed(store, ROOM, BORN_MS + 2), /cursor/);
  });

  test("a follower at the head does not notice that messages it has read were pruned", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "");
    wall.nowMs += 1;
    await store.prune(0, 10);
    const following = followed(store, ROOM, BORN_MS + 1);
    await store.append(claim, BORN_MS + 1, messages(["b"]), "");
    await store.finish(claim, ENDED);
    assert.deepEqual((await following).messages, stored(BORN_MS + 1, ["b"], wall.nowMs));
  });
}
