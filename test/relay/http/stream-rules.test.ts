/** The specification's tables for `GET /v1/stream`: rules, headers, frames and backfill, row by row. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream, streamUrl } from "../../support/stream.ts";

const VIDEO = "stream-rule";
const KINDS = ["text"] as const;

/** A relay with an open room whose history holds this many messages. */
async function roomWith(history: number, options: Parameters<typeof startRelay>[0] = {}) {
  const relay = await startRelay(options);
  const chat = relay.upstream.chat(VIDEO, { kinds: KINDS, page: history, timeoutMs: 5 });
  chat.say(history);
  const witness = await Stream.open(relay.url, { videoId: VIDEO, backfill: 0 });
  await witness.until(() => witness.frames.length > 0);
  return {
    relay,
    chat,
    witness,
    ids: () => chat.ledger.map(({ id }) => id),
    async [Symbol.asyncDispose]() {
      await witness.close();
      await relay[Symbol.asyncDispose]();
    },
  };
}

type OpenRoom = Awaited<ReturnType<typeof roomWith>>;

/** One room for all tests of a suite that say nothing in it: it is there from their beginning on. */
function sharedRoom(history: number): () => OpenRoom {
  let room: OpenRoom;
  before(async () => {
    room = await roomWith(history);
  });
  after(() => room[Symbol.asyncDispose]());
  return () => room;
}

const refusal = async (relay: TestRelay, query: string, init?: RequestInit) => {
  const response = await fetch(`${relay.url}/v1/stream?${query}`, init);
  return { status: response.status, ...((await response.json()) as { code: string; message: string }) };
};

describe("success response headers", () => {
  it("are status 200 and the four that the specification names, and allow any origin", async () => {
    await using room = await roomWith(1);
    const { status, headers } = room.witness.response;
    assert.equal(status, 200);
    assert.equal(headers.get("content-type"), "text/event-stream");
    assert.equal(headers.get("cache-control"), "no-cache");
    assert.equal(headers.get("connection"), "keep-alive");
    assert.equal(headers.get("x-accel-buffering"), "no");
    assert.equal(headers.get("access-control-allow-origin"), "*");
  });
});

describe("frames in order", () => {
  it("are retry: 3000, init, history oldest first, live, end", async () => {
    // Uncompressed, because the test counts the bytes as sent.
    await using room = await roomWith(10, { settings: { RELAY_COMPRESSION: "off" } });
    await using stream = await Stream.open(room.relay.url, { videoId: VIDEO, backfill: 4 });
    await stream.untilMessages(4);
    room.chat.say(3);
    await stream.untilMessages(7);
    room.chat.end("reload-only");
    assert.deepEqual(await stream.ended(), {
      event: "end",
      id: undefined,
      data: { reason: "no more continuations" },
    });
    assert.ok(stream.raw.startsWith("retry: 3000\n\nevent: init\ndata: {"));
    await room.witness.ended();
    const counted = await room.relay.telemetry.registry.getSingleMetric("relay_sent_bytes_total")?.get();
    const sent = Buffer.byteLength(stream.raw) + Buffer.byteLength(room.witness.raw);
    assert.equal(counted?.values[0]?.value, sent, "every byte is counted, the last frame included");
    assert.equal(stream.retryMs, 3000);
    assert.deepEqual(
      stream.frames.map(({ event }) => event),
      ["init", ...Array(7).fill("message"), "end"],
    );
    assert.deepEqual(stream.ids, room.ids().slice(6));
    const { init } = stream;
    assert.deepEqual(init, { videoId: VIDEO, chatType: "liveChatRenderer", cursor: init.cursor });
  });

  it("carry a keepalive comment at the interval", async () => {
    await using room = await roomWith(1, { settings: { RELAY_KEEPALIVE_MS: "20" } });
    await room.witness.until(() => room.witness.comments.length >= 3);
    assert.deepEqual(new Set(room.witness.comments), new Set(["keepalive"]));
    assert.match(room.witness.raw, /^: keepalive\n\n/m);
  });

  it("give a message exactly the eight fields, and details on request", async () => {
    await using room = await roomWith(2);
    const eight = ["type", "id", "timestamp", "author", "message", "amount", "color", "parts"];
    await using plain = await Stream.open(room.relay.url, { videoId: VIDEO, backfill: 1 });
    await using detailed = await Stream.open(room.relay.url, { videoId: VIDEO, backfill: 1, details: true });
    const [one] = await plain.untilMessages(1);
    const [other] = await detailed.untilMessages(1);
    assert.deepEqual(Object.keys(one?.message ?? {}), eight);
    assert.deepEqual(Object.keys(other?.message ?? {}), [...eight, "details"]);
    assert.equal(other?.message.details?.upstreamKind, "liveChatTextMessageRenderer");
  });

  it("never carry a key, a client version or a token", async () => {
    await using room = await roomWith(20);
    await using stream = await Stream.open(room.relay.url, { videoId: VIDEO, details: true });
    room.chat.say(20);
    await stream.untilMessages(40);
    const { apiKey, clientVersion, visitorData } = room.relay.upstream.credentials;
    const tokens = room.relay.upstream.requests
      .map(({ continuation }) => continuation)
      .filter((t) => t !== undefined);
    assert.ok(tokens.length > 0);
    for (const secret of [apiKey, clientVersion, visitorData, ...tokens])
      assert.ok(!stream.raw.includes(secret));
  });
});

describe("rule 1: a valid cursor in Last-Event-ID", () => {
  it("resumes from exactly after it instead of sending the last N messages", async () => {
    await using room = await roomWith(30);
    await using first = await Stream.open(room.relay.url, { videoId: VIDEO, backfill: 30 });
    const all = await first.untilMessages(30);
    for (const seen of [1, 15, 29]) {
      const lastEventId = all[seen - 1]?.cursor ?? 0;
      await using resumed = await Stream.open(room.relay.url, { videoId: VIDEO, backfill: 2, lastEventId });
      await resumed.untilMessages(30 - seen);
      assert.equal(resumed.init.cursor, lastEventId);
      assert.deepEqual(resumed.messages, all.slice(seen));
    }
  });

  it("sends nothing old to a reader that has everything, then the new messages", async () => {
    await using room = await roomWith(5);
    const lastEventId = room.witness.init.cursor;
    await using resumed = await Stream.open(room.relay.url, { videoId: VIDEO, lastEventId });
    room.chat.say(1);
    await resumed.untilMessages(1);
    assert.deepEqual(resumed.cursors, [lastEventId + 1]);
  });

  it("takes 0 for all stored messages", async () => {
    await using room = await roomWith(12);
    await using resumed = await Stream.open(room.relay.url, { videoId: VIDEO, backfill: 1, lastEventId: 0 });
    await resumed.untilMessages(12);
    assert.deepEqual(resumed.ids, room.ids());
  });

  it("resumes far below the messages in memory, page after page from the store", async () => {
    await using room = await roomWith(10);
    room.chat.say(1500);
    await room.witness.untilMessages(1500);
    await using resumed = await Stream.open(room.relay.url, { videoId: VIDEO, lastEventId: 0 });
    await resumed.untilMessages(1510);
    assert.deepEqual(resumed.ids, room.ids());
  });
});

describe("lastEventId in the query", () => {
  const shared = sharedRoom(8);
  const rows: [string, (cursor: number) => number | string | undefined, number][] = [
    ["resumes as the header does", () => undefined, 0],
    ["is ignored if there is a header", (cursor) => cursor + 3, 3],
    ["applies if the header is not a cursor", () => "abc", 0],
  ];
  for (const [name, header, start] of rows) {
    it(name, async () => {
      const room = shared();
      const cursor = room.witness.init.cursor - 7; // the first of the eight
      const lastEventId = header(cursor);
      const options = { videoId: VIDEO, backfill: 1, inQuery: cursor };
      await using stream = await Stream.open(room.relay.url, {
        ...options,
        ...(lastEventId === undefined ? {} : { lastEventId }),
      });
      assert.equal((await stream.untilMessages(1))[0]?.cursor, cursor + start + 1);
    });
  }

  it("that is not a cursor counts as absent, however long it is", async () => {
    const room = shared();
    const options = { videoId: VIDEO, backfill: 3, inQuery: "1".repeat(2000) };
    await using stream = await Stream.open(room.relay.url, options);
    await stream.untilMessages(3);
    assert.deepEqual(stream.ids, room.ids().slice(-3));
  });
});

describe("rule 2: a Last-Event-ID that is treated as absent", () => {
  const shared = sharedRoom(8);
  const rows: [string, (head: number) => string][] = [
    ["malformed", () => "abc"],
    ["negative", () => "-1"],
    ["empty", () => ""],
    ["fractional", (head) => `${head}.5`],
    ["with trailing letters", (head) => `${head}abc`],
    ["in exponent form", () => "1e3"],
    ["beyond what numbers hold", () => "99999999999999999999"],
    ["above the room's head", (head) => String(head + 1)],
    ["below the room's beginning (of a lost store)", () => "5"],
  ];
  for (const [name, text] of rows) {
    it(`${name}: backfill applies, and init.cursor differs from it`, async () => {
      const room = shared();
      const lastEventId = text(room.witness.init.cursor);
      await using stream = await Stream.open(room.relay.url, { videoId: VIDEO, backfill: 3, lastEventId });
      await stream.untilMessages(3);
      assert.deepEqual(stream.ids, room.ids().slice(-3));
      assert.notEqual(String(stream.init.cursor), lastEventId);
    });
  }
});

describe("rule 3: every message after init has a cursor greater than init.cursor", () => {
  it("by one, and by one from message to message, across history and live", async () => {
    await using room = await roomWith(40);
    await using stream = await Stream.open(room.relay.url, { videoId: VIDEO });
    for (let burst = 0; burst < 10; burst++) {
      room.chat.say(7);
      await stream.untilMessages(40 + 7 * (burst + 1));
    }
    assert.deepEqual(stream.ids, room.ids());
  });
});

describe("rule 4: anything visible on the live stream can be read back after a reconnect", () => {
  it("at the moment it is seen", async () => {
    await using room = await roomWith(1);
    for (let i = 0; i < 20; i++) {
      room.chat.say(1);
      const [seen] = (await room.witness.untilMessages(i + 1)).slice(-1);
      const lastEventId = (seen?.cursor ?? 0) - 1;
      await using again = await Stream.open(room.relay.url, { videoId: VIDEO, lastEventId });
      assert.deepEqual((await again.untilMessages(1))[0], seen);
    }
  });
});

describe("rule 5: failures before the stream opens are JSON errors with real status codes", () => {
  const shared = sharedRoom(1);
  const rows: [string, number, string][] = [
    ["", 400, "INVALID_REQUEST"],
    ["videoId=", 400, "INVALID_VIDEO_ID"],
    ["videoId=tooshort", 400, "INVALID_VIDEO_ID"],
    [`videoId=${VIDEO}x`, 400, "INVALID_VIDEO_ID"],
    ["videoId=https%3A%2F%2Fexample.com%2Fwatch%3Fv%3Dabcdefghijk", 400, "INVALID_VIDEO_ID"],
    [`videoId=${VIDEO}&videoId=${VIDEO}`, 400, "INVALID_REQUEST"],
    [`videoId=${VIDEO}&backfill=1&backfill=2`, 400, "INVALID_REQUEST"],
    [`videoId=${VIDEO}&details=yes`, 400, "INVALID_REQUEST"],
    ["videoId=not-a-chat_", 404, "NO_LIVE_CHAT"],
  ];
  for (const [query, status, code] of rows) {
    it(`?${query} is ${status} ${code}`, async () => {
      const answer = await refusal(shared().relay, query);
      assert.deepEqual([answer.status, answer.code], [status, code]);
      assert.deepEqual(Object.keys(answer), ["status", "code", "message"]);
      assert.ok(answer.message.length > 10, answer.message);
    });
  }
});

describe("rule 6: an SSE client reconnects after an end frame unless it closes itself", () => {
  it("and one that does gets no message, and the end again", async () => {
    await using room = await roomWith(3);
    room.chat.end("reload-only");
    await room.witness.ended();
    const { cursor: lastEventId } = room.witness.init;
    await using again = await Stream.open(room.relay.url, { videoId: VIDEO, lastEventId });
    assert.equal((await again.ended())?.event, "end");
    assert.deepEqual(again.messages, []);
    assert.equal(again.init.cursor, lastEventId);
  });
});

describe("backfill normalization", () => {
  const shared = sharedRoom(1);
  const HISTORY = 520;
  const used: [string | undefined, number][] = [
    ["50", 50],
    ["501", 500],
    ["1000000", 500],
    ["1e400", 500],
    ["Infinity", 500],
    ["500", 500],
    ["-1", 0],
    ["-0.5", 0],
    ["-1e400", 0],
    ["0", 0],
    ["2.999999", 2],
    ["1e2", 100],
    ["0x10", 16],
    [" 7 ", 7],
    [undefined, 50],
  ];
  it("uses the table's value for each number sent", async () => {
    await using room = await roomWith(HISTORY);
    for (const [sent, expected] of used) {
      const before = room.chat.ledger.length;
      await using stream = await Stream.open(room.relay.url, {
        videoId: VIDEO,
        ...(sent === undefined ? {} : { backfill: sent }),
      });
      await stream.until(() => stream.frames.length > 0);
      room.chat.say(1);
      await stream.until(() => stream.ids.at(-1) === room.ids().at(-1), `the live message after ${sent}`);
      assert.equal(stream.messages.length - 1, Math.min(expected, before), `backfill=${sent}`);
    }
  });

  for (const sent of ["abc", "", " ", "12abc", "1,000", "NaN", "--1", "null", "1n"]) {
    it(`"${sent}", not a number, is rejected with 400 INVALID_REQUEST`, async () => {
      const answer = await refusal(shared().relay, `videoId=${VIDEO}&backfill=${encodeURIComponent(sent)}`);
      assert.deepEqual([answer.status, answer.code], [400, "INVALID_REQUEST"]);
      assert.match(answer.message, /backfill/);
    });
  }
});

describe("the stream", () => {
  it("does not open a stream for HEAD", async () => {
    await using room = await roomWith(1);
    const response = await fetch(streamUrl(room.relay.url, { videoId: VIDEO }), { method: "HEAD" });
    assert.equal(response.status, 405);
  });
});
