/** The cursors of a store in memory over restarts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startSimulator } from "../../simulator/index.ts";
import { startRelay } from "../support/relay.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "in-memory-1";
const MESSAGES = 20;

test("a store in memory begins with cursors of the clock, above those of the one before", async () => {
  await using upstream = await startSimulator();
  upstream.chat(VIDEO, { kinds: ["text"] }).say(MESSAGES);
  let last = Date.now();
  for (let start = 1; start <= 3; start++) {
    await using relay = await startRelay({ upstream });
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO, lastEventId: last });
    await viewer.untilMessages(MESSAGES);
    const cursors = viewer.messages.map(({ cursor }) => cursor);
    assert.ok((cursors[0] ?? 0) > last && (cursors[0] ?? 0) <= Date.now() + 1, `${cursors[0]} after ${last}`);
    last = cursors.at(-1) ?? last;
  }
});
