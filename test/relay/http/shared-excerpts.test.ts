/**
 * Many who read the stored part of a chat whose room is not opened for them, with `until=now` or as the log
 * of a chat that is over: they share its pages.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { ENDED } from "../../../src/protocol/chat.ts";
import { several, withRoom } from "../../support/history.ts";
import { ROOM } from "../../support/store-subject.ts";

const MESSAGES = 400;
const READERS = 60;
/** Of 100 messages each. */
const PAGES = MESSAGES / 100;
/** Between two rounds of the rooms, at which those that nobody is reading now drop their pages. */
const ROUND_MS = 1000;

/** The time of readers that come within a second, however long they take: no round comes. */
const withinASecond: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms === ROUND_MS ? 3_600_000 : ms, signal),
};

const READ = {
  "until=now": `/v1/stream?videoId=${ROOM}&until=now`,
  "until=now from a time": `/v1/stream?videoId=${ROOM}&until=now&from=0`,
  "long polls of a closed log": `/v1/log/${ROOM}?offset=-1&live=long-poll`,
  "events of a closed log": `/v1/log/${ROOM}?offset=-1&live=sse`,
};

describe("readers of a stored part share its pages", { timeout: 60_000 }, () => {
  for (const [name, path] of Object.entries(READ)) {
    it(`(${name})`, async (t) => {
      const { url, store, claim } = await withRoom(t, several(MESSAGES), {}, {}, withinASecond);
      await store.finish(claim, ENDED);
      let reads = 0;
      const { read } = store;
      store.read = (...args) => {
        reads += 1;
        return read(...args);
      };
      const texts = await Promise.all(
        Array.from({ length: READERS }, async () => await (await fetch(url + path)).text()),
      );
      assert.equal(new Set(texts).size, 1);
      assert.ok(texts[0]?.includes("says 0"));
      assert.ok(reads <= 5 * PAGES, `${reads} reads of the store by ${READERS} readers`);
    });
  }
});
