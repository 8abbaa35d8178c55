/**
 * Ten minutes in which the upstream answers nothing of use: what 25 rooms at default settings and their
 * viewers see of it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { VirtualRelay } from "../../../harness/virtual-relay.ts";
import { failAlways } from "../../../support/opening.ts";
import { assertConsecutive } from "../../../support/stream.ts";

const ROOMS = 25;
const OPENED_MS = 60_000;
const OUTAGE_MS = 600_000;
const BACK_MS = 35_000;
const EVERYTHING = ["sw.js", "sw.js_data", "popout", "watch", "next", "get_live_chat"] as const;

interface Outage {
  begin: (relay: VirtualRelay) => () => void;
  /** How many calls the upstream is asked in it at most. */
  maxCalls: number;
}

const OUTAGES: Record<string, Outage> = {
  "HTTP 503": {
    begin: (relay) => failAlways(relay, EVERYTHING, { status: 503 }),
    maxCalls: 120,
  },
  "no answer": {
    begin: ({ network }) => {
      network.silentUntil = Number.POSITIVE_INFINITY;
      return () => network.calm();
    },
    maxCalls: 120,
  },
  "no connection": {
    begin: ({ network }) => {
      network.refusesUntil = Number.POSITIVE_INFINITY;
      return () => network.calm();
    },
    maxCalls: 200, // they reach nobody
  },
};

/** The number of calls that have ended, including those that reached nothing. */
async function callsOf({ telemetry }: VirtualRelay): Promise<number> {
  const told = await telemetry.registry.getSingleMetricAsString("relay_upstream_calls_total");
  return [...told.matchAll(/^relay_upstream_calls_total{.*} (\d+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  );
}

describe("an outage of ten minutes fails no room, drops no viewer, and rooms are read again in 35 s", () => {
  for (const [outage, which, expired] of [
    ["HTTP 503", "half of the tokens have expired", (i: number) => i % 2 === 0],
    ["no answer", "all tokens have expired", () => true],
    ["no connection", "no token has expired", () => false],
  ] as const) {
    it(`${outage}, and ${which}`, async () => {
      const { begin, maxCalls } = OUTAGES[outage] ?? assert.fail();
      const relay = new VirtualRelay();
      const chats = Array.from({ length: ROOMS }, (_, i) => {
        const videoId = `outage-${i}`.padEnd(11, "-");
        const timeoutMs = i % 2 === 0 ? 5000 : 10_000;
        return relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs, tokens: "reusable" });
      });
      const viewers = chats.map((chat) => {
        chat.speak(0.1);
        return relay.visit({ videoId: chat.videoId, address: chat.videoId });
      });
      await relay.advance(OPENED_MS);

      const before = await callsOf(relay);
      const end = begin(relay);
      await relay.advance(OUTAGE_MS);
      const calls = (await callsOf(relay)) - before;
      assert.ok(calls > 40 && calls <= maxCalls, `${calls} calls`);
      for (const [i, chat] of chats.entries()) if (expired(i)) chat.expireTokens();
      end();
      const lastWords = chats.map((chat) => chat.say(1)[0]);
      await relay.advance(BACK_MS);

      assert.deepEqual(
        viewers.map(({ ids }, i) => ids.includes(lastWords[i] ?? "")),
        viewers.map(() => true),
      );
      for (const viewer of viewers) {
        assert.equal(viewer.sink.closedBy, undefined);
        assertConsecutive(viewer.cursors, viewer.init.cursor);
      }
      const states = (await relay.list.all()).map(({ state }) => state);
      assert.deepEqual(new Set(states), new Set(["polling"]));
    });
  }
});

it("a room entered in an outage is read within three seconds of the end, whenever that comes", async () => {
  const cases = [0, 1, 2, 3, 4].flatMap((room) => [0, 1000, 7500].map((moreMs) => ({ room, moreMs })));
  for (const { room, moreMs } of cases) {
    const relay = new VirtualRelay();
    const videos = [0, 1, 2, 3, 4].map((n) => `outage-se-${n}`);
    const chats = videos.map((video) => relay.upstream.chat(video, { kinds: ["text"], timeoutMs: 5000 }));
    for (const { videoId } of chats) relay.visit({ videoId, address: videoId });
    await relay.advance(OPENED_MS);
    const end = failAlways(relay, EVERYTHING, { status: 503 });
    await relay.advance(OPENED_MS + moreMs); // tries are up to ten seconds apart by then
    end();
    const [lastWords = ""] = chats[room]?.say(1) ?? [];
    const late = relay.visit({ videoId: videos[room] ?? "" });
    await relay.advance(3000);
    assert.ok(late.ids.includes(lastWords), `room ${room}, ${moreMs} ms`);
  }
});
