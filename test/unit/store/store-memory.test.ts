/** The store without a disk keeps the stores' contract. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { messages, own } from "../../support/store-reading.ts";
import { BORN_MS, OTHER, openFor, ROOM, wallAt } from "../../support/store-subject.ts";
import { storeContract } from "./store-contract.ts";

storeContract(
  "memory store",
  async (t, clock) => ({ store: await openFor(t, "memory:", clock) }),
  false,
  200,
);

it("the memory store accepts more messages at once than a call has arguments", async (t) => {
  const store = await openFor(t, "memory:");
  const many = messages([...Array(130_000).keys()]);
  const added = await store.append(await own(store, ROOM), 0, many, "{}");
  assert.equal(added.length, many.length);
});

it("the memory store deletes an open room with its last message once nobody owns it", async (t) => {
  const wall = wallAt(BORN_MS);
  const store = await openFor(t, "memory:", wall);
  const [owned, left] = [await own(store, OTHER), await own(store, ROOM)];
  for (const hold of [owned, left]) await store.append(hold, hold.head, messages(["a", "b"]), "{}");
  await left.giveBack();
  wall.nowMs += 1000;
  assert.equal(await store.prune(1000, 10), 0);
  wall.nowMs += 1;
  assert.equal(await store.prune(1000, 1), 1);
  assert.equal((await store.getRoom(ROOM))?.floor, left.head + 1);
  assert.equal(await store.prune(1000, 10), 3);
  assert.equal(await store.getRoom(ROOM), undefined);
  assert.equal((await store.getRoom(OTHER))?.floor, owned.head + 2);
});
