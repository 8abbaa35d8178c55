/** The cursors of a store in memory over restarts with a clock that was set back. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startSimulator } from "../../simulator/index.ts";
import { systemClock } from "../../src/base/clock.ts";
import { startRelay } from "../support/relay.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "set-back-12";
const MESSAGES = 20;
const DAY_MS = 86_400_000;

test("a store in memory does not repeat the cursors of the one before, although they come from the clock", async () => {
  await using upstream = await startSimulator();
  upstream.chat(VIDEO, { kinds: ["text"] }).say(MESSAGES);
  const now = Date.now();
  const clock = { ...systemClock, now: () => now }; // each start is at the time of the first one
  const known = new Set<number>();
  for (let start = 1; start <= 5; start++) {
    await using relay = await startRelay({ upstream, clock });
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO, lastEventId: 0 });
    await viewer.untilMessages(MESSAGES);
    for (const { cursor } of viewer.messages) {
      assert.ok(cursor >= now && cursor < now + DAY_MS + MESSAGES);
      assert.ok(!known.has(cursor), `${cursor} again`);
      known.add(cursor);
    }
  }
});
