/** Pages of a room's log, as its readers check them. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import { readPage } from "../../../src/serving/room-log.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { messages, own } from "../../support/store-reading.ts";

const ROOM = "read-by-page";

it("a page that lacks messages which are still stored is an error", async () => {
  const store = memoryStore(systemClock);
  const claim = await own(store, ROOM);
  const base = claim.head;
  await store.append(claim, base, messages(["a", "b", "c"]), "{}");
  const log = {
    read: (videoId: string, after: number, limit: number) => store.read(videoId, after + 1, limit),
    getRoom: (videoId: string) => store.getRoom(videoId),
  };
  await assert.rejects(readPage(log, ROOM, base, base + 3), /the store skips from cursor \d+ to \d+ in room/);
  await store.prune(-1000, 1);
  assert.equal((await readPage(log, ROOM, base, base + 3)).length, 2);
});
