/**
 * What a stranger can have of the service many times over, without an answer or without reading it: the bytes
 * that stay alive for each. The test's half of the connection counts with them.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { ask, askRaw, assertRefused } from "../../support/api.ts";
import { countRequests } from "../../support/begun-requests.ts";
import { eventually } from "../../support/eventually.ts";
import { heldMb } from "../../support/memory.ts";
import { metric, startRelay, type TestRelay } from "../../support/relay.ts";

const VIDEO = "held-chat-1";
const WARM_UP = 20;
const MANY = 150;
const KB = 1024;

/** A request with a body of `length`, of which `sent` have come. */
const post = (path: string, length: number, sent: string) =>
  `POST ${path} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${sent}`;
const unended = (length: number) => post("/v1/poll", length, "x".repeat(length - 1));
const session = (n: number) => {
  const body = JSON.stringify({ videoId: `waiting-${100 + n}` });
  return post("/v1/sessions", body.length, body);
};
const PAGE = `GET /v1/messages?videoId=${VIDEO}&limit=1000&details=true HTTP/1.1\r\n\r\n`;

const STREAM = `GET /v1/stream?videoId=${VIDEO}&backfill=0 HTTP/1.1\r\n\r\n`;
const MERGED = `GET /v1/merged?videoIds=${VIDEO}&backfill=0 HTTP/1.1\r\n\r\n`;

let relay: TestRelay;
/** Its gate has started its only call for ten minutes. */
let slow: TestRelay;
before(async () => {
  relay = await startRelay();
  relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 15 }).say(1000);
  const opening = await fetch(`${relay.url}/v1/stream?videoId=${VIDEO}&backfill=0`);
  await opening.body?.cancel();
  await eventually(0, () => metric(relay, "relay_viewers"));
  slow = await startRelay({ settings: { RELAY_GATE_SPACING_MS: "600000" } });
  await askRaw(slow.url, post("/v1/poll", 2, "{}").replace("\r\n", "\r\nConnection: close\r\n"));
});
after(async () => {
  await slow[Symbol.asyncDispose]();
  await relay[Symbol.asyncDispose]();
});

interface Row {
  request(n: number): string;
  /** Whether the request is answered; else it waits. */
  isAnswered?: boolean;
  on?: () => TestRelay;
  /** In bytes, for one of them. */
  most: number;
}

const ROWS: Record<string, Row> = {
  "an idle connection": { request: () => "GET /healthz HTTP/1.1\r\n\r\n", isAnswered: true, most: 24 * KB },
  // If it grows, the viewer keeps more than its socket and its cursor.
  "a viewer of an open room": { request: () => STREAM, isAnswered: true, most: 16 * KB },
  // If it grows, each chat of a multiplex keeps more than its cursor and its place in the order.
  "a merged stream of an open room": { request: () => MERGED, isAnswered: true, most: 16 * KB },
  "a preflight": { request: () => "OPTIONS /v1/poll HTTP/1.1\r\n\r\n", isAnswered: true, most: 24 * KB },
  "a small body that does not end": { request: () => unended(16 * KB), most: 40 * KB },
  // On a connection, one request is begun; whatever is behind it costs nothing.
  "500 pages that are not read": { request: () => PAGE.repeat(500), isAnswered: true, most: 64 * KB },
  "500 sessions that wait": { request: (n) => session(n).repeat(500), on: () => slow, most: 64 * KB },
};

async function open(
  count: number,
  { request, isAnswered, on = () => relay }: Row,
  from = 0,
): Promise<Socket[]> {
  const { hostname, port } = new URL(on().url);
  const opened = Array.from({ length: count }, async (_, n) => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    socket.write(request(from + n));
    if (isAnswered) await once(socket, "readable");
    return socket;
  });
  return Promise.all(opened);
}

const pause = async ({ on = () => relay }: Row) => {
  for (let i = 0; i < 20; i++) await ask(on().url, "/healthz");
};

describe("the bytes that are alive for each", () => {
  /** With all connections so far, which stay open: a collection of garbage costs more than a row. */
  let beforeMb: number;
  const opened: Socket[] = [];
  before(async () => {
    for (const row of Object.values(ROWS)) {
      opened.push(...(await open(WARM_UP, row)));
      await pause(row);
    }
    beforeMb = heldMb();
  });
  after(() => {
    for (const socket of opened) socket.destroy();
  });

  for (const [name, row] of Object.entries(ROWS)) {
    it(`${name}: at most ${row.most} bytes`, async (t) => {
      const requests = countRequests(t, row.on?.() ?? relay);
      opened.push(...(await open(MANY, row, WARM_UP)));
      await eventually(true, () => requests() >= MANY);
      await pause(row);
      const nowMb = heldMb();
      const each = Math.round(((nowMb - beforeMb) * KB * KB) / MANY);
      beforeMb = nowMb;
      assert.ok(each <= row.most, `${each} bytes`);
    });
  }
});

it("large bodies that do not end: 200 may arrive, and the next is refused; a small one is read", async (t) => {
  const large = unended(60 * KB);
  const requests = countRequests(t, relay);
  const sockets = await open(200, { request: () => large, most: 0 });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
  });
  await eventually(200, requests);
  const small = post("/v1/poll", 2, "{}").replace("\r\n", "\r\nConnection: close\r\n");
  assertRefused(await askRaw(relay.url, small), 400, "INVALID_REQUEST");
  const whole = post("/v1/poll", 60 * KB, "x".repeat(60 * KB)).replace("\r\n", "\r\nConnection: close\r\n");
  assertRefused(await askRaw(relay.url, whole), 503, "CAPACITY");
  sockets[0]?.destroy();
  await eventually(400, async () => (await askRaw(relay.url, whole)).status);
});
