/** Parts of a log as its readers check them. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import { readPart } from "../../../src/store/log-reader.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { messages, own } from "../../support/store-reading.ts";

const ROOM = "read-by-page";

it("a page that lacks messages which are still stored is an error", async () => {
  const store = memoryStore(systemClock);
  const claim = await own(store, ROOM);
  const base = claim.head;
  await store.append(claim, base, messages(["a", "b", "c"]), "{}");
  const log: Parameters<typeof readPart>[0] = {
    read: (key, after, limit) => store.read(key, after + 1, limit),
    readTypes: () => assert.fail("all types are read"),
    getRoom: (key) => store.getRoom(key),
  };
  const range = { types: undefined, after: base, to: base + 3, limit: 3, isNewest: false };
  await assert.rejects(readPart(log, ROOM, range), /the store skips from cursor \d+ to \d+ in room/);
  await store.prune(-1000, 1);
  const { messages: left, after, to } = await readPart(log, ROOM, range);
  assert.deepEqual([left.length, after, to], [2, base, base + 3]);
});
