/**
 * The stream over real connections: its two formats, NDJSON beside Server-Sent Events; its bounds; and what
 * clients make of the cursors that a filter sends without data.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { EventSource } from "eventsource";
import { createParser } from "eventsource-parser";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { ask, assertRefused } from "../../support/api.ts";
import { paidAction, textAction } from "../../support/chat-actions.ts";
import { PATIENCE_MS } from "../../support/eventually.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const SCENARIO = { kinds: ["text" as const], timeoutMs: 15 };
const NDJSON = "application/x-ndjson";
const LIMIT = { timeout: 300_000 };

let relay: TestRelay;
let rooms = 0;
before(async () => {
  relay = await startRelay({ settings: { RELAY_KEEPALIVE_MS: "40" } });
});
after(() => relay[Symbol.asyncDispose]());

/** A chat that has said: text, Super Chat, text; and the room that it is in. */
async function mixedChat(): Promise<{ chat: Chat; videoId: string; path: string }> {
  rooms += 1;
  const videoId = `formats-${String(rooms).padStart(3, "0")}`;
  const chat = relay.upstream.chat(videoId, SCENARIO);
  chat.say([textAction("t1"), paidAction("p1", "$5.00"), textAction("t2")]);
  return { chat, videoId, path: `/v1/stream?videoId=${videoId}` };
}

/** The whole stream of a chat that ends while it is open, and its answer's head. */
async function wholeStream(path: string, chat: Chat, headers: Record<string, string>) {
  const response = await fetch(relay.url + path, { headers, signal: AbortSignal.timeout(PATIENCE_MS) });
  await relay.upstream.requested("get_live_chat", { videoId: chat.videoId, count: 3, since: 0 });
  chat.end("reload-only");
  return { response, body: await response.text() };
}

const linesOf = (body: string) =>
  body
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

describe("the format", LIMIT, () => {
  for (const [accept, mediaType] of [
    [undefined, "text/event-stream"],
    ["*/*", "text/event-stream"],
    ["text/event-stream", "text/event-stream"],
    [NDJSON, NDJSON],
    ["Application/X-NDJSON", NDJSON],
    ["text/html, application/x-ndjson;q=0.5, */*;q=0.1", NDJSON],
    ["application/x-ndjson ; charset=utf-8", NDJSON],
    ["application/x-ndjson, text/event-stream", "text/event-stream"],
    ["application/x-ndjson, text/event-stream;q=0", NDJSON],
    ["application/x-ndjson;q=0", "text/event-stream"],
    ["application/x-ndjson;q=0.00, */*", "text/event-stream"],
    ["application/x-ndjson2", "text/event-stream"],
    ["application/*", "text/event-stream"],
  ] as const) {
    it(`for "Accept: ${accept}" is ${mediaType}`, async () => {
      const { path } = await mixedChat();
      const { status, headers, body } = await fetch(relay.url + path, { headers: accept ? { accept } : {} });
      await body?.cancel();
      assert.equal(status, 200);
      assert.equal(headers.get("content-type"), mediaType);
      assert.equal(headers.get("vary"), mediaType === NDJSON ? "Accept, Accept-Encoding" : "Accept-Encoding");
      assert.deepEqual(
        ["cache-control", "x-accel-buffering", "access-control-allow-origin"].map((name) =>
          headers.get(name),
        ),
        ["no-cache", "no", "*"],
      );
    });
  }
});

describe("NDJSON", LIMIT, () => {
  it("is the same stream, one object per line, with the event first and a message's cursor second", async () => {
    const { chat, videoId, path } = await mixedChat();
    await using sse = await Stream.open(relay.url, { videoId, details: true });
    const { response, body } = await wholeStream(`${path}&details=true`, chat, { accept: NDJSON });
    await sse.ended();
    assert.equal(response.headers.get("content-encoding"), "gzip");
    assert.ok(body.endsWith("}\n"));
    const lines = linesOf(body).filter(({ event }) => event !== "keepalive");
    assert.deepEqual(
      lines,
      sse.frames.map(({ event, id, data }) => ({
        event,
        ...(id && { cursor: Number(id) }),
        ...(data as object),
      })),
    );
    assert.deepEqual(Object.keys(lines[1] ?? {}).slice(0, 4), ["event", "cursor", "type", "id"]);
    assert.deepEqual(lines.at(-1), { event: "end", reason: "no more continuations" });
  });

  it("has keepalives, and the cursor if a filter has omitted messages", async () => {
    const { chat, path } = await mixedChat();
    const { body } = await wholeStream(`${path}&types=superchat`, chat, { accept: NDJSON });
    const [init, paid, ...rest] = linesOf(body);
    assert.deepEqual([init.event, paid.event, paid.id], ["init", "message", "p1"]);
    const seen = new Set(rest.map((line) => JSON.stringify(line)));
    assert.deepEqual([...seen].sort(), [
      `{"event":"cursor","cursor":${paid.cursor + 1}}`,
      '{"event":"end","reason":"no more continuations"}',
      ...(seen.size > 2 ? ['{"event":"keepalive"}'] : []),
    ]);
  });

  it("resumes after a cursor that came alone", async () => {
    const { chat, path } = await mixedChat();
    const { body } = await wholeStream(`${path}&types=superchat`, chat, { accept: NDJSON });
    const { cursor } = linesOf(body).find(({ event }) => event === "cursor");
    const headers = { accept: NDJSON, "last-event-id": String(cursor) };
    const again = await (await fetch(`${relay.url}${path}&types=superchat`, { headers })).text();
    assert.deepEqual(
      linesOf(again).filter(({ event }) => event !== "keepalive"),
      [
        { event: "init", videoId: chat.videoId, chatType: "liveChatRenderer", cursor },
        { event: "end", reason: "no more continuations" },
      ],
    );
  });

  it("is sent without chunks to HTTP/1.0", async () => {
    const { chat, path } = await mixedChat();
    const { hostname, port } = new URL(relay.url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write(`GET ${path} HTTP/1.0\r\nAccept: ${NDJSON}\r\nAccept-Encoding: gzip\r\n\r\n`);
    await relay.upstream.requested("get_live_chat", { videoId: chat.videoId, count: 3, since: 0 });
    chat.end("reload-only");
    const [head = "", body = ""] = (await text(socket)).split("\r\n\r\n");
    assert.match(head, /content-type: application\/x-ndjson\r\n/);
    assert.deepEqual(
      linesOf(body)
        .map(({ event, id }) => id ?? event)
        .filter((event) => event !== "keepalive"),
      ["init", "t1", "p1", "t2", "end"],
    );
  });

  it("does not apply to errors, which stay JSON", async () => {
    const init = { headers: { accept: NDJSON } };
    const answer = await ask(relay.url, "/v1/stream?videoId=nonsense", init);
    assertRefused(answer, 400, "INVALID_VIDEO_ID");
    assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
  });
});

describe("the bounds of a stream", LIMIT, () => {
  it("are a time in any form, and now", async () => {
    const { videoId, path } = await mixedChat();
    await using stream = await Stream.open(relay.url, { videoId });
    await stream.untilMessages(3);
    const hour = 3_600_000;
    for (const [offsetMs, count] of [
      [-hour, 3],
      [hour, 0],
    ] as const) {
      const time = new Date(Date.now() + offsetMs);
      const iso = time.toISOString();
      const inOslo = `${new Date(time.getTime() + hour).toISOString().slice(0, -1)}+01:00`;
      for (const from of [iso, inOslo, String(time.getTime())]) {
        const query = new URLSearchParams({ from, until: "now", backfill: "1" });
        const headers = { accept: NDJSON };
        const lines = linesOf(await (await fetch(`${relay.url}${path}&${query}`, { headers })).text());
        assert.equal(lines.filter(({ event }) => event === "message").length, count, from);
        assert.deepEqual(lines.at(-1), { event: "end", reason: "until" });
      }
    }
  });

  it("says that its connection closes behind it, so no client sends its next request there", async () => {
    const { videoId, path } = await mixedChat();
    await using stream = await Stream.open(relay.url, { videoId });
    await stream.untilMessages(3);
    const { headers, body } = await fetch(`${relay.url}${path}&until=now`);
    await body?.cancel();
    assert.equal(headers.get("connection"), "close");
  });

  for (const [query, field] of [
    ["from=", "from"],
    ["from=yesterday", "from"],
    ["from=2026-11-20T20:00:00", "from"],
    ["from=-1", "from"],
    ["from=1&from=2", "from"],
    ["until=later", "until"],
    ["until=", "until"],
  ] as const) {
    it(`"${query}" is 400, and the answer lists the valid forms`, async () => {
      const { path } = await mixedChat();
      const answer = await ask<{ message: string }>(relay.url, `${path}&${query}`);
      assertRefused(answer, 400, "INVALID_REQUEST");
      assert.match(answer.body.message, new RegExp(`^${field}: must be `));
    });
  }

  it("of a video without stored messages give 404", async () => {
    const answer = await ask(relay.url, "/v1/stream?videoId=never-read1&until=now");
    assertRefused(answer, 404, "NOT_STORED");
  });
});

describe("a cursor without data, for clients of Server-Sent Events", LIMIT, () => {
  /** A stream of Super Chats whose client gets a cursor with a keepalive and before the end. */
  async function filtered(): Promise<{ chat: Chat; path: string; head: number; videoId: string }> {
    const { chat, path, videoId } = await mixedChat();
    await using stream = await Stream.open(relay.url, { videoId, backfill: 3 });
    await stream.untilMessages(3);
    return { chat, videoId, path: `${path}&types=superchat`, head: stream.cursors[2] ?? 0 };
  }

  it("is an id, and no event, for eventsource-parser", async () => {
    const { chat, path, head } = await filtered();
    const { body } = await wholeStream(path, chat, { accept: "text/event-stream" });
    const seen: string[] = [];
    const parser = createParser({
      onId: (id) => seen.push(id),
      onEvent: ({ event, id }) => seen.push(`${event} ${id}`),
      onError: ({ message }) => seen.push(message),
    });
    for (const letter of body) parser.feed(letter);
    const messages = [`${head - 1}`, `message ${head - 1}`];
    assert.deepEqual(seen, ["init undefined", ...messages, `${head}`, "end undefined"]);
  });

  it("is the last event id of the package eventsource", async () => {
    const { chat, path, head } = await filtered();
    const source = new EventSource(relay.url + path);
    const heard: string[] = [];
    for (const type of ["init", "message", "end", "error"])
      source.addEventListener(type, ({ lastEventId }) => heard.push(`${type} ${lastEventId}`));
    const ended = once(source as never, "end");
    await relay.upstream.requested("get_live_chat", { videoId: chat.videoId });
    chat.end("reload-only");
    await ended;
    source.close();
    assert.deepEqual(heard, ["init ", `message ${head - 1}`, `end ${head}`]);
  });
});
