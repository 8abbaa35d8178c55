/**
 * What readers of logs cost: those who wait at one offset share what they are answered and one timer, and
 * each holds little besides its socket, which serves its next request, too.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { RequestTurns } from "../../../src/http/connections/request-turns.ts";
import { LogReads } from "../../../src/http/log/log-reads.ts";
import { PAGES } from "../../../src/http/route-bounds.ts";
import { History } from "../../../src/serving/history/history.ts";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { countedClock } from "../../support/counted-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { readLog } from "../../support/log.ts";
import { heldMb } from "../../support/memory.ts";
import { metric, startRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "logged-many";
const CHAT = { kinds: ["text" as const], timeoutMs: 20 };
const WAITING = 10_000;
const WARM_UP = 50;
const MANY = 500;
/** More rounds than an emitter may have listeners before Node.js warns of a leak. */
const ROUNDS = 15;

/** A relay whose room is kept open by a viewer, and the path of a long poll at the end of its log. */
async function reading(t: TestContext) {
  const settings = { RELAY_LONG_POLL_MS: "60000" };
  // It keeps no record of its requests, whose number depends on the time that a test takes.
  const relay = await startRelay({ settings, simulator: { keepRequests: 0 } });
  t.after(() => relay[Symbol.asyncDispose]());
  const chat = relay.upstream.chat(VIDEO, CHAT);
  chat.say(3);
  const viewer = await Stream.open(relay.url, { videoId: VIDEO });
  t.after(() => viewer.close());
  await viewer.untilMessages(3);
  const { next } = await readLog(relay.url, VIDEO);
  const waiting = () => metric(relay, "relay_viewers").then((count = 0) => count - 1);
  const get = (offset: string) =>
    `GET /v1/log/${VIDEO}?offset=${offset}&live=long-poll HTTP/1.1\r\nHost: x\r\n\r\n`;
  return { relay, chat, next, waiting, get, port: Number(new URL(relay.url).port) };
}

/** Connections that have sent this. */
async function open(t: TestContext, count: number, port: number, text: string): Promise<Socket[]> {
  const opened = Array.from({ length: count }, async () => {
    const socket = connect(port, "127.0.0.1").on("error", () => {});
    t.after(() => socket.destroy());
    await once(socket, "connect");
    socket.write(text);
    return socket;
  });
  return await Promise.all(opened);
}

/** As `heldMb`. What the promises of many requests leave is freed a turn after a collection. */
async function settledMb(): Promise<number> {
  heldMb();
  await nextTurn();
  return heldMb();
}

/** The bytes that stay alive for each further connection. `isThere`: whether this number has come. */
async function eachHolds(
  t: TestContext,
  port: number,
  text: string,
  isThere: (count: number) => Promise<boolean>,
) {
  await open(t, WARM_UP, port, text);
  await eventually(true, () => isThere(WARM_UP));
  const before = await settledMb();
  await open(t, MANY, port, text);
  await eventually(true, () => isThere(WARM_UP + MANY));
  return (((await settledMb()) - before) * 1024 * 1024) / MANY;
}

describe("waiting readers of a log", { timeout: 120_000 }, () => {
  it("at one offset share one timer and a body in each coding, and hold 400 bytes each", async (t) => {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { ...CHAT, timeoutMs: 5000 });
    chat.say(3);
    await relay.enter({ videoId: VIDEO, backfill: 500 });
    const { rooms, store, telemetry, clock: own } = relay.service;
    const clock = countedClock(own);
    const log = { longPollMs: 20_000, sseMs: 0 };
    const source = { history: new History(store, clock) };
    const reads = new LogReads({
      rooms,
      clock,
      telemetry,
      source,
      isBlanking: () => false,
      turns: new RequestTurns(PAGES, "pages"),
      log,
    });
    const { head } = rooms.roomOf(VIDEO)?.tail ?? assert.fail("no room");
    const { signal } = new AbortController();
    const asked = { videoId: VIDEO, position: head, address: () => "reader" };
    const crowd = (count: number) => {
      const polls = Array.from({ length: count }, (_, n) =>
        reads.poll({ ...asked, isGzip: n % 2 === 0 }, signal),
      );
      return relay.when(Promise.all(polls));
    };
    const sinks = await crowd(WARM_UP);
    const eachHeld = async () => {
      const before = await settledMb();
      sinks.push(...(await crowd(WAITING)));
      return Math.round((((await settledMb()) - before) * 1024 * 1024) / WAITING);
    };
    // The engine's own work, as the code that it compiles meanwhile, can add to one crowd.
    const each = [await eachHeld(), await eachHeld()];
    t.diagnostic(`besides its connection, each holds ${each} bytes`);
    // If it grows, look for objects of each poll that all polls of a log could share.
    assert.ok(Math.min(...each) <= 400, `${each} bytes`);
    assert.equal(clock.pending(20_000), 1, "all wait by one timer");
    chat.say(2);
    await relay.advance(10_000);
    const bodies = new Set(sinks.map(({ answer }) => answer?.body));
    assert.equal(bodies.size, 2);
    assert.ok([...bodies].every((body) => body !== undefined));
  });

  it("hold at most 4 KB each besides their sockets", async (t) => {
    const { port, next, waiting, get } = await reading(t);
    const bare = createServer((socket) => socket.on("error", () => {}).resume()).listen(0, "127.0.0.1");
    t.after(() => bare.close());
    const connections = () =>
      new Promise<number>((resolve) => bare.getConnections((_, count) => resolve(count)));
    await once(bare, "listening");
    const barePort = (bare.address() as AddressInfo).port;
    const socket = await eachHolds(t, barePort, get(next), async (count) => (await connections()) >= count);
    const poll = await eachHolds(t, port, get(next), async (count) => (await waiting()) >= count);
    t.diagnostic(
      `a socket and its client: ${socket.toFixed()} bytes; with a waiting poll: ${poll.toFixed()}`,
    );
    assert.ok(poll - socket <= 4096, `${poll} bytes, ${socket} of them without a poll`);
  });

  it("ask again on the connection on which they were answered", async (t) => {
    const { port, chat, next, waiting, get } = await reading(t);
    const warned = once(process, "warning", { signal: t.signal }).then(([warning]) => assert.fail(warning));
    warned.catch(() => {});
    const [socket = assert.fail()] = await open(t, 1, port, get(next));
    let came = "";
    socket.on("data", (bytes) => {
      came += bytes;
    });
    for (let round = 1; round <= ROUNDS; round++) {
      await eventually(1, waiting);
      chat.say(1);
      await eventually(true, () => (came.match(/HTTP\/1\.1 200 OK\r\n/g)?.length ?? 0) === round);
      await eventually(true, () => came.endsWith("]"));
      const [, place = ""] = /stream-next-offset: (\d+)\r\n(?!.*stream-next-offset)/s.exec(came) ?? [];
      assert.equal(place, offsetOf(Number(next) + round));
      socket.write(get(place));
    }
    for (const name of ["Date", "cache-control: public", "access-control-allow-origin", "vary", "etag"])
      assert.match(came, new RegExp(`^${name}`, "mi"));
  });

  it("lose their connection if they send more requests before the answer", async (t) => {
    const { port, next, waiting, get } = await reading(t);
    const [socket = assert.fail()] = await open(t, 1, port, get(next));
    await eventually(1, waiting);
    socket.write(get(next));
    await once(socket.resume(), "close");
    await eventually(0, waiting);
  });
});
