/** What is still answered of a chat that is over, and of a video that has none. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Chat } from "../src/simulator/chat.ts";
import { metric, roomsIn, startRelay, type TestRelay } from "./support/relay.ts";
import { temporaryFolder } from "./support/store-subject.ts";
import { assertConsecutive, Stream, streamUrl } from "./support/stream.ts";

const VIDEO = "rooms-over-";
const TEXT = { kinds: ["text"], timeoutMs: 5 } as const;

const bootstraps = ({ upstream }: TestRelay) =>
  upstream.requests.filter(({ kind }) => kind === "popout").length;
const open = (relay: TestRelay, options: Partial<Parameters<typeof Stream.open>[1]> = {}) =>
  Stream.open(relay.url, { videoId: VIDEO, ...options });

/** The ids of all that a chat said, in order. */
const idsOf = ({ ledger }: Pick<Chat, "ledger">) => ledger.map(({ id }) => id);

describe("an ended room", () => {
  it("gives a viewer with a cursor what it missed, one without its backfill, then end", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(9);
    await using viewer = await open(relay);
    await viewer.untilMessages(9);
    chat.end("reload-only");
    await viewer.ended();
    await using resumed = await open(relay, { lastEventId: viewer.cursors[5] ?? 0 });
    await using fresh = await open(relay, { backfill: 2 });
    assert.equal((await resumed.ended())?.event, "end");
    assert.equal((await fresh.ended())?.event, "end");
    assert.deepEqual(resumed.messages, viewer.messages.slice(6));
    assert.deepEqual(fresh.messages, viewer.messages.slice(7));
    assert.equal(bootstraps(relay), 1);
  });

  it("after its grace: a viewer with a cursor gets what follows and end, one without NO_LIVE_CHAT", async () => {
    await using relay = await startRelay({ settings: { RELAY_GRACE_MS: "1" } });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(9);
    await using viewer = await open(relay);
    await viewer.untilMessages(9);
    chat.end("reload-only");
    await viewer.ended();
    await roomsIn(relay, "ended", 0);
    await using resumed = await open(relay, { lastEventId: viewer.cursors[5] ?? 0 });
    assert.equal((await resumed.ended())?.event, "end");
    assert.deepEqual(resumed.messages, viewer.messages.slice(6));
    assert.equal((await fetch(streamUrl(relay.url, { videoId: VIDEO }))).status, 404);
  });
});

describe("a replay", () => {
  for (const replayRenderer of ["liveChatReplayRenderer", "liveChatRenderer"] as const) {
    it(`(${replayRenderer}) is sent whole to the viewer that opens it, whatever its backfill, then ends`, async () => {
      await using relay = await startRelay();
      const chat = relay.upstream.chat(VIDEO, {
        ...TEXT,
        kind: "replay",
        replayRenderer,
        page: 5,
        pageSize: 40,
      });
      chat.say(300);
      await using viewer = await open(relay, { backfill: 0 });
      assert.equal((await viewer.ended())?.event, "end");
      assert.equal(viewer.init.chatType, "liveChatReplayRenderer");
      assert.deepEqual(viewer.ids, idsOf(chat));
      assertConsecutive(viewer.cursors, viewer.init.cursor);
      const [first] = relay.upstream.requests.filter(({ client, status }) => client && status === 200);
      assert.match(first?.body ?? "", /"playerOffsetMs":"0"/, "read from its beginning");
    });
  }

  it("is sent whole to whoever neither holds a cursor nor names a backfill: open, kept, or in the store", async () => {
    await using relay = await startRelay({ settings: { RELAY_GRACE_MS: "150", RELAY_POLL_MIN_MS: "30" } });
    const chat = relay.upstream.chat(VIDEO, { ...TEXT, kind: "replay", pageSize: 40, timeoutMs: 30 });
    chat.say(200);
    await using opener = await open(relay);
    await opener.untilMessages(80);
    await using during = await open(relay);
    await using named = await open(relay, { backfill: 2 });
    assert.equal((await opener.ended())?.event, "end");
    await roomsIn(relay, "ended");
    await using kept = await open(relay);
    await roomsIn(relay, "ended", 0);
    await using stored = await open(relay);
    for (const viewer of [opener, during, kept, stored]) {
      assert.equal((await viewer.ended())?.event, "end");
      assert.deepEqual(viewer.ids, idsOf(chat));
    }
    await named.ended();
    assert.notEqual(named.ids[0], chat.ledger[0]?.id);
  });

  it("that is over is one room with shared reads, however many watch it", async (t) => {
    const settings = {
      RELAY_GRACE_MS: "1",
      RELAY_STORE: `sqlite:${join(await temporaryFolder(t), "relay.db")}`,
    };
    await using relay = await startRelay({ settings });
    const chat = relay.upstream.chat(VIDEO, { ...TEXT, kind: "replay", page: 5, pageSize: 500 });
    chat.say(2000);
    await using viewer = await open(relay);
    await viewer.ended();
    await roomsIn(relay, "ended", 0);
    const reads = async () => (await metric(relay, `relay_store_operations_total{kind="read"}`)) ?? 0;
    const before = await reads();
    const viewers = await Promise.all(Array.from({ length: 10 }, () => open(relay)));
    for (const again of viewers) assert.equal((await again.ended())?.event, "end");
    for (const again of viewers) assert.equal(again.messages.length, 2000);
    assert.ok((await reads()) - before <= 25, `${(await reads()) - before} reads`);
  });

  it("read to its end answers from the store for an hour, without upstream calls", async () => {
    await using relay = await startRelay({ settings: { RELAY_GRACE_MS: "1" } });
    const chat = relay.upstream.chat(VIDEO, { ...TEXT, kind: "replay", pageSize: 40 });
    chat.say(100);
    await using viewer = await open(relay);
    await viewer.ended();
    await roomsIn(relay, "ended", 0);
    const calls = relay.upstream.requests.length;
    for (const [backfill, expected] of [
      [undefined, viewer.messages],
      [3, viewer.messages.slice(-3)],
    ] as const) {
      await using again = await open(relay, backfill === undefined ? {} : { backfill });
      assert.equal((await again.ended())?.event, "end");
      assert.deepEqual(again.messages, expected);
    }
    assert.equal(relay.upstream.requests.length, calls);
  });
});

describe("a video without a chat", () => {
  it("is answered from memory, with Retry-After, until RELAY_NO_CHAT_MS is over", async () => {
    await using relay = await startRelay({ settings: { RELAY_NO_CHAT_MS: "400" } });
    relay.upstream.chat(VIDEO, { ...TEXT, kind: "disabled" });
    const ask = async () => {
      const { status, headers, ...response } = await fetch(streamUrl(relay.url, { videoId: VIDEO }));
      return { status, retryAfter: headers.get("retry-after"), ...response };
    };
    assert.equal((await ask()).status, 404);
    const calls = relay.upstream.requests.length;
    assert.deepEqual(await ask(), { status: 404, retryAfter: "1" });
    assert.equal(relay.upstream.requests.length, calls);
    relay.upstream.chat(VIDEO, TEXT).say(1);
    const session = await fetch(`${relay.url}/v1/sessions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ videoId: VIDEO }),
    });
    assert.equal(session.status, 200);
    while ((await ask()).status === 404);
    await using viewer = await open(relay);
    await viewer.untilMessages(1);
  });

  it("is looked at again at once where something else came in place of its page", async () => {
    await using relay = await startRelay({ settings: { RELAY_NO_CHAT_MS: "60000" } });
    relay.upstream.chat(VIDEO, TEXT).say(1);
    for (const on of ["popout", "watch"] as const) relay.upstream.fault({ on, times: 1, as: "html" });
    assert.equal((await fetch(streamUrl(relay.url, { videoId: VIDEO }))).status, 404);
    await using viewer = await open(relay);
    await viewer.untilMessages(1);
  });

  it("costs the upstream one look for all that come back with a cursor of its room", async () => {
    await using relay = await startRelay({ settings: { RELAY_GRACE_MS: "1", RELAY_NO_CHAT_MS: "60000" } });
    const chat = relay.upstream.chat(VIDEO, TEXT);
    chat.say(9);
    await using viewer = await open(relay);
    await viewer.untilMessages(9);
    chat.end("reload-only");
    await viewer.ended();
    await roomsIn(relay, "ended", 0);
    const calls = async (work: () => Promise<void>) => {
      const before = relay.upstream.requests.length;
      await work();
      return relay.upstream.requests.length - before;
    };
    const comeBack = async () => {
      await using back = await open(relay, { lastEventId: viewer.cursors[5] ?? 0 });
      assert.equal((await back.ended())?.event, "end");
      assert.deepEqual(back.messages, viewer.messages.slice(6));
    };
    assert.ok((await calls(comeBack)) > 0);
    assert.equal(await calls(async () => void (await Promise.all(Array.from({ length: 10 }, comeBack)))), 0);
    assert.equal(
      await calls(async () => {
        assert.equal((await fetch(streamUrl(relay.url, { videoId: VIDEO }))).status, 404);
      }),
      0,
    );
  });
});
