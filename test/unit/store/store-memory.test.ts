/** The store without a disk keeps the stores' contract. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { message, own } from "../../support/store-reading.ts";
import { openFor, ROOM } from "../../support/store-subject.ts";
import { storeContract } from "./store-contract.ts";

storeContract("memory store", async (t, clock) => ({ store: await openFor(t, "memory:", clock) }), false, 60);

it("the memory store accepts more messages at once than a call has arguments", async (t) => {
  const store = await openFor(t, "memory:");
  const one = message("one");
  const many = Array.from({ length: 130_000 }, (_, n) => ({ ...one, id: `${n}` }));
  const added = await store.append(await own(store, ROOM), 0, many, "{}");
  assert.equal(added.length, many.length);
});
