/**
 * Requests behind an unanswered one on their connection: they are not begun, and the connection
 * closes after the answer under way. Behind a stream they end the connection.
 */
import assert from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it, type TestContext } from "node:test";
import { eventually, inTime } from "../../support/eventually.ts";
import { several, withRoom } from "../../support/history.ts";
import { metric, startRelay, type TestRelay } from "../../support/relay.ts";
import { ROOM } from "../../support/store-subject.ts";

const VIDEO = "pipelined-1";
const SCENARIO = { kinds: ["text" as const], timeoutMs: 15, tokens: "reusable" as const };
const LIMIT = { timeout: 300_000 };
const HEALTH = "GET /healthz HTTP/1.1\r\n\r\n";
const STREAM = `GET /v1/stream?videoId=${VIDEO} HTTP/1.1\r\n\r\n`;
const page = (limit: number) =>
  `GET /v1/messages?videoId=${VIDEO}&limit=${limit}&details=true HTTP/1.1\r\n\r\n`;
const session = (videoId: string) => {
  const body = JSON.stringify({ videoId });
  return `POST /v1/sessions HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
};

let relay: TestRelay;
before(async () => {
  relay = await startRelay();
  relay.upstream.chat(VIDEO, SCENARIO).say(300);
  const opening = await fetch(`${relay.url}/v1/stream?videoId=${VIDEO}`);
  for await (const chunk of opening.body ?? []) if (Buffer.from(chunk).includes("event: message")) break;
  await eventually(0, () => metric(relay, "relay_viewers"));
});
after(() => relay[Symbol.asyncDispose]());

interface Client {
  socket: Socket;
  /** How many requests Node's server has handed to the service on this connection. */
  handedOn(): number;
}

function dial(t: TestContext, bytes: string, url = relay.url): Client {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  socket.on("error", () => {});
  let count = 0;
  const onRequest = (event: unknown) => {
    if ((event as { socket: Socket }).socket.remotePort === socket.localPort) count += 1;
  };
  subscribe("http.server.request.start", onRequest);
  t.after(() => {
    unsubscribe("http.server.request.start", onRequest);
    socket.destroy();
  });
  socket.write(bytes);
  return { socket, handedOn: () => count };
}

/** The statuses of all answers. */
function statusesIn(received: string): string[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status = ""]) => status);
}

describe("requests behind an unanswered one", LIMIT, () => {
  for (const [name, first, behind] of [
    ["short answers", HEALTH, HEALTH],
    ["pages of history", page(1000), page(1000)],
    ["errors", "GET /nothing HTTP/1.1\r\n\r\n", page(1000)],
    ["calls of YouTube", session(VIDEO), session(VIDEO)],
    ["preflights", "OPTIONS /v1/sessions HTTP/1.1\r\n\r\n", "OPTIONS /v1/sessions HTTP/1.1\r\n\r\n"],
    [
      "requests with bodies that do not end",
      HEALTH,
      `${session(VIDEO).replace(/Length: \d+/, "Length: 9000000")}`,
    ],
  ] as const) {
    it(`for ${name}: the first one is answered, and the connection closes`, async (t) => {
      const { socket, handedOn } = dial(t, first + behind.repeat(10_000));
      const received = await text(socket);
      assert.equal(statusesIn(received).length, 1, received.slice(0, 500));
      const [, length] = /^content-length: (\d+)/im.exec(received) ?? [];
      assert.equal(Buffer.byteLength(received.split("\r\n\r\n")[1] ?? ""), Number(length));
      assert.ok(handedOn() <= 2, `${handedOn()} requests reached the service`);
    });
  }

  it("ask YouTube for nothing while the first one waits", async (t) => {
    const asked = relay.upstream.requests.length;
    relay.upstream.fault({ on: "popout", videoId: VIDEO, times: 1, as: { delayMs: 300 } });
    const { socket } = dial(t, session(VIDEO) + session("pipelined-2").repeat(500));
    const received = await text(socket);
    assert.deepEqual(statusesIn(received), ["200"]);
    assert.match(received, /^connection: close\r$/im);
    assert.ok(relay.upstream.requests.slice(asked).every(({ videoId }) => videoId !== "pipelined-2"));
  });

  it("that are not HTTP do not spoil the answer under way", async (t) => {
    const { socket } = dial(t, session(VIDEO) + HEALTH);
    socket.write("\0\0garbage\r\n\r\n");
    assert.deepEqual(statusesIn(await text(socket)), ["200"]);
  });

  it("are refused only until that one is answered: a later request is answered", async (t) => {
    const { socket } = dial(t, "");
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    for (let i = 1; i <= 50; i++) {
      socket.write(i % 2 ? page(100) : HEALTH);
      while (statusesIn(received).length < i || !received.endsWith("}")) await once(socket, "data");
    }
    assert.doesNotMatch(received, /connection: close/i);
  });

  it("do not keep the service from stopping", async (t) => {
    await using stopping = await startRelay();
    stopping.upstream.chat(VIDEO, SCENARIO);
    stopping.upstream.fault({ on: "popout", videoId: VIDEO, times: 1, as: { delayMs: 60_000 } });
    const { port } = new URL(stopping.url);
    const socket = connect(Number(port), "127.0.0.1").on("error", () => {});
    t.after(() => socket.destroy());
    socket.write(session(VIDEO) + HEALTH);
    await eventually(true, () => stopping.upstream.requests.some(({ videoId }) => videoId === VIDEO));
  });
});

describe("behind a download whose head is sent", LIMIT, () => {
  const download = `GET /v1/messages?videoId=${ROOM}&limit=all&format=csv HTTP/1.1\r\n\r\n`;

  /** A download of one message, of which nothing but the first line has come. */
  async function halfDownloaded(t: TestContext) {
    const { url, store } = await withRoom(t, several(1));
    const { read } = store;
    const asked = Promise.withResolvers<void>();
    store.read = async (...part) => {
      await asked.promise;
      return read(...part);
    };
    const { socket, handedOn } = dial(t, download, url);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    const { promise: closed, resolve } = Promise.withResolvers<void>();
    socket.on("end", resolve).on("close", () => resolve());
    while (!received.includes("cursor,")) await once(socket, "data");
    const allOnceClosed = async () => {
      await inTime(closed, "the end of the connection");
      return received;
    };
    return { socket, handedOn, goOn: asked.resolve, allOnceClosed };
  }

  it("a request is not begun: the download is completed, and the connection closes", async (t) => {
    const { socket, handedOn, goOn, allOnceClosed } = await halfDownloaded(t);
    socket.write(HEALTH);
    await eventually(2, handedOn);
    goOn();
    const received = await allOnceClosed();
    assert.deepEqual(statusesIn(received), ["200"]);
    assert.match(received, /says 0.*\r\n0\r\n\r\n$/s);
  });

  it("bytes that are not HTTP are not answered within it: the connection closes", async (t) => {
    const { socket, allOnceClosed } = await halfDownloaded(t);
    socket.write("\0\0garbage\r\n\r\n");
    const received = await allOnceClosed();
    assert.deepEqual(statusesIn(received), ["200"]);
    assert.doesNotMatch(received, /INVALID_REQUEST/);
  });
});

describe("a stream on a connection with another request", LIMIT, () => {
  it("behind an unanswered page is not opened: the page is answered, and the connection closes", async (t) => {
    const { socket } = dial(t, page(10) + STREAM);
    const received = await text(socket);
    assert.deepEqual(statusesIn(received), ["200"]);
    assert.match(received, /^content-type: application\/json/im);
    assert.equal(await metric(relay, "relay_viewers"), 0);
  });

  for (const behind of ["a stream", "any other request"]) {
    it(`with ${behind} right behind it is not opened: the connection closes without an answer`, async (t) => {
      const { socket } = dial(t, STREAM + (behind === "a stream" ? STREAM : HEALTH));
      assert.equal(await text(socket).catch(() => ""), "");
      await eventually(0, () => metric(relay, "relay_viewers"));
    });
  }

  for (const [name, request] of [
    ["an open stream", STREAM],
    ["an open stream whose request has a body", STREAM.replace("\r\n\r\n", "\r\nContent-Length: 1\r\n\r\nx")],
  ] as const) {
    it(`behind ${name} ends the connection`, async (t) => {
      const { socket } = dial(t, request);
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
      });
      const closed = once(socket, "close");
      while (!received.includes("event: init")) await once(socket, "data");
      socket.write(HEALTH);
      socket.end();
      await closed;
      assert.deepEqual(statusesIn(received), ["200"]);
      await eventually(0, () => metric(relay, "relay_viewers"));
    });
  }
});
