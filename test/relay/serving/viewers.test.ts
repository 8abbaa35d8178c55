/**
 * Viewers that send nonsense, read slowly or not at all, leave at the wrong time or do not speak HTTP.
 * Nothing is kept of them, and a witness in the same room is sent everything all the while, on one
 * connection.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { createParser } from "eventsource-parser";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { longActions } from "../../chaos/long-messages.ts";
import { ask, assertRefused } from "../../support/api.ts";
import { eventually, PATIENCE_MS } from "../../support/eventually.ts";
import { heldAnswer } from "../../support/held-answer.ts";
import { metric, startRelay, type TestRelay } from "../../support/relay.ts";
import { assertConsecutive, Stream } from "../../support/stream.ts";
import { assertExact, Viewer } from "../../support/viewers.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "-_0aZ9aaaaa";
const PATH = `/v1/stream?videoId=${VIDEO}`;
const HEAD = `GET ${PATH} HTTP/1.1\r\nHost: relay\r\n`;
const SCENARIO = { kinds: ["text" as const], timeoutMs: 15 };
const LIMIT = { timeout: 300_000 };

let relay: TestRelay;
let chat: Chat;
let witness: Viewer;
let base: number;
const sockets = new Set<Socket>();

before(async () => {
  relay = await startRelay();
  chat = relay.upstream.chat(VIDEO, SCENARIO);
  witness = await Viewer.open(() => relay.url, { videoId: VIDEO });
  base = witness.history.cursor;
});

/** Whatever a test did: the witness gets every message, and is the only viewer left. */
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  chat.say(2);
  await witness.reached(base + chat.ledger.length);
  await untilViewers(1);
});

after(async () => {
  try {
    await witness.leave();
    const ids = chat.ledger.map(({ id }) => id);
    assertExact(witness.history, base, ids);
    assert.equal(witness.history.messages.length, ids.length);
    await untilViewers(0);
  } finally {
    await relay[Symbol.asyncDispose]();
  }
}, LIMIT);

async function untilViewers(count: number, at = relay): Promise<void> {
  await eventually(count, () => metric(at, "relay_viewers"));
}

/** A connection that does only what the test does with it: it reads nothing and never closes by itself. */
function dial(bytes: string | Buffer): Socket {
  const { hostname, port } = new URL(relay.url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on("error", () => {}); // a connection that the service resets is what some tests are about
  sockets.add(socket.pause());
  socket.write(bytes);
  return socket;
}

/** Reads until the text has come. */
async function reads(socket: Socket, awaited: string): Promise<string> {
  let all = "";
  for await (const chunk of socket.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    all += chunk;
    if (all.includes(awaited)) return all;
  }
  assert.fail(`the connection ended after: ${all.slice(-500)}`);
}

/** All that comes until the service closes its half; this half stays open. */
async function rest(socket: Socket): Promise<string> {
  let all = "";
  socket.on("data", (chunk) => {
    all += chunk;
  });
  await once(socket.resume(), "end", { signal: AbortSignal.timeout(PATIENCE_MS) });
  return all;
}

/** 12 MB, more than an unread socket holds; the witness reads along. */
async function sayMuch(): Promise<void> {
  for (let i = 0; i < 3; i++) {
    chat.say(longActions(chat.ledger.length, 200));
    await witness.reached(base + chat.ledger.length);
  }
}

describe("nothing is left of a viewer", LIMIT, () => {
  it("that sends half a head and disconnects", async () => {
    const socket = dial("GET /v1/stream?video");
    await once(socket, "connect");
    socket.resetAndDestroy();
  });

  it("that disconnects in the middle of its request, a hundred times", async () => {
    for (let i = 0; i < 100; i++) {
      const socket = dial(`${HEAD}\r\n`);
      await once(socket, "connect");
      if (i % 2 === 0) socket.resetAndDestroy();
      else socket.destroy();
    }
  });

  for (const [name, head, body] of [
    ["a body", "Content-Length: 5", "hello"],
    ["a body of 8 MB", "Content-Length: 8000000", "a".repeat(8_000_000)],
    ["half a body", "Content-Length: 8000000", "a".repeat(4_000_000)],
    ["a body in chunks", "Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"],
  ] as const) {
    it(`that sends ${name} with its GET; it is served`, async () => {
      const socket = dial(`${HEAD}${head}\r\n\r\n`);
      socket.write(body);
      await reads(socket, "event: init");
      const [id = ""] = chat.say(1);
      await reads(socket, id);
      socket.destroy();
    });
  }

  it("that sends garbage right after its request, and keeps its half of the connection", async () => {
    const socket = dial(`${HEAD}\r\n\0\0garbage\r\n\r\n`);
    assert.match(await rest(socket), /^HTTP\/1\.1 400 .*"code":"INVALID_REQUEST"/s);
    chat.say(1);
    await untilViewers(1);
  });

  it("that sends garbage into its stream and keeps its side open: the answer holds the stream alone", async () => {
    const socket = dial(`${HEAD}\r\n`);
    await reads(socket, "event: init");
    await untilViewers(2);
    socket.write("\0\0garbage\r\n\r\n");
    const received = await rest(socket);
    chat.say(1);
    await untilViewers(1);
    assert.doesNotMatch(received, /HTTP\/1\.1/);
  });

  for (const [name, atOnce] of [
    ["at once", true],
    ["one after the other", false],
  ] as const) {
    it(`that requests two streams ${name} on one connection, which ends it`, async () => {
      const request = `${HEAD}\r\n`;
      const socket = dial(atOnce ? request + request : request);
      if (!atOnce) {
        await reads(socket, "event: init");
        socket.write(request);
      }
      const received = await rest(socket);
      assert.equal(received.match(/event: init/g)?.length ?? 0, received.match(/HTTP/g)?.length ?? 0);
      await untilViewers(1);
    });
  }

  for (const [name, videoId, behind] of [
    ["a socket alone", "ended-chat1", ""],
    ["a response to a body", "ended-chat2", "Content-Length: 1\r\n\r\nx"],
  ] as const) {
    it(`after its stream through ${name} ended: the connection closes silently`, async () => {
      const ended = relay.upstream.chat(videoId, SCENARIO);
      const socket = dial(`${HEAD.replace(VIDEO, videoId)}${behind || "\r\n"}`);
      const received = await reads(socket, "event: init");
      ended.end("reload-only");
      assert.match(received + (await rest(socket)), /event: end\ndata: .*\n\n\r\n0\r\n\r\n$/);
      await once(socket.end(), "close", { signal: AbortSignal.timeout(PATIENCE_MS) });
    });
  }

  it("that speaks HTTP/1.0; it is served, without chunks", async () => {
    const socket = dial(`GET ${PATH} HTTP/1.0\r\n\r\n`);
    const [head = "", body = ""] = (await reads(socket, "event: init")).split("\r\n\r\n");
    assert.doesNotMatch(head, /chunked/i);
    assert.match(body, /^retry: 3000\n\nevent: init\n/);
    socket.destroy();
  });

  it("that leaves during its room's bootstrap; the remaining viewer is served by the same bootstrap", async () => {
    relay.upstream.chat(OTHER, SCENARIO).say(3);
    const { promise: isLeft, resolve: left } = Promise.withResolvers<void>();
    const as = heldAnswer(() => isLeft);
    const held = relay.upstream.fault({ on: "popout", videoId: OTHER, times: 1, as });
    const leaver = dial(HEAD.replace(VIDEO, OTHER).concat("\r\n"));
    const [page] = await relay.upstream.requested("popout", { videoId: OTHER, since: 0 });
    const staying = Stream.open(relay.url, { videoId: OTHER });
    await untilViewers(3);
    leaver.destroy();
    await untilViewers(2);
    const isUnderWay = page?.finishedAt === undefined;
    left();
    await using stayer = await staying;
    assert.ok(held.fired === 1 && isUnderWay, "counted until the bootstrap was over");
    await stayer.untilMessages(3);
    const pages = relay.upstream.requests.filter(
      ({ kind, videoId }) => kind === "popout" && videoId === OTHER,
    );
    assert.equal(pages.length, 1);
  });
});

describe("a viewer", LIMIT, () => {
  it("that takes nothing for a while, again and again, gets everything on one connection", {
    timeout: 60_000,
  }, async () => {
    const from = witness.history.cursor;
    const request = get(relay.url + PATH, { headers: { "last-event-id": from } });
    const [response] = (await once(request, "response")) as [IncomingMessage];
    const chunks = response.setEncoding("utf8")[Symbol.asyncIterator]();
    const cursors: number[] = [];
    const parser = createParser({ onEvent: ({ id }) => id && cursors.push(Number(id)) });
    for (let pauses = 0; pauses < 2; pauses++) {
      await sayMuch();
      const due = base + chat.ledger.length;
      while (cursors.at(-1) !== due) {
        const { value, done } = await chunks.next();
        assert.ok(!done, "the connection ended");
        parser.feed(value);
      }
    }
    response.destroy();
    assertConsecutive(cursors, from);
  });
});

describe("at capacity", LIMIT, () => {
  /** A request to be refused: should a stream open instead, it is not waited for. */
  async function assertNoPlace({ url }: TestRelay, videoId: string): Promise<void> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const answer = await ask(url, `/v1/stream?videoId=${videoId}`, { signal });
    assertRefused(answer, 503, "CAPACITY");
    assert.ok(Number(answer.headers.get("retry-after")) >= 1);
  }

  it("viewers above the limit get 503 CAPACITY, and are admitted when one has left", async () => {
    await using small = await startRelay({ settings: { RELAY_MAX_VIEWERS: "2" } });
    small.upstream.chat(VIDEO, SCENARIO);
    await using stays = await Stream.open(small.url, { videoId: VIDEO });
    const leaves = await Stream.open(small.url, { videoId: VIDEO });
    await assertNoPlace(small, VIDEO);
    await leaves.close();
    await untilViewers(1, small);
    await using next = await Stream.open(small.url, { videoId: VIDEO });
    await next.until(() => next.frames.length > 0);
    assert.ok(!stays.over);
  });

  it("rooms above the limit get 503 CAPACITY, and open rooms can be entered", async () => {
    await using small = await startRelay({ settings: { RELAY_MAX_ROOMS: "1" } });
    small.upstream.chat(VIDEO, SCENARIO);
    small.upstream.chat(OTHER, SCENARIO);
    await using first = await Stream.open(small.url, { videoId: VIDEO });
    await assertNoPlace(small, OTHER);
    await using second = await Stream.open(small.url, { videoId: VIDEO });
    await second.until(() => second.frames.length > 0);
    assert.ok(!first.over);
    assert.ok(!small.upstream.requests.some(({ videoId }) => videoId === OTHER));
  });
});
