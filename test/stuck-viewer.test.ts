/** A viewer that takes nothing is cut off, and with it goes what the system holds for it. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { longActions } from "../chaos/long-messages.ts";
import { startRelay } from "./support/relay.ts";
import { Stream } from "./support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const MESSAGES = 600;

it("a viewer that is cut is reset: nobody goes on offering what it did not take", {
  timeout: 30_000,
}, async () => {
  await using relay = await startRelay({ stallMs: 300 });
  const chat = relay.upstream.chat(VIDEO, { timeoutMs: 10 });
  await using witness = await Stream.open(relay.url, { videoId: VIDEO });
  for (let said = 0; said < MESSAGES; said += 200) {
    chat.say(longActions(said, 200));
    await witness.untilMessages(said + 200);
  }
  const stuck = connect({ host: "127.0.0.1", port: Number(new URL(relay.url).port) });
  stuck.pause();
  stuck.write(`GET /v1/stream?videoId=${VIDEO} HTTP/1.1\r\nHost: relay\r\nLast-Event-ID: 0\r\n\r\n`);
  const dropped = relay.telemetry.registry.getSingleMetric("relay_viewers_dropped_total");
  const limit = AbortSignal.timeout(10_000);
  while ((await dropped?.get())?.values[0]?.value !== 1) {
    assert.ok(!limit.aborted, "it was not cut");
    await pause(10);
  }

  const received = stuck.resume().toArray();
  await assert.rejects(received, { code: "ECONNRESET" });
});
