/** `GET /v1/log/{videoId}` live: long polls, and Server-Sent Events. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { ENDED } from "../../../src/protocol/chat.ts";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { eventually } from "../../support/eventually.ts";
import { several, withRoom } from "../../support/history.ts";
import { itemsOf, type LogAnswer, type LogEvent, readEvents, readLog } from "../../support/log.ts";
import { metric, roomsIn, startRelay, type TestRelayOptions } from "../../support/relay.ts";
import { ROOM, temporaryFile } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "logged-live";

/** A relay that reads a chat which has said three messages, with a viewer in its room that has got them. */
async function reading(t: TestContext, { settings, ...options }: TestRelayOptions = {}) {
  const relay = await startRelay({ settings: { RELAY_LOG_SSE_MS: "1000", ...settings }, ...options });
  t.after(() => relay[Symbol.asyncDispose]());
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
  chat.say(3);
  const viewer = await Stream.open(relay.url, { videoId: VIDEO });
  t.after(() => viewer[Symbol.asyncDispose]());
  await viewer.untilMessages(3);
  const first = await readLog(relay.url, VIDEO);
  const poll = (query: Record<string, string | number> = {}, init: RequestInit = {}) =>
    readLog(relay.url, VIDEO, { offset: first.next, live: "long-poll", ...query }, init);
  const isWaited = (readers: number) =>
    eventually(1 + readers, () => metric(relay, "relay_viewers").then((viewers) => viewers ?? 0));
  return { relay, chat, viewer, first, poll, isWaited, url: relay.url };
}

/** The data of a `control` event. */
const placeIn = (event: LogEvent | undefined) => (event?.data ?? {}) as Record<string, unknown>;

/** The event without the cursor of caches: that changes with the time. */
const timeless = ({ event, data }: LogEvent) => {
  if (event !== "control") return { event, data };
  const { streamCursor: _, ...place } = placeIn({ event, data });
  return { event, data: place };
};

/** Rounds of long polls from an offset until the log is closed. */
async function toTheEnd(url: string, offset: string): Promise<LogAnswer[]> {
  const answers: LogAnswer[] = [];
  for (let next = offset; answers.at(-1)?.isClosed !== true; next = answers.at(-1)?.next ?? next)
    answers.push(await readLog(url, VIDEO, { offset: next, live: "long-poll" }));
  return answers;
}

describe("a long poll", () => {
  it("is answered at once if there are messages after its offset", async (t) => {
    const { first, poll } = await reading(t);
    const answer = await poll({ offset: "-1" });
    assert.equal(answer.text, first.text);
    assert.deepEqual([answer.status, answer.next, answer.isUpToDate], [200, first.next, true]);
    assert.equal(answer.headers.get("content-type"), "application/json");
    assert.equal(answer.headers.get("cache-control"), "public, max-age=60");
    assert.match(answer.headers.get("stream-cursor") ?? "", /^\d+$/);
    assert.match(answer.headers.get("etag") ?? "", /^".+"$/);
  });

  it("waits for the next message, which everybody who waits gets", async (t) => {
    const { chat, first, poll, isWaited } = await reading(t);
    const asked = [poll(), poll({}, { headers: { "accept-encoding": "identity" } }), poll({ offset: "now" })];
    await isWaited(3);
    chat.say(1);
    const answers = await Promise.all(asked);
    assert.notEqual(answers[0]?.headers.get("etag"), answers[1]?.headers.get("etag"), "of another coding");
    for (const { status, text, cursors, isUpToDate, isClosed, next } of answers) {
      assert.deepEqual([status, isUpToDate, isClosed], [200, true, false]);
      assert.equal(text, answers[0]?.text);
      assert.equal(cursors.length, 1);
      assert.equal(next, offsetOf(cursors[0] ?? 0));
      assert.ok(next > first.next);
    }
    assert.deepEqual(
      answers.map(({ headers }) => headers.get("cache-control")),
      ["public, max-age=60", "public, max-age=60", "no-store"],
    );
  });

  it("is answered 204 if no message comes in its time", async (t) => {
    const { first, poll } = await reading(t, { settings: { RELAY_LONG_POLL_MS: "1000" } });
    const { status, text, next, isUpToDate, isClosed, headers } = await poll();
    assert.deepEqual([status, text, next, isUpToDate, isClosed], [204, "", first.next, true, false]);
    assert.equal(headers.get("cache-control"), "no-store");
    const cursor = headers.get("stream-cursor") ?? assert.fail("no cursor");
    const again = await poll({ cursor });
    assert.ok(Number(again.headers.get("stream-cursor")) > Number(cursor), "the cursor goes on");
  });

  it("ends at once with the chat, and at once after it", async (t) => {
    const { chat, url, first, poll, isWaited } = await reading(t);
    const asked = poll();
    await isWaited(1);
    chat.end("continuations-absent");
    const answer = await asked;
    assert.deepEqual([answer.status, answer.next, answer.isUpToDate], [204, first.next, true]);
    assert.equal(answer.isClosed, true);
    const after = await Promise.all([poll(), poll({ offset: "now" })]);
    for (const { status, next, isClosed, isUpToDate } of after)
      assert.deepEqual([status, next, isClosed, isUpToDate], [204, first.next, true, true]);
    const all = await toTheEnd(url, "-1");
    assert.deepEqual(
      all.flatMap(({ cursors }) => cursors),
      first.cursors,
    );
  });

  it("counts as a viewer of its address, and frees its place", async (t) => {
    const { poll, isWaited, chat } = await reading(t, { settings: { RELAY_MAX_VIEWERS_PER_ADDRESS: "2" } });
    const asked = poll();
    await isWaited(1);
    const refused = await poll();
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("x-content-type-options"), "nosniff");
    assert.ok(refused.headers.has("retry-after"));
    chat.say(1);
    assert.equal((await asked).status, 200);
    assert.equal((await poll()).status, 200);
  });

  it("leaves its room at the end of its wait if its client goes", async (t) => {
    const { poll, isWaited } = await reading(t, { settings: { RELAY_LONG_POLL_MS: "4000" } });
    const client = new AbortController();
    const asked = poll({}, { signal: client.signal });
    await isWaited(1);
    client.abort();
    await assert.rejects(asked, { name: "AbortError" });
    await isWaited(0);
  });

  it("is answered at once if it opens the room", async (t) => {
    const { relay, url } = await reading(t);
    relay.upstream.chat("opened-mute", { kinds: ["text"] });
    const { status, text } = await readLog(url, "opened-mute");
    assert.deepEqual([status, text], [200, "[]"]);
    assert.equal(await metric(relay, "relay_viewers"), 1, "the viewer of the other room");
    await roomsIn(relay, "polling", 2);
  });

  it("opens the room of a video of which nothing is stored, as any read does", async (t) => {
    const { relay, url } = await reading(t);
    for (const [videoId, query] of Object.entries({
      "opened-one1": { offset: "-1", live: "long-poll" },
      "opened-two2": {},
    })) {
      relay.upstream.chat(videoId, { kinds: ["text"] }).say(2);
      assert.equal((await readLog(url, videoId, query)).status, 200);
      await eventually(2, async () => (await readLog(url, videoId)).cursors.length);
    }
    for (const query of [{}, { offset: "-1", live: "long-poll" }, { offset: "now", live: "sse" }]) {
      const refused = await readLog(url, "not-a-chat_", query);
      assert.equal(refused.status, 404);
      assert.match(refused.text, /NO_LIVE_CHAT/);
      assert.equal(refused.headers.get("cross-origin-resource-policy"), "cross-origin");
    }
  });
});

describe("the events of a log", () => {
  it("begin with all that follows the offset, and a place to go on from", async (t) => {
    const { url, first } = await reading(t);
    const { headers, events } = await readEvents(url, VIDEO, "-1");
    assert.equal(headers.get("content-type"), "text/event-stream");
    assert.deepEqual(
      events.map(({ event }) => event),
      ["data", "control"],
    );
    assert.deepEqual(events[0]?.data, JSON.parse(first.text));
    const { streamCursor, ...place } = placeIn(events[1]);
    assert.deepEqual(place, { streamNextOffset: first.next, upToDate: true });
    assert.match(String(streamCursor), /^\d+$/);
  });

  it("begin with a place if there is nothing yet, and end by themselves", async (t) => {
    const { url, first } = await reading(t);
    for (const offset of ["now", first.next]) {
      const { events } = await readEvents(url, VIDEO, offset);
      assert.equal(events.length, 1);
      const { streamNextOffset, upToDate } = placeIn(events[0]);
      assert.deepEqual([events[0]?.event, streamNextOffset, upToDate], ["control", first.next, true]);
    }
  });

  it("say that they are up to date only after the last message", async (t) => {
    const { url, store, claim } = await withRoom(t, several(400));
    await store.finish(claim, ENDED);
    const { events } = await readEvents(url, ROOM, "-1");
    const places = events.filter(({ event }) => event === "control").map(placeIn);
    assert.ok(places.length > 2);
    const end = places.at(-1)?.streamNextOffset;
    for (const { streamNextOffset, upToDate } of places)
      assert.equal(upToDate === true, streamNextOffset === end, `${streamNextOffset}`);
  });

  it("are sent until the chat is over if RELAY_LOG_SSE_MS is 0", async (t) => {
    const { url, chat, first, isWaited } = await reading(t, { settings: { RELAY_LOG_SSE_MS: "0" } });
    const read = Promise.all([
      readEvents(url, VIDEO, "now"),
      readEvents(url, VIDEO, "now", { headers: { "accept-encoding": "identity" } }),
    ]);
    await isWaited(2);
    chat.say(2);
    chat.end("continuations-absent");
    const [zipped, plain] = await read;
    assert.deepEqual(zipped.events.map(timeless), plain.events.map(timeless));
    const all = await readLog(url, VIDEO, { offset: first.next });
    assert.deepEqual(itemsOf(plain.events), JSON.parse(all.text));
    const last = plain.events.at(-1);
    assert.deepEqual(last, {
      event: "control",
      data: { streamNextOffset: all.next, streamClosed: true, upToDate: true },
    });
    const late = await readEvents(url, VIDEO, "now");
    assert.deepEqual(late.events.at(-1), last);
  });
});

describe("the log of a chat that is over", () => {
  it("does not have the offsets of its replay, either for those who wait or while that is read", async (t) => {
    const { relay, chat, viewer, url } = await reading(t, { settings: { RELAY_GRACE_MS: "1" } });
    chat.end("reload-only");
    await viewer.ended();
    await eventually(0, () => metric(relay, "relay_viewers"));
    chat.change({ kind: "replay", pageSize: 1 });
    await using replay = await Stream.open(url, { videoId: VIDEO });
    await replay.untilMessages(2);
    const offset = offsetOf(replay.cursors[0] ?? 0);
    for (const live of [{}, { live: "long-poll" }, { live: "sse" }])
      assert.equal((await readLog(url, VIDEO, { offset, ...live })).status, 410);
  });

  it("stays as it was, whatever is stored of its replay, also after a restart", async (t) => {
    const settings = { RELAY_STORE: `sqlite:${await temporaryFile(t)}`, RELAY_GRACE_MS: "1" };
    const { relay, chat, viewer, first, url } = await reading(t, { settings });
    chat.end("reload-only");
    await viewer.ended();
    const closed = await readLog(url, VIDEO);
    assert.deepEqual([closed.text, closed.isClosed], [first.text, true]);
    await relay[Symbol.asyncDispose]();
    await using later = await startRelay({ settings });
    const replay = later.upstream.chat(VIDEO, { kinds: ["text"], kind: "replay" });
    replay.say(5);
    await using replayed = await Stream.open(later.url, { videoId: VIDEO });
    await replayed.ended();
    const stored = await fetch(`${later.url}/v1/messages?videoId=${VIDEO}&chat=replay`);
    const { messages } = (await stored.json()) as { messages: unknown[] };
    assert.equal(messages.length, 5, "the replay is stored");
    const at = later.url;
    const log = await readLog(at, VIDEO);
    assert.deepEqual([log.text, log.next, log.isClosed], [closed.text, closed.next, true]);
    assert.equal(log.headers.get("etag"), closed.headers.get("etag"));
    const poll = await readLog(at, VIDEO, { offset: closed.next, live: "long-poll" });
    assert.deepEqual([poll.status, poll.next, poll.isClosed], [204, closed.next, true]);
    const { events } = await readEvents(at, VIDEO, "-1");
    assert.deepEqual(itemsOf(events), JSON.parse(closed.text));
    const end = { streamNextOffset: closed.next, streamClosed: true, upToDate: true };
    assert.deepEqual(events.at(-1)?.data, end);
    assert.equal(
      (await readLog(later.url, VIDEO, { offset: offsetOf(Number(closed.next) + 1) })).status,
      410,
    );
  });

  it("is empty if nothing was said, and closed nevertheless", async (t) => {
    const relay = await startRelay();
    t.after(() => relay[Symbol.asyncDispose]());
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
    const asked = readLog(relay.url, VIDEO, { offset: "now", live: "long-poll" });
    await roomsIn(relay, "polling");
    chat.end("reload-only");
    const { next } = await asked;
    for (const query of [{}, { offset: next }]) {
      const page = await readLog(relay.url, VIDEO, query);
      assert.deepEqual([page.status, page.text, page.next, page.isClosed], [200, "[]", next, true]);
      const poll = await readLog(relay.url, VIDEO, { offset: next, live: "long-poll" });
      assert.deepEqual([poll.status, poll.next, poll.isClosed], [204, next, true]);
    }
  });
});
