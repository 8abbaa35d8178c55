/** What holds for every answer of a log, and for every value that a reader or an operator may choose. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { toConfig } from "../../../src/cli/config.ts";
import { readFlags, UsageError } from "../../../src/cli/flags.ts";
import { SETTINGS } from "../../../src/cli/setting-table.ts";
import { RequestTurns } from "../../../src/http/connections/request-turns.ts";
import { LogReads } from "../../../src/http/log/log-reads.ts";
import { PAGES } from "../../../src/http/route-bounds.ts";
import { History } from "../../../src/serving/history/history.ts";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { SimulatedSink } from "../../harness/sink.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { B, withRoom } from "../../support/history.ts";
import { type LogAnswer, readEvents, readLog } from "../../support/log.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { ROOM } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "logged-rule";
const NO_CHAT = "not-a-chat_";
const EXPOSED = ["Stream-Next-Offset", "Stream-Cursor", "Stream-Up-To-Date", "Stream-Closed", "ETag"];
const LIVE = { live: "long-poll" };

/** An answer: its request, its status, and `Cache-Control`, which an answer without a place has not. */
type Row = [
  what: string,
  ask: () => Promise<LogAnswer>,
  status: number,
  cacheControl: string | null,
  hasTag?: boolean,
];

describe("every answer of a log", { timeout: 300_000 }, () => {
  let relay: TestRelay;
  let viewer: Stream;
  let first: LogAnswer;

  before(async () => {
    relay = await startRelay({ settings: { RELAY_LONG_POLL_MS: "1000", RELAY_LOG_SSE_MS: "1" } });
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
    viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.untilMessages(3);
    first = await readLog(relay.url, VIDEO);
  });

  after(async () => {
    await viewer[Symbol.asyncDispose]();
    await relay[Symbol.asyncDispose]();
  });

  const read = (query: Record<string, string> = {}, init: RequestInit = {}, videoId = VIDEO) =>
    readLog(relay.url, videoId, query, init);
  const ahead = () => offsetOf(Number(first.next) + 1);
  const tag = () => first.headers.get("etag") ?? assert.fail("no tag");
  const END = "public, max-age=1, stale-while-revalidate=30";
  const rows: Row[] = [
    ["a page", () => read(), 200, END, true],
    ["a page that is known", () => read({}, { headers: { "if-none-match": tag() } }), 304, END, true],
    ["a page at the end", () => read({ offset: first.next }), 200, END, true],
    ["offset=now", () => read({ offset: "now" }), 200, "no-store"],
    ["a poll", () => read({ offset: "-1", ...LIVE }), 200, "public, max-age=60", true],
    ["a poll in vain", () => read({ offset: first.next, ...LIVE }), 204, "no-store"],
    [
      "a vain poll that closes",
      () => read({ offset: "now", ...LIVE }, { headers: { connection: "close" } }),
      204,
      "no-store",
    ],
    ["events", () => read({ offset: "-1", live: "sse" }), 200, "no-cache"],
    ["HEAD", () => read({}, { method: "HEAD" }), 200, "no-store"],
    ["HEAD of an unknown video", () => read({}, { method: "HEAD" }, NO_CHAT), 404, "no-store"],
    ["HEAD of a malformed offset", () => read({ offset: "foo" }, { method: "HEAD" }), 400, "no-store"],
    ["HEAD ahead of the head", () => read({ offset: ahead() }, { method: "HEAD" }), 410, "no-store"],
    ["OPTIONS", () => read({}, { method: "OPTIONS" }), 204, null],
    ["a malformed offset", () => read({ offset: "1" }), 400, "no-store"],
    ["a malformed video id", () => read({}, {}, "short"), 400, "no-store"],
    ["a path that is no text", () => read({}, {}, "%zz"), 400, "no-store"],
    ["an unknown parameter", () => read({ ofset: "-1" }), 400, "no-store"],
    ["a poll without an offset", () => read(LIVE), 400, "no-store"],
    ["a video without a chat", () => read({}, {}, NO_CHAT), 404, "no-store"],
    ["a poll without a chat", () => read({ offset: "-1", ...LIVE }, {}, NO_CHAT), 404, "no-store"],
    ["a page ahead of the head", () => read({ offset: ahead() }), 410, "no-store"],
    ["a poll ahead of the head", () => read({ offset: ahead(), ...LIVE }), 410, "no-store"],
    ["events ahead of the head", () => read({ offset: ahead(), live: "sse" }), 410, "no-store"],
    ["another method", () => read({}, { method: "POST", body: "[]" }), 405, "no-store"],
    ["a path too long", () => read({ offset: "0".repeat(9000) }), 431, "no-store"],
  ];
  for (const [what, ask, status, cacheControl, hasTag = false] of rows) {
    it(`(${what}) is ${status}, may be read by any page, and says how caches may keep it`, async () => {
      const answer = await ask();
      const { headers } = answer;
      assert.equal(answer.status, status, answer.text);
      assert.equal(headers.get("cache-control"), cacheControl);
      assert.equal(headers.has("etag"), hasTag);
      assert.equal(headers.get("x-content-type-options"), "nosniff");
      assert.equal(headers.get("cross-origin-resource-policy"), "cross-origin");
      assert.equal(headers.get("access-control-allow-origin"), "*");
      const exposed = headers.get("access-control-expose-headers")?.split(", ") ?? [];
      assert.deepEqual(
        EXPOSED.filter((name) => !exposed.includes(name)),
        [],
      );
    });
  }

  it("to any other method than GET, HEAD and OPTIONS is 405", async () => {
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const { status, headers } = await read({}, { method });
      assert.deepEqual([status, headers.get("allow")], [405, "GET, HEAD, OPTIONS"], method);
    }
  });

  it("to a live read has a larger Stream-Cursor than the caller sent", async () => {
    const current = BigInt((await read({ offset: "-1", ...LIVE })).headers.get("stream-cursor") ?? "");
    const near = [-1n, 0n, 1n, 500n].map((ahead) => current + ahead);
    const sent = [...near, ...[15, 16, 20].map((digits) => 10n ** BigInt(digits) - 1n)];
    const beyond = sent.map(async (own) => {
      const query = { ...LIVE, cursor: `${own}` };
      const polls = await Promise.all([first.next, "-1"].map((offset) => read({ ...query, offset })));
      const { events } = await readEvents(relay.url, VIDEO, `-1&cursor=${own}`);
      const { streamCursor } = (events.at(-1)?.data ?? {}) as { streamCursor?: string };
      const got = [...polls.map(({ headers }) => headers.get("stream-cursor")), streamCursor].map((text) =>
        BigInt(text ?? ""),
      );
      assert.ok(
        got.every((cursor) => cursor > own),
        `${own}: ${got}`,
      );
    });
    await Promise.all(beyond);
  });

  it("to a reader that accepts gzip is compressed if it has a body", async () => {
    const encodings = ["gzip", "identity"].flatMap((encoding) =>
      [{}, { offset: "-1", ...LIVE }, { offset: "-1", live: "sse" }].map(async (query) => {
        const { headers } = await read(query, { headers: { "accept-encoding": encoding } });
        return headers.get("content-encoding");
      }),
    );
    assert.deepEqual(await Promise.all(encodings), ["gzip", "gzip", "gzip", null, null, null]);
  });
});

describe("a refusal of a log", () => {
  it("of an unknown parameter names the nearest one", async (t) => {
    const { url } = await withRoom(t);
    for (const [name, near] of Object.entries({ ofset: "offset", liv: "live", cursr: "cursor" })) {
      const { status, text } = await readLog(url, ROOM, { [name]: "-1" });
      assert.equal(status, 400);
      assert.match(text, new RegExp(`${name}: is not a parameter of this endpoint; did you mean ${near}\\?`));
    }
  });

  it("of an offset whose messages were deleted says where the log begins now", async (t) => {
    const { url, store, wall } = await withRoom(t);
    wall.nowMs += 1;
    await store.prune(0, 6);
    const [offset, floor] = [offsetOf(B + 5), offsetOf(B + 6)];
    const gone = new RegExp(
      `the messages after it are gone, or it is one of the video's other chat\\. The log begins at ${floor}\\.`,
    );
    for (const query of [{ offset }, { offset, ...LIVE }, { offset, live: "sse" }]) {
      const { status, text } = await readLog(url, ROOM, query);
      assert.equal(status, 410);
      assert.match(text, gone);
    }
    const page = await readLog(url, ROOM, { offset: floor });
    assert.deepEqual([page.status, page.cursors[0]], [200, B + 7]);
  });
});

describe("the settings of logs", () => {
  const read = (env: NodeJS.ProcessEnv) => toConfig(readFlags(SETTINGS, [], env).values).http.log;

  it("have bounds and defaults", () => {
    assert.deepEqual(read({}), { longPollMs: 20_000, sseMs: 60_000 });
    for (const longPollMs of [1000, 60_000])
      assert.equal(read({ RELAY_LONG_POLL_MS: `${longPollMs}` }).longPollMs, longPollMs);
    for (const value of ["0", "999", "60001", "1000.5", "1s"])
      assert.throws(
        () => read({ RELAY_LONG_POLL_MS: value }),
        (error) => error instanceof UsageError && /from 1000 to 60000/.test(error.message),
        value,
      );
    assert.equal(read({ RELAY_LOG_SSE_MS: "0" }).sseMs, 0);
    assert.throws(() => read({ RELAY_LOG_SSE_MS: "-1" }), UsageError);
  });

  it("end connections with events after RELAY_LOG_SSE_MS, and never if that is 0", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO, { kinds: ["text"] });
    await relay.enter({ videoId: VIDEO });
    const { rooms, store, clock, telemetry } = relay.service;
    const source = { history: new History(store, clock) };
    const open = async (sseMs: number) => {
      const log = { longPollMs: 20_000, sseMs };
      const reads = new LogReads({
        rooms,
        clock,
        telemetry,
        source,
        isBlanking: () => false,
        turns: new RequestTurns(PAGES, "pages"),
        log,
      });
      const { promise, resolve } = Promise.withResolvers<SimulatedSink>();
      const asked = { videoId: VIDEO, position: "now" as const, address: () => "reader" };
      await reads.events(asked, new AbortController().signal, ({ bare }) => {
        const sink = new SimulatedSink(bare, () => {});
        resolve(sink);
        return sink;
      });
      return await promise;
    };
    const sinks = await relay.when(Promise.all([0, 60_000].map(open)));
    const ends = () => sinks.map(({ closedBy }) => closedBy);
    await relay.advance(59_000);
    assert.deepEqual(ends(), [undefined, undefined]);
    await relay.advance(2000);
    assert.deepEqual(ends(), [undefined, "end"]);
    await relay.advance(120_000);
    assert.deepEqual(ends(), [undefined, "end"]);
  });
});
