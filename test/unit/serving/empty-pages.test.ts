/**
 * Viewers whose page of the store is empty, because retention has deleted what follows their cursor: as bytes
 * on the wire.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { systemClock } from "../../../src/base/clock.ts";
import { Backpressure } from "../../../src/http/connections/backpressure.ts";
import { takeSocket } from "../../../src/http/connections/taken-socket.ts";
import { SocketSink } from "../../../src/http/streams/socket-sinks.ts";
import { ENDED } from "../../../src/protocol/chat.ts";
import { chatKey } from "../../../src/protocol/chat-key.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { Room } from "../../../src/serving/room.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { SimulatedSink } from "../../harness/sink.ts";
import { PATIENCE_MS } from "../../support/eventually.ts";
import { messages, own } from "../../support/store-reading.ts";
import { openFor, ROOM, temporaryFile } from "../../support/store-subject.ts";

const LIMIT = { timeout: PATIENCE_MS };
const REQUEST = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";
const LAST_CHUNK = "0\r\n\r\n";

/** All that a viewer of a finished room is sent if everything after its cursor has been deleted. */
async function sentAfterPruning(t: TestContext, storeUrl: string): Promise<Buffer> {
  const store = await openFor(t, storeUrl);
  const claim = await own(store, ROOM);
  await store.append(claim, claim.head, messages(["a", "b"]), "{}");
  const settings = { keepaliveMs: 1000, isBlanking: false };
  const telemetry = new Telemetry(silentLog);
  const parts = { store, clock: systemClock, telemetry, settings, census: { viewers: 0 } };
  const room = new Room(chatKey(ROOM, "replay"), claim.head + 2, parts);
  room.finish(ENDED);
  const stop = new AbortController();
  t.after(() => stop.abort());
  const shared = new Backpressure({ clock: systemClock, telemetry }, 60_000, stop.signal);
  const server = createServer(async (_request, response) => {
    response.writeHead(200);
    const open = () => {
      void store.prune(-1000, 100); // before the viewer, whose place is known by now, reads a page
      return new SocketSink(takeSocket(response), FORMS.sse.plain.chunked, shared, () => {});
    };
    await room.add({
      videoId: ROOM,
      lastEventId: claim.head,
      backfill: 0,
      address: () => "",
      openSink: open,
    });
  });
  server.listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.write(REQUEST);
  const received: Buffer[] = [];
  for await (const bytes of socket.iterator({ destroyOnReturn: false })) {
    received.push(bytes);
    if (bytes.includes(LAST_CHUNK)) break;
  }
  return Buffer.concat(received);
}

/** The chunks of the body, up to the one of size 0, and the bytes after it. */
function chunksOf(answer: Buffer): { chunks: string[]; behind: string } {
  const chunks: string[] = [];
  for (let at = answer.indexOf("\r\n\r\n") + 4; ; ) {
    const lineEnd = answer.indexOf("\r\n", at);
    const size = Number.parseInt(answer.toString("latin1", at, lineEnd), 16);
    const end = lineEnd + 2 + size;
    if (size === 0) return { chunks, behind: answer.toString("latin1", end + 2) };
    chunks.push(answer.toString("latin1", lineEnd + 2, end));
    at = end + 2;
  }
}

for (const storeName of ["memory", "sqlite"]) {
  test(
    `an empty page of ${storeName} sends no chunk, so the rest of the stream follows`,
    LIMIT,
    async (t) => {
      const url = storeName === "memory" ? "memory:" : `sqlite:${await temporaryFile(t)}`;
      const { chunks, behind } = chunksOf(await sentAfterPruning(t, url));
      assert.equal(behind, "");
      assert.match(chunks.join(""), /event: init\n.*event: end\n/s);
    },
  );
}

test("an empty text cannot become a chunk, which would end the body", () => {
  for (const transferCoding of ["chunked", "gzip"] as const) {
    assert.throws(() => FORMS.sse.plain[transferCoding].packText([], false), /end the body/);
  }
});

/** A room whose store is away, and the entry of a viewer that has to read there. */
async function roomWithoutStore(t: TestContext) {
  const store = await openFor(t, "memory:");
  const claim = await own(store, ROOM);
  await store.append(claim, claim.head, messages(["a", "b"]), "{}");
  const away = { ...store, read: () => Promise.reject(new StoreError("unavailable", "it is away")) };
  const telemetry = new Telemetry(silentLog);
  const settings = { keepaliveMs: 1000, isBlanking: false };
  const parts = { store: away, clock: systemClock, telemetry, settings, census: { viewers: 0 } };
  const room = new Room(chatKey(ROOM, "replay"), claim.head + 2, parts);
  const sent: Buffer[] = [];
  const sink = new SimulatedSink(FORMS.sse.plain.bare, (bytes) => sent.push(bytes));
  const enter = (open: () => SimulatedSink) =>
    room.add({ videoId: ROOM, lastEventId: claim.head, backfill: 0, address: () => "", openSink: open });
  return { room, sink, sent, telemetry, enter };
}

test("a viewer that waits for the store when its room closes ends in order, not as a broken one", async (t) => {
  const { room, sink, telemetry, enter } = await roomWithoutStore(t);
  const resets: string[] = [];
  sink.reset = () => void resets.push("reset");
  await enter(() => sink);
  room.disconnect();
  await nextTurn();
  assert.deepEqual([sink.closedBy, resets], ["end", []]);
  assert.doesNotMatch(
    await telemetry.registry.metrics(),
    /^relay_viewers_dropped_total\{reason="broken"\} [^0]/m,
  );
});

test("a viewer that enters a room while it closes is ended, so that it can come back", async (t) => {
  const { room, sink, sent, enter } = await roomWithoutStore(t);
  await enter(() => {
    room.disconnect();
    return sink;
  });
  await nextTurn();
  assert.deepEqual([sink.closedBy, room.viewerCount], ["end", 0]);
  // Without a head, a compressed stream could not be read.
  assert.match(`${Buffer.concat(sent)}`, /^retry: \d+\n\nevent: init\n.*\n\n$/s);
});
