/**
 * Streams that are compressed once for all their viewers: wherever a connection begins, it decompresses to
 * the uncompressed stream of its own room.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, describe, it, test } from "node:test";
import { crc32, gunzipSync } from "node:zlib";
import { EventSource } from "eventsource";
import fc from "fast-check";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { bodyEnd, FORMS, type Packet } from "../../../src/serving/form.ts";
import { checksumOf, RunningSum } from "../../../src/serving/gzip.ts";
import { codePoint } from "../../support/any-text.ts";
import { eventually, PATIENCE_MS } from "../../support/eventually.ts";
import { metric, startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const ROOMS = ["compressed1", "compressed2"];
const SCENARIO = { kinds: ["text" as const], timeoutMs: 15 };
const LIMIT = { timeout: 300_000 };

const message = fc
  .record({ cursor: fc.nat(), words: fc.string({ unit: codePoint, maxLength: 300 }) })
  .map(({ cursor, words }) => ({ id: "x", cursor, body: JSON.stringify({ words }), details: "{}" }));
const batches = fc.array(
  fc.record({ isShared: fc.boolean(), messages: fc.array(message, { minLength: 1, maxLength: 20 }) }),
  { maxLength: 10 },
);

/** The body of a chunked answer. */
function unchunked(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.toString("latin1", at, lineEnd), 16);
    if (size === 0) break;
    parts.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size));
    at = lineEnd + 2 + size + 2;
  }
  return Buffer.concat(parts);
}

test("packets in any order, from any of them on, are one gzip stream of the plain packets", () => {
  fc.assert(
    fc.property(batches, fc.nat(9), (all, first) => {
      const init = { videoId: ROOMS[0] ?? "", chatType: "liveChatRenderer", cursor: first } as const;
      const packetsIn = (transferCoding: "bare" | "gzip"): Packet[] => {
        const form = FORMS.sse.plain[transferCoding];
        const sent = all
          .slice(first)
          .map(({ isShared, messages }) => form.packText(messages.map(form.frame), isShared));
        return [
          form.head(init, first),
          form.keepalive,
          ...sent,
          form.keepaliveAt(first),
          form.end({ state: "released", reason: "room released" }, first, first),
        ];
      };
      const sum = new RunningSum();
      const packets = packetsIn("gzip");
      for (const packet of packets) if (packet.sum) sum.add(packet.sum);
      const stream = unchunked(Buffer.concat([...packets.map(({ bytes }) => bytes), bodyEnd(sum)]));
      assert.deepEqual(gunzipSync(stream), Buffer.concat(packetsIn("bare").map(({ bytes }) => bytes)));
      // All that was counted as sent, and the end.
      assert.equal(
        packets.reduce((size, packet) => size + packet.size, 0),
        stream.length - 10,
      );
    }),
    { numRuns: 60 },
  );
});

test("the checksum of a stream is computed from those of its parts", () => {
  const part = fc.uint8Array({ maxLength: 5000 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const sum = new RunningSum();
      for (const bytes of parts) sum.add(checksumOf(bytes));
      const whole = Buffer.concat(parts);
      const trailer = sum.trailer().subarray(2);
      assert.deepEqual([trailer.readUInt32LE(0), trailer.readUInt32LE(4)], [crc32(whole), whole.length]);
    }),
  );
});

describe("a service that compresses", LIMIT, () => {
  let relay: TestRelay;
  let chats: Chat[];
  before(async () => {
    relay = await startRelay();
    chats = ROOMS.map((room) => relay.upstream.chat(room, SCENARIO));
    for (const chat of chats) chat.say(20);
  });
  after(() => relay[Symbol.asyncDispose]());

  const pathOf = (room = ROOMS[0]) => `/v1/stream?videoId=${room}`;

  async function headersFor(acceptEncoding: string, at = relay): Promise<(string | null)[]> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const headers = { "accept-encoding": acceptEncoding };
    const { body, headers: sent } = await fetch(at.url + pathOf(), { headers, signal });
    await body?.cancel();
    return [sent.get("content-encoding"), sent.get("vary")];
  }

  for (const [accepted, encoding] of [
    ["gzip", "gzip"],
    ["deflate, GZIP;q=0.5, br", "gzip"],
    ["x-gzip", "gzip"],
    ["gzip;q=0, deflate", null],
    ["gzip;q=0.000", null],
    ["identity", null],
    ["br, notgzip", null],
    ["", null],
  ] as const) {
    it(`answers "Accept-Encoding: ${accepted}" with ${encoding ?? "no encoding"}`, async () => {
      assert.deepEqual(await headersFor(accepted), [encoding, "Accept-Encoding"]);
    });
  }

  it("sends each viewer of each room the same as an uncompressed one, in fewer bytes", async () => {
    const plain = await Promise.all(
      ROOMS.map((videoId) => Stream.open(relay.url, { videoId, acceptEncoding: "identity" })),
    );
    const sentBefore = await metric(relay, "relay_sent_bytes_total");
    const streams = await Promise.all(
      ROOMS.flatMap((videoId) => [0, 5, 50].map((backfill) => Stream.open(relay.url, { videoId, backfill }))),
    );
    for (let batch = 0; batch < 10; batch++) {
      for (const chat of chats) chat.say(10);
      await Promise.all(plain.map((stream) => stream.untilMessages(20 + 10 * (batch + 1))));
    }
    for (const [i, stream] of streams.entries()) {
      const own = plain[Math.floor(i / 3)];
      assert.equal(stream.response.headers.get("content-encoding"), "gzip");
      await stream.until(() => stream.cursors.at(-1) === own?.cursors.at(-1));
      const frames = own?.frames.slice(-stream.messages.length);
      assert.deepEqual(stream.frames.slice(-stream.messages.length), frames);
    }
    const sent = ((await metric(relay, "relay_sent_bytes_total")) ?? 0) - (sentBefore ?? 0);
    const shown = [...plain, ...streams].reduce((sum, { raw }) => sum + Buffer.byteLength(raw), 0);
    assert.ok(sent < shown * 0.7, `${sent} bytes were sent for ${shown}`);
    await Promise.all([...plain, ...streams].map((stream) => stream.close()));
  });

  it("ends a compressed stream so that a strict reader accepts it as complete", async () => {
    const videoId = "compressed3";
    const chat = relay.upstream.chat(videoId, SCENARIO);
    const stream = await Stream.open(relay.url, { videoId });
    chat.say(5);
    await stream.untilMessages(5);
    chat.end("reload-only");
    const { event } = (await stream.ended()) ?? {};
    assert.equal(event, "end");
    assert.equal(stream.failure, undefined, "Node's decompressor checks the checksum");
  });

  it("can be read by the package eventsource as messages come", async () => {
    const source = new EventSource(relay.url + pathOf());
    const ids: string[] = [];
    source.addEventListener("message", ({ data }) => void ids.push(JSON.parse(data).id));
    await once(source, "init");
    const [due = ""] = chats[0]?.say(1) ?? [];
    await eventually(due, () => ids.at(-1));
    source.close();
  });

  it("compresses nothing if compression is off", async () => {
    await using off = await startRelay({ settings: { RELAY_COMPRESSION: "off" } });
    off.upstream.chat(ROOMS[0] ?? "", SCENARIO);
    assert.deepEqual(await headersFor("gzip", off), [null, null]);
  });
});
