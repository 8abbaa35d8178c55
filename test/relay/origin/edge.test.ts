/** An edge: an instance that follows the rooms of another one, over real sockets. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get } from "node:http";
import { describe, it, type TestContext } from "node:test";
import { SPECIES } from "../../../simulator/index.ts";
import { Line, portOf } from "../../chaos/line.ts";
import { ask } from "../../support/api.ts";
import { authorDeletionOf, deletionOf, paidAction, textAction, texts } from "../../support/chat-actions.ts";
import { startTestEdge } from "../../support/edge.ts";
import { eventually } from "../../support/eventually.ts";
import { LeapingClock } from "../../support/leaping-clock.ts";
import { metric, startRelay, type TestRelayOptions } from "../../support/relay.ts";
import { assertConsecutive, Stream, type StreamOptions } from "../../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "jNQXAC9IVRw";
/** The same at an origin and at its edges. */
const KEEPALIVE = { RELAY_KEEPALIVE_MS: "200" } as const;
const CHAT = { kinds: ["text" as const], timeoutMs: 20 };

/** An origin that reads one chat, behind a line that can be cut. */
async function setUp(t: TestContext, settings: TestRelayOptions["settings"] = {}) {
  const origin = await startRelay({ settings });
  t.after(() => origin[Symbol.asyncDispose]());
  const line = await Line.to(Number(new URL(origin.url).port));
  t.after(() => line[Symbol.asyncDispose]());
  const chat = origin.upstream.chat(VIDEO, CHAT);
  chat.say(3);
  const startEdge = async (...[given, clock]: DropFirst<Parameters<typeof startTestEdge>>) => {
    const edge = await startTestEdge(line.url, given, clock);
    t.after(() => edge[Symbol.asyncDispose]());
    return edge;
  };
  const watch = async ({ url }: { url: string }, options: Partial<StreamOptions> = {}) => {
    const stream = await Stream.open(url, { videoId: VIDEO, ...options });
    t.after(() => stream.close());
    await stream.until(() => stream.frames.length > 0);
    return stream;
  };
  return { origin, line, chat, startEdge, watch };
}

type DropFirst<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

/** The frames of a stream as they came, without keepalives. */
const framesOf = ({ raw }: Stream) => raw.replaceAll(": keepalive\n\n", "");

/** The stored messages, as a stream sends them. */
async function bounded(url: string, query = "", headers: Record<string, string> = {}): Promise<string> {
  return await (await fetch(`${url}/v1/stream?videoId=${VIDEO}&until=now&${query}`, { headers })).text();
}

/** What two instances send to viewers who ask the same. */
async function assertSameBytes(streams: readonly Stream[], messages: number): Promise<void> {
  const [first, ...others] = streams;
  for (const stream of streams) await stream.untilMessages(messages);
  for (const other of others) assert.equal(framesOf(other), first && framesOf(first));
}

describe("an edge", { timeout: 300_000 }, () => {
  it("sends the bytes that its origin sends, in every form, and so does an edge of an edge", async (t) => {
    const { origin, chat, startEdge, watch } = await setUp(t);
    chat.change({ kinds: SPECIES.filter((kind) => kind !== "unknown") });
    const edge = await startEdge();
    const second = await startTestEdge(edge.url);
    t.after(() => second[Symbol.asyncDispose]());
    const instances = [origin, edge, second];
    for (const details of [false, true]) {
      const streams = await Promise.all(
        instances.map((instance) => watch(instance, { details, lastEventId: 0 })),
      );
      chat.say(40);
      await streams[0]?.until(() => streams[0]?.ids.includes(chat.ledger.at(-1)?.id ?? "") ?? false, "all");
      await assertSameBytes(streams, streams[0]?.messages.length ?? 0);
    }
    for (const query of [
      "",
      "backfill=20&details=true",
      "types=paid,members&backfill=5",
      "from=2020-01-01T00:00Z",
    ])
      for (const accept of ["text/event-stream", "application/x-ndjson"]) {
        const [there, ...here] = await Promise.all(
          instances.map(({ url }) => bounded(url, query, { accept })),
        );
        assert.match(there ?? "", /message/);
        for (const text of here) assert.equal(text, there, `${query} as ${accept}`);
      }
  });

  it("sends deleted messages blank if its origin does, and so does an edge of an edge", async (t) => {
    const { origin, chat, startEdge, watch } = await setUp(t, { RELAY_DELETED: "blank" });
    const edge = await startEdge();
    const second = await startTestEdge(edge.url);
    t.after(() => second[Symbol.asyncDispose]());
    const instances = [origin, edge, second];
    const first = await Promise.all(instances.map((instance) => watch(instance, { backfill: 0 })));
    chat.say([textAction("kept"), textAction("gone", { text: "a secret" })]);
    for (const stream of first) await stream.untilMessages(2);
    chat.say([deletionOf("gone")]);
    for (const stream of first) await stream.untilMessages(3);
    const later = await Promise.all(instances.map((instance) => watch(instance, { backfill: 3 })));
    await assertSameBytes(later, 3);
    for (const { raw } of later) assert.doesNotMatch(raw, /secret/);
  });

  it("filters blanked messages of any age by their type alone, as its origin does", async (t) => {
    const { origin, chat, startEdge, watch } = await setUp(t, { RELAY_DELETED: "blank" });
    chat.change({ page: 1000 });
    const [giver, teller] = ["UCgiver-of-all-they-have", "UCteller-of-many-secrets"];
    const secret = (id: string, channel: string) =>
      paidAction(id, "$5.00", { text: "a secret", author: "@whoever", channel });
    chat.say([secret("old-gone", giver), secret("old-kept", giver), ...texts("old", 600)]);
    chat.say([secret("new-gone", teller), secret("new-kept", giver), ...texts("new", 20)]);
    const edge = await startEdge();
    const second = await startTestEdge(edge.url);
    t.after(() => second[Symbol.asyncDispose]());
    const instances = [origin, edge, second];
    const types = "types=superchat";
    // From now on, each instance follows the room.
    const streams = await Promise.all(instances.map((instance) => watch(instance, { backfill: 5 })));
    for (const stream of streams) await stream.untilMessages(5);
    const pages = [types, `author=${giver}`, `author=${teller}`, "q=secret", "q=whoever"];
    const found = async ({ url }: { url: string }) => {
      const answers = await Promise.all(
        pages.map((page) => ask<{ messages: object[] }>(url, `/v1/messages?videoId=${VIDEO}&${page}`)),
      );
      return answers.map(({ body }) => body.messages);
    };
    const counts = (answers: object[][]) => answers.map(({ length }) => length);
    for (const instance of instances) assert.deepEqual(counts(await found(instance)), [4, 3, 1, 4, 4]);
    chat.say([deletionOf("old-gone"), authorDeletionOf(teller)]);
    for (const stream of streams) await stream.untilMessages(7);
    const answers = await Promise.all(instances.map(found));
    for (const answer of answers) {
      assert.deepEqual(counts(answer), [4, 2, 0, 2, 2]);
      assert.deepEqual(answer, answers[0]);
    }
    for (const [query, secrets] of [
      [`${types}&backfill=5`, 2],
      [`${types}&backfill=3`, 2],
      [`${types}&lastEventId=0`, 2],
      [`${types}&backfill=1`, 1],
      ["types=author_deleted&backfill=1", 0],
    ] as const) {
      const [there = "", ...here] = await Promise.all(instances.map(({ url }) => bounded(url, query)));
      assert.equal(there.match(/"message":"a secret"/g)?.length ?? 0, secrets, query);
      for (const text of here) assert.equal(text, there, query);
    }
  });

  it("opens one connection per room for any number of viewers, and lingers for the grace time", async (t) => {
    const { origin, chat, startEdge, watch } = await setUp(t);
    const clock = new LeapingClock();
    const edge = await startEdge({}, clock);
    const streams = await Promise.all(Array.from({ length: 20 }, () => watch(edge, { backfill: 500 })));
    chat.say(5);
    for (const stream of streams) await stream.untilMessages(8);
    assert.equal(await metric(origin, "relay_viewers"), 1);
    assert.equal(await metric(edge, "relay_viewers"), 20);
    for (const stream of streams) await stream.close();
    await eventually(1, () => metric(edge, 'relay_rooms{state="lingering"}'));
    const back = await watch(edge, { lastEventId: streams[0]?.cursors.at(-1) ?? 0 });
    chat.say(1);
    await back.untilMessages(1);
    assert.equal(await metric(origin, "relay_viewers"), 1);
    await back.close();
    await eventually(1, () => metric(edge, 'relay_rooms{state="lingering"}'));
    clock.leap(89_000);
    assert.equal(await metric(origin, "relay_viewers"), 1);
    clock.leap(1000);
    await eventually(0, () => metric(origin, "relay_viewers"));
  });

  it("gives a viewer that resumes far back the origin's pages, without a seam", async (t) => {
    const { origin, line, chat, startEdge, watch } = await setUp(t);
    const there = await watch(origin, { lastEventId: 0 });
    for (let said = 3; said < 343; said += 68) {
      await there.untilMessages(said);
      chat.say(68);
    }
    await there.untilMessages(343);
    const clock = new LeapingClock();
    const edge = await startEdge({ RELAY_EDGE_TAIL: "10" }, clock);
    const from = there.init.cursor;
    const pages = () => line.requests.filter((head) => /^GET \/v1\/messages\?\S*after=/.test(head)).length;
    const [all, middle, late] = [
      await watch(edge, { lastEventId: 0 }),
      await watch(edge, { lastEventId: from + 123 }),
      await watch(edge, { lastEventId: from + 340 }),
    ];
    await Promise.all([all.untilMessages(343), middle.untilMessages(220), late.untilMessages(3)]);
    // For a second, the edge remembers the pages that it has read.
    await eventually(true, async () => {
      clock.leap(1000);
      const asked = pages();
      await (await watch(edge, { backfill: 10 })).untilMessages(10);
      assert.equal(pages(), asked, "the tail holds ten");
      await (await watch(edge, { backfill: 11 })).untilMessages(11);
      return pages() > asked; // and no more
    });
    chat.say(30);
    await assertSameBytes([there, all], 373);
    assert.equal(middle.init.cursor, from + 123);
    assert.deepEqual((await middle.untilMessages(250)).slice(0, 250), there.messages.slice(123));
    assert.deepEqual((await late.untilMessages(33)).slice(0, 33), there.messages.slice(340));
  });

  it("loses and repeats nothing while its origin is away, and serves the messages it holds", async (t) => {
    const { origin, line, chat, startEdge, watch } = await setUp(t, KEEPALIVE);
    chat.say(20);
    const clock = new LeapingClock();
    const edge = await startEdge(KEEPALIVE, clock);
    const stream = await watch(edge, { backfill: 500 });
    await stream.untilMessages(23);
    const reference = await watch(origin, { backfill: 500 });
    line.shut();
    chat.say(10);
    await reference.untilMessages(33);
    const before = stream.comments.length;
    await stream.until(() => stream.comments.length > before + 3, "keepalives");
    const newcomer = await watch(edge, { backfill: 5 });
    assert.deepEqual(await newcomer.untilMessages(5), reference.messages.slice(18, 23));
    const refused = await ask<{ code: string }>(edge.url, `/v1/stream?videoId=${OTHER}`);
    assert.deepEqual([refused.status, refused.body.code], [503, "CAPACITY"]);
    assert.match(refused.headers.get("retry-after") ?? "", /^\d+$/);
    await line.open();
    clock.leap(5000); // longer than it waits before it connects again
    chat.say(3);
    await assertSameBytes([reference, stream], 36);
    assert.deepEqual(await newcomer.untilMessages(18), reference.messages.slice(18));
    assert.equal(stream.over, false);
    assert.equal(await metric(edge, "relay_origin_stream_breaks_total"), 1);
  });

  it("serves new viewers from its own messages while its origin is away, with any filter and backfill", async (t) => {
    const { origin, line, chat, startEdge, watch } = await setUp(t);
    const reference = await watch(origin, { backfill: 500 });
    chat.say(30);
    await reference.untilMessages(33);
    const [all, few] = [await startEdge(), await startEdge({ RELAY_EDGE_TAIL: "10" })];
    for (const edge of [all, few]) await (await watch(edge, { backfill: 2 })).untilMessages(2);
    line.shut();
    for (const [edge, options, first] of [
      [all, { types: "chat", backfill: 3 }, 30],
      [all, { types: "chat" }, 0],
      [all, { types: "paid" }, 33],
      [few, {}, 23],
      [few, { backfill: 11 }, 23],
      [few, { types: "chat", backfill: 11 }, 23],
    ] as const) {
      const stream = await watch(edge, options);
      assert.deepEqual(await stream.untilMessages(33 - first), reference.messages.slice(first));
      assert.equal(stream.init.cursor, reference.init.cursor + first);
    }
    for (const query of ["lastEventId=0", `lastEventId=${reference.cursors[3]}`, "from=0"]) {
      const { status } = await ask(few.url, `/v1/stream?videoId=${VIDEO}&${query}`);
      assert.equal(status, 503, query);
    }
  });

  it("can be replaced by any other edge and by the origin: cursors mean the same everywhere", async (t) => {
    const { origin, chat, startEdge, watch } = await setUp(t);
    const [killed, other] = [await startEdge(), await startEdge()];
    const reference = await watch(origin, { backfill: 500 });
    const streams = await Promise.all([watch(killed, { backfill: 500 }), watch(killed, { backfill: 500 })]);
    chat.say(7);
    for (const stream of streams) await stream.untilMessages(10);
    await killed.service.stop();
    for (const stream of streams) assert.equal(await stream.ended(), undefined);
    chat.say(5);
    for (const [index, next] of [other, origin].entries()) {
      const last = streams[index]?.cursors.at(-1) ?? 0;
      const back = await watch(next, { lastEventId: last });
      assert.equal(back.init.cursor, last);
      assert.deepEqual(await back.untilMessages(5), (await reference.untilMessages(15)).slice(10));
    }
  });

  it("opens no stream on a connection that its origin closes after another stream", async (t) => {
    const { origin, line, startEdge, watch } = await setUp(t);
    await (await watch(origin)).untilMessages(3);
    for (let i = 0; i < 3; i++) {
      const edge = await startEdge();
      await (await watch(edge)).untilMessages(3);
      assert.equal((await bounded(edge.url)).match(/^id: /gm)?.length, 3);
    }
    const streams = line.requests.filter((head) => head.startsWith("GET /v1/stream"));
    assert.equal(streams.length, 3);
    for (const head of streams) assert.match(head, /^connection: close\r$/m);
  });

  it("closes its streams without an end frame if the origin has lost its store", async (t) => {
    const { origin, line, chat, startEdge, watch } = await setUp(t);
    const edge = await startEdge();
    const stream = await watch(edge);
    await stream.untilMessages(3);
    const { upstream } = origin;
    const empty = await startRelay({ upstream });
    t.after(() => empty[Symbol.asyncDispose]());
    line.leadsTo = Number(new URL(empty.url).port);
    line.cut();
    assert.equal(await stream.ended(), undefined);
    const back = await watch(edge, { lastEventId: stream.cursors.at(-1) ?? 0 });
    assert.notEqual(back.init.cursor, stream.cursors.at(-1));
    chat.say(1);
    await back.until(() => back.ids.includes(chat.ledger.at(-1)?.id ?? ""), "the newest message");
    assertConsecutive(back.cursors, back.init.cursor);
  });

  it("gives the chat, not the remembered end, if its origin lost its store and reads it again", async (t) => {
    const { line, chat, startEdge, watch } = await setUp(t);
    const edge = await startEdge();
    const stream = await watch(edge);
    await stream.untilMessages(3);
    chat.end("continuations-absent");
    assert.equal((await stream.ended())?.event, "end");
    const again = await startRelay();
    t.after(() => again[Symbol.asyncDispose]());
    const said = again.upstream.chat(chat.videoId, { kinds: ["text"] }).say(5);
    await (await watch(again)).untilMessages(5);
    line.leadsTo = Number(new URL(again.url).port);
    line.cut();
    const back = await watch(edge, { lastEventId: 1000, backfill: 4 });
    await back.untilMessages(4);
    assert.deepEqual(back.ids, said.slice(1));
  });

  it("reports no fault if its origin has lost the next messages of a viewer, which then comes back", async (t) => {
    const { origin, line, chat, startEdge, watch } = await setUp(t);
    const there = await watch(origin);
    for (let said = 3; said < 343; said += 68) {
      await there.untilMessages(said);
      chat.say(68);
    }
    await there.untilMessages(343);
    const edge = await startEdge({ RELAY_EDGE_TAIL: "10" });
    await (await watch(edge, { backfill: 5 })).untilMessages(5);
    let hasLost = true;
    const isPage = (path = "") => path.startsWith("/v1/messages") && path.includes("after=");
    const front = createServer((request, response) => {
      if (hasLost && isPage(request.url)) {
        response.writeHead(404, { "content-type": "application/json" });
        response.end(JSON.stringify({ code: "NOT_STORED", message: "Nothing is stored of it." }));
        return;
      }
      const { url: path, headers } = request;
      const asked = get({ port: new URL(origin.url).port, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      asked.on("error", () => {}); // a stream that is cut below, or at the end
      response.once("close", () => asked.destroy());
    });
    await once(front.listen(0, "127.0.0.1"), "listening");
    t.after(() => front.close());
    line.leadsTo = portOf(front);
    line.cut();
    const behind = { lastEventId: there.init.cursor };
    // It is reset: the system may drop what the viewer has not read, even the first frame.
    const refused = await Stream.open(edge.url, { videoId: VIDEO, ...behind });
    assert.equal(await refused.ended(), undefined);
    assert.equal(await metric(edge, 'relay_viewers_dropped_total{reason="broken"}'), 0);
    hasLost = false;
    await (await watch(edge, behind)).untilMessages(340);
  });

  it("passes on the end of a chat, and serves the chat afterwards", { timeout: 60_000 }, async (t) => {
    const settings = { RELAY_GRACE_MS: "0", RELAY_NO_CHAT_MS: "20000" };
    const { origin, chat, startEdge, watch } = await setUp(t, settings);
    const edge = await startEdge({ RELAY_GRACE_MS: "0" });
    const stream = await watch(edge);
    await stream.untilMessages(3);
    chat.end("reload-only");
    const end = await stream.ended();
    assert.deepEqual([end?.event, end?.data], ["end", { reason: "no more continuations" }]);
    await eventually(0, async () => metric(origin, 'relay_rooms{state="ended"}'));
    const rest = await watch(edge, { lastEventId: stream.cursors[0] ?? 0 });
    assert.equal((await rest.ended())?.event, "end");
    assert.deepEqual(rest.cursors, stream.cursors.slice(1));
    const [here, there] = await Promise.all(
      [edge, origin].map(({ url }) => ask(url, `/v1/stream?videoId=${VIDEO}`)),
    );
    assert.deepEqual([here?.status, here?.body], [404, there?.body]);
  });

  it("passes on the refusals of its origin", async (t) => {
    const { origin, startEdge } = await setUp(t, { RELAY_NO_CHAT_MS: "20000" });
    origin.upstream.chat(OTHER, { kind: "disabled" });
    const edge = await startEdge();
    for (const path of [`videoId=${OTHER}`, `videoId=${OTHER}&until=now`, "videoId=nonsense", ""]) {
      const [there, here] = [
        await ask(origin.url, `/v1/stream?${path}`),
        await ask(edge.url, `/v1/stream?${path}`),
      ];
      assert.deepEqual([here.status, here.body], [there.status, there.body], path);
      assert.equal(here.headers.has("retry-after"), there.headers.has("retry-after"), path);
    }
  });

  it("sends all stored messages without opening a room at the origin", async (t) => {
    const { origin, chat, startEdge, watch } = await setUp(t, { RELAY_GRACE_MS: "0" });
    const stream = await watch(origin, { backfill: 500 });
    await stream.untilMessages(3);
    await stream.close();
    await eventually(0, () => metric(origin, 'relay_rooms{state="polling"}'));
    await eventually(0, () => metric(origin, 'relay_rooms{state="lingering"}'));
    chat.say(4);
    const edge = await startEdge();
    assert.equal(await bounded(edge.url), await bounded(origin.url));
    assert.match(await bounded(edge.url, "backfill=1"), /"reason":"until"/);
    assert.equal(await metric(origin, "relay_rooms_opened_total"), 1);
  });
});
