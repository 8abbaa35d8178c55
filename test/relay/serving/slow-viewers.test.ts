/**
 * Viewers that read slowly, or not at all: each costs one chunk. A connection that takes nothing is cut, and
 * one that drains from time to time is not.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { beforeEach, describe, it, type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { pino } from "pino";
import { Backpressure } from "../../../src/http/connections/backpressure.ts";
import { takeSocket } from "../../../src/http/connections/taken-socket.ts";
import { ResponseSink, SocketSink } from "../../../src/http/streams/socket-sinks.ts";
import { FORMS } from "../../../src/serving/form.ts";
import type { Sink } from "../../../src/serving/sink.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { longActions } from "../../chaos/long-messages.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { eventually, PATIENCE_MS } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { LeapingClock } from "../../support/leaping-clock.ts";
import { metric, startRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "-_0aZ9aaaaa";
const LIMIT = { timeout: 300_000 };
/** So long that a viewer that reads is not cut on a busy machine. */
const FULL_MS = 20_000;
/** The maximum of this system, in bytes. */
const MAX_SEND_BUFFER = Number(readFileSync("/proc/sys/net/ipv4/tcp_wmem", "utf8").trim().split(/\s+/)[2]);
const DROPPED = 'relay_viewers_dropped_total{reason="full"}';

describe("a viewer that reads nothing, although its connection is full", LIMIT, () => {
  const requests = [
    ["as a socket", `/v1/stream?videoId=${VIDEO}`, "1.1", [VIDEO]],
    ["through its response", `/v1/stream?videoId=${VIDEO}`, "1.0", [VIDEO]],
    ["with several chats on its connection", `/v1/merged?videoIds=${VIDEO},${OTHER}`, "1.1", [VIDEO, OTHER]],
  ] as const;
  it(`is cut by a reset once its connection has been full for the limit, and can resume`, async (t) => {
    const answers = { bytes: 1e9, stallMs: FULL_MS };
    const log: string[] = [];
    const telemetry = new Telemetry(pino({}, { write: (line) => void log.push(line) }));
    const clock = new LeapingClock();
    const settings = { RELAY_KEEPALIVE_MS: "100" };
    const windowMs = 3_600_000; // the time that is skipped leaves no gap
    await using relay = await startRelay({ answers, telemetry, clock, windowMs, settings });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 15 });
    relay.upstream.chat(OTHER, { kinds: ["text"], timeoutMs: 15 });
    const read = { videoId: VIDEO, acceptEncoding: "identity" };
    await using witness = await Stream.open(relay.url, read);
    await witness.until(() => witness.frames.length > 0);
    const { cursor } = witness.init;
    const { hostname, port } = new URL(relay.url);
    const sockets = requests.map(([, path, version]) => {
      const socket = connect(Number(port), hostname).pause();
      t.after(() => socket.destroy());
      socket.write(`GET ${path} HTTP/${version}\r\nHost: relay\r\n\r\n`);
      return socket;
    });
    const videos = requests.map(([, , , asked]) => [...asked].sort().join());
    await eventually(1 + videos.join().split(",").length, () => metric(relay, "relay_viewers"));
    for (let said = 200; said <= 600; said += 200) {
      chat.say(longActions(said, 200));
      await witness.until(() => witness.cursors.at(-1) === cursor + chat.ledger.length);
    }
    await eventually(requests.length, () => {
      clock.leap(FULL_MS / 4);
      return metric(relay, DROPPED);
    });
    const told = log.filter((line) => line.includes("viewer dropped"));
    const named = told.map((line) => [...line.matchAll(/"videoId":"([^"]+)"/g)].map(([, id]) => id).sort());
    assert.deepEqual(named.map((ids) => ids.join()).sort(), videos.sort());
    await eventually(1, () => metric(relay, "relay_viewers"));
    for (const [index, socket] of sockets.entries()) {
      let received = "";
      await assert.rejects(
        async () => {
          for await (const chunk of socket.setEncoding("utf8")) received += chunk;
        },
        { code: "ECONNRESET" }, // no system goes on offering the bytes that were not taken
        requests[index]?.[0],
      );
      assert.ok(received.length < 12e6, `all was sent to one that does not read, ${requests[index]?.[0]}`);
    }
    await using back = await Stream.open(relay.url, { ...read, lastEventId: cursor });
    await back.until(() => back.cursors.at(-1) === cursor + chat.ledger.length);
    assert.deepEqual(back.ids, witness.ids);
  });
});

test("a viewer that takes nothing costs one chunk", async () => {
  const relay = new VirtualRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
  const { sink } = await relay.enter({ videoId: VIDEO });
  sink.stall();
  for (let said = 0; said < 100; said += 20) {
    chat.say(longActions(said, 20));
    await relay.advance(20_000);
  }
  assert.ok(sink.heldBytes > 0 && sink.heldBytes <= 70_000, `${sink.heldBytes} bytes`);
});

/** A client that reads nothing yet, and the sink that writes to it, with the sink's own socket. */
async function connected(t: TestContext, open: (response: ServerResponse) => Sink) {
  const { promise, resolve } = Promise.withResolvers<{ sink: Sink; socket: Socket }>();
  const server = createServer((request, response) => {
    response.writeHead(200);
    resolve({ sink: open(response), socket: request.socket });
  });
  server.listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").pause();
  t.after(() => client.destroy());
  client.write("GET / HTTP/1.1\r\nHost: test\r\n\r\n");
  return { client, ...(await promise) };
}

/** Writes until the connection is full: the system takes some of it. */
async function fill(sink: Sink, socket: Socket): Promise<void> {
  const chunk = FORMS.sse.plain.bare.packText([Buffer.alloc(64 * 1024, "a")], false);
  for (; socket.writableLength < chunk.size; await nextTurn()) sink.write(chunk);
}

/** The number of dropped viewers by reason, of those reasons that were seen. */
async function droppedBy({ registry }: Telemetry): Promise<Record<string, number>> {
  const values = (await registry.getSingleMetric("relay_viewers_dropped_total")?.get())?.values ?? [];
  const seen = values.filter(({ value }) => value > 0);
  return Object.fromEntries(seen.map(({ labels, value }) => [labels.reason, value]));
}

describe("a connection", { timeout: PATIENCE_MS }, () => {
  const STALL_MS = 300_000;
  const log: string[] = [];
  const clock = new FakeClock();
  const { signal: stopped } = new AbortController();
  let telemetry: Telemetry;
  let shared: Backpressure;
  beforeEach(() => {
    log.length = 0;
    telemetry = new Telemetry(pino({}, { write: (line) => void log.push(line) }));
    shared = new Backpressure({ clock, telemetry }, STALL_MS, stopped);
  });
  /** How many bytes of each dropped connection the system had not taken, as the log says. */
  const unsent = () => log.map((line) => JSON.parse(line).unsentBytes);
  const sinks: Record<string, (response: ServerResponse) => Sink> = {
    socket: (response) => new SocketSink(takeSocket(response), FORMS.sse.plain.chunked, shared, () => {}),
    response: (response) => new ResponseSink(response, FORMS.sse.plain.bare, shared, () => {}),
  };
  for (const [name, open] of Object.entries(sinks)) {
    it(`is cut if it stays full for the limit, whatever is written meanwhile: ${name}`, async (t) => {
      const { sink, socket } = await connected(t, open);
      await clock.advance(2 * STALL_MS);
      assert.equal(sink.isBackPressured, false);
      await fill(sink, socket);
      assert.equal(sink.isBackPressured, true);
      await clock.advance(STALL_MS / 2);
      sink.write(sink.form.keepalive);
      await clock.advance(STALL_MS / 2 - 1);
      assert.equal(socket.destroyed, false, "before its time");
      const { writableLength } = socket;
      const closed = once(socket, "close");
      await clock.advance(1);
      await closed;
      assert.deepEqual(await droppedBy(telemetry), { full: 1 });
      assert.deepEqual(unsent(), [writableLength]);
    });

    it(`is not cut if it drains from time to time: ${name}`, async (t) => {
      const { sink, socket, client } = await connected(t, open);
      let drained = Promise.withResolvers<void>();
      sink.attach({ drained: () => drained.resolve(), closed: () => {} });
      for (let round = 0; round < 3; round++) {
        await fill(sink, socket);
        await clock.advance(STALL_MS - 1);
        drained = Promise.withResolvers<void>();
        client.resume();
        await drained.promise;
        client.pause();
      }
      await clock.advance(2 * STALL_MS);
      assert.equal(socket.destroyed, false);
    });

    it(`drains before its client has taken half of what the system buffers: ${name}`, async (t) => {
      const { sink, socket, client } = await connected(t, open);
      let isDrained = true;
      sink.attach({
        drained: () => {
          isDrained = true;
        },
        closed: () => {},
      });
      for (let round = 0; round < 5; round++) {
        await fill(sink, socket);
        const before = client.bytesRead;
        for (isDrained = false; !isDrained; await nextTurn()) {
          await once(client.resume(), "data");
          client.pause();
          await nextTurn();
        }
        const taken = client.bytesRead - before;
        assert.ok(taken < MAX_SEND_BUFFER / 2, `${taken} bytes`);
      }
    });

    it(`has as long for the rest of a stream that is over, else counts as dropped: ${name}`, async (t) => {
      const { sink, socket } = await connected(t, open);
      await fill(sink, socket);
      sink.end();
      assert.equal(sink.isBackPressured, true);
      sink.write(sink.form.keepalive); // its room does not know yet that it is over
      await clock.advance(STALL_MS - 1);
      assert.equal(socket.destroyed, false, "before its time");
      const { writableLength } = socket;
      const closed = once(socket, "close");
      await clock.advance(1);
      await closed;
      assert.deepEqual(await droppedBy(telemetry), { rest: 1 });
      assert.ok(writableLength > 0);
      assert.deepEqual(unsent(), [writableLength]);
    });

    it(`is not dropped if it takes the rest of a stream that is over: ${name}`, async (t) => {
      const { sink, socket, client } = await connected(t, open);
      await fill(sink, socket);
      sink.end();
      const closed = once(socket, "close");
      client.resume();
      await closed;
      await clock.advance(2 * STALL_MS);
      assert.deepEqual(await droppedBy(telemetry), {});
    });
  }
});
