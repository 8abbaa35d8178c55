/** `GET /v1/log/{videoId}` at edges: the origin's answers, from what an edge holds or the origin's pages. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { Line } from "../../chaos/line.ts";
import { startTestEdge } from "../../support/edge.ts";
import { eventually } from "../../support/eventually.ts";
import { itemsOf, polledUpToNow, readEvents, readLog } from "../../support/log.ts";
import { metric, startRelay, type TestRelayOptions } from "../../support/relay.ts";
import { temporaryFile } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "logged-edge";
const OTHER = "logged-else";
const SETTINGS = { RELAY_LOG_SSE_MS: "0", RELAY_KEEPALIVE_MS: "200" } as const;

/** An origin whose chat has said `said` messages, behind a line that can be cut, and an edge of it. */
async function setUp(t: TestContext, said: number, settings: TestRelayOptions["settings"] = {}) {
  const origin = await startRelay({ settings: { ...SETTINGS, ...settings } });
  t.after(() => origin[Symbol.asyncDispose]());
  const line = await Line.to(Number(new URL(origin.url).port));
  t.after(() => line[Symbol.asyncDispose]());
  const chat = origin.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20 });
  chat.say(said);
  const edge = await startTestEdge(line.url, { ...SETTINGS, RELAY_EDGE_TAIL: "10" });
  t.after(() => edge[Symbol.asyncDispose]());
  /** Opens the room at the edge, which then holds its ten newest messages. */
  const hold = async () => {
    const viewer = await Stream.open(edge.url, { videoId: VIDEO, lastEventId: 0 });
    t.after(() => viewer.close());
    await viewer.untilMessages(said);
    return viewer;
  };
  return { origin, line, chat, edge, hold };
}

/** What an answer says, but for caches' cursors and its own time. */
function said({ status, text, headers }: Awaited<ReturnType<typeof readLog>>) {
  const names = ["content-type", "cache-control", "etag", "x-content-type-options", "vary"];
  const places = ["stream-next-offset", "stream-up-to-date", "stream-closed", "cross-origin-resource-policy"];
  return [status, text, ...[...names, ...places].map((name) => headers.get(name))];
}

describe("the log at an edge", { timeout: 300_000 }, () => {
  it("has the origin's pages, held or not, with the same headers, and so has an edge of an edge", async (t) => {
    const { origin, line, edge, hold } = await setUp(t, 30);
    const second = await startTestEdge(edge.url, SETTINGS);
    t.after(() => second[Symbol.asyncDispose]());
    await hold();
    const { cursors } = await readLog(origin.url, VIDEO);
    const behind = (n: number) => offsetOf((cursors[0] ?? 0) - 1 + n);
    const asked = ["-1", behind(3), behind(19), behind(20), behind(25), behind(30), "now"];
    for (const offset of [...asked, behind(31), offsetOf(7), "x"]) {
      const there = said(await readLog(origin.url, VIDEO, { offset }));
      for (const { url } of [edge, second])
        assert.deepEqual(said(await readLog(url, VIDEO, { offset })), there, offset);
    }
    const head = { method: "HEAD" };
    for (const offset of ["-1", "now", behind(3), behind(25), behind(31), offsetOf(7), "x"]) {
      const place = said(await readLog(origin.url, VIDEO, { offset }, head));
      for (const { url } of [edge, second])
        assert.deepEqual(said(await readLog(url, VIDEO, { offset }, head)), place, offset);
    }
    for (const { url } of [origin, edge, second])
      for (const [init, standing] of [[head, null] as const, [{}, "none"] as const]) {
        const { status, headers } = await readLog(url, OTHER, {}, init);
        assert.deepEqual([status, headers.get("chat-standing")], [404, standing]);
      }
    const before = line.requests.length;
    await readLog(edge.url, VIDEO, { offset: behind(25) });
    assert.equal(line.requests.length, before, "it is answered from what the edge holds");
  });

  it("answers polls and event streams as the origin's does, up to the end of the chat", async (t) => {
    const { origin, chat, edge, hold } = await setUp(t, 30);
    await hold();
    const { next } = await readLog(origin.url, VIDEO);
    const urls = [origin.url, edge.url];
    const read = (offset: string) =>
      Promise.all(urls.map((url) => readLog(url, VIDEO, { offset, live: "long-poll" })));
    const [there, here] = await Promise.all(urls.map((url) => polledUpToNow(url, VIDEO)));
    assert.deepEqual(here, there);
    const waiting = read(next);
    await eventually(2, () => metric(edge, "relay_viewers"));
    await eventually(2, () => metric(origin, "relay_viewers"));
    chat.say(1);
    const [first, second] = await waiting;
    assert.deepEqual(second && said(second), first && said(first));
    const last = read(first?.next ?? "");
    const events = Promise.all(urls.map((url) => readEvents(url, VIDEO, next)));
    chat.end("reload-only");
    for (const answer of await last) assert.deepEqual([answer.status, answer.isClosed], [204, true]);
    const [started, followed] = await events;
    assert.deepEqual(followed?.events[0], started?.events[0]);
    for (const { next: end, isClosed } of await read("now"))
      assert.deepEqual([end, isClosed], [first?.next, true]);
    for (const url of urls) {
      const { events: all } = await readEvents(url, VIDEO, "-1");
      const { streamClosed, streamNextOffset } = (all.at(-1)?.data ?? {}) as Record<string, unknown>;
      assert.deepEqual([streamClosed, streamNextOffset], [true, first?.next]);
    }
  });

  it("serves only the messages that the edge holds while the origin is away", async (t) => {
    const { line, edge, hold } = await setUp(t, 30);
    await hold();
    const { next, cursors } = await readLog(edge.url, VIDEO);
    const held = offsetOf((cursors.at(-1) ?? 0) - 5);
    line.shut();
    assert.equal((await readLog(edge.url, VIDEO, { offset: held })).cursors.length, 5);
    const poll = await readLog(edge.url, VIDEO, { offset: held, live: "long-poll" });
    assert.deepEqual([poll.cursors.length, poll.next], [5, next]);
    assert.equal((await readLog(edge.url, VIDEO, {}, { method: "HEAD" })).next, next);
    const old = offsetOf((cursors[0] ?? 0) + 2);
    for (const query of [
      { offset: old },
      { offset: old, live: "long-poll" },
      { offset: "-1", live: "sse" },
    ]) {
      const refused = await readLog(edge.url, VIDEO, query);
      assert.deepEqual([refused.status, refused.headers.has("retry-after")], [503, true], query.offset);
    }
    assert.equal((await readLog(edge.url, OTHER, { offset: "now", live: "long-poll" })).status, 503);
    await line.open();
  });

  it("stays closed at the first end of the chat while the edge follows the replay", async (t) => {
    const settings = { RELAY_STORE: `sqlite:${await temporaryFile(t)}`, RELAY_GRACE_MS: "1" };
    const { origin, chat } = await setUp(t, 5, settings);
    await using live = await Stream.open(origin.url, { videoId: VIDEO, lastEventId: 0 });
    await live.untilMessages(5);
    chat.end("reload-only");
    await live.ended();
    const closed = await readLog(origin.url, VIDEO);
    await origin[Symbol.asyncDispose]();
    await using later = await startRelay({ settings: { ...SETTINGS, ...settings } });
    later.upstream.chat(VIDEO, { kinds: ["text"], kind: "replay" }).say(8);
    const edge = await startTestEdge(later.url, SETTINGS);
    t.after(() => edge[Symbol.asyncDispose]());
    await using replay = await Stream.open(edge.url, { videoId: VIDEO, lastEventId: 0 });
    await replay.untilMessages(6);
    const pages = await Promise.all(
      [{}, { offset: closed.next }].map((query) => readLog(edge.url, VIDEO, query)),
    );
    for (const { next, isClosed } of pages) assert.deepEqual([next, isClosed], [closed.next, true]);
    assert.equal(pages[0]?.text, closed.text);
    const poll = await readLog(edge.url, VIDEO, { offset: closed.next, live: "long-poll" });
    assert.deepEqual([poll.status, poll.next, poll.isClosed], [204, closed.next, true]);
    const { events } = await readEvents(edge.url, VIDEO, "-1");
    assert.deepEqual(itemsOf(events), JSON.parse(closed.text));
    assert.equal((await readLog(edge.url, VIDEO, {}, { method: "HEAD" })).isClosed, true);
  });

  it("is no more closed than the origin's if the room failed there while the line was cut", async (t) => {
    const { origin, line, chat, edge, hold } = await setUp(t, 12);
    const viewer = await hold();
    const { next } = await readLog(origin.url, VIDEO);
    line.shut();
    const broken = origin.upstream.fault({
      on: "get_live_chat",
      times: Number.POSITIVE_INFINITY,
      as: "reset",
    });
    for (const state of ["polling", "lingering"])
      await eventually(0, () => metric(origin, `relay_rooms{state="${state}"}`));
    broken.cancel();
    const open = await readLog(origin.url, VIDEO, { offset: next });
    assert.deepEqual([open.status, open.text, open.isClosed], [200, "[]", false]);
    chat.end("reload-only");
    await line.open();
    await viewer.ended();
    const [there, here] = [await readLog(origin.url, VIDEO), await readLog(edge.url, VIDEO)];
    assert.deepEqual([here.text, here.next, here.isClosed], [there.text, there.next, true]);
  });

  it("has nothing of a replay that the origin began while the line was cut", async (t) => {
    const settings = { RELAY_STORE: `sqlite:${await temporaryFile(t)}`, RELAY_GRACE_MS: "1" };
    const { origin, line, chat, edge, hold } = await setUp(t, 5, settings);
    const held = await hold();
    await using live = await Stream.open(origin.url, { videoId: VIDEO, lastEventId: 0 });
    line.shut();
    chat.end("reload-only");
    await live.ended();
    const closed = await readLog(origin.url, VIDEO);
    assert.equal(closed.isClosed, true);
    await origin[Symbol.asyncDispose]();
    await using later = await startRelay({ settings: { ...SETTINGS, ...settings } });
    later.upstream.chat(VIDEO, { kinds: ["text"], kind: "replay" }).say(8);
    await using replay = await Stream.open(later.url, { videoId: VIDEO, lastEventId: 0 });
    await replay.untilMessages(6);
    const poll = readLog(edge.url, VIDEO, { offset: closed.next, live: "long-poll" });
    line.leadsTo = Number(new URL(later.url).port);
    await line.open();
    await held.ended();
    assert.deepEqual([(await poll).status, (await poll).text], [204, ""]);
    await using again = await Stream.open(edge.url, { videoId: VIDEO, lastEventId: 0 });
    assert.equal((await again.ended())?.event, "end"); // for the grace time, it is the live chat's
    assert.deepEqual(again.ids, live.ids);
    const { events } = await readEvents(edge.url, VIDEO, "-1");
    const end = { streamNextOffset: closed.next, streamClosed: true, upToDate: true };
    assert.deepEqual([itemsOf(events), events.at(-1)?.data], [JSON.parse(closed.text), end]);
  });
});
