/**
 * Viewers that read slowly without a pause are not cut; viewers that do not read are. Over real sockets the
 * limit is 3 s for 30 s, and the rate 110 KB/s: twice the minimum, since the reader itself may be late.
 */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, before, describe, it, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { STALL_MS, Stall } from "../../../src/serving/stall.ts";
import { longActions } from "../../chaos/long-messages.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const LIMIT = { timeout: 60_000 };
const SCALED_STALL_MS = 3000;

describe("a viewer that takes 4 KB at a time, 110 KB/s in all", { ...LIMIT, concurrency: true }, () => {
  const READ_BYTES = 4096;
  const READ_EVERY_MS = 35;
  /** Linux reports a send buffer as free by thirds: of 4 MB, 10 s pass between two reports. */
  const READS = (4 * SCALED_STALL_MS) / READ_EVERY_MS;

  let relay: TestRelay;
  let base: number;
  /** The relay's time: what passes between two reads, however late the machine is. */
  const clock = new FakeClock();
  let passing: Promise<void> | undefined;
  /** Both viewers read after the same ticks. */
  function tick(): Promise<void> {
    passing ??= pause(READ_EVERY_MS) // the system's own buffers know no other time
      .then(() => clock.advance(READ_EVERY_MS))
      .finally(() => {
        passing = undefined;
      });
    return passing;
  }

  /** Lets the relay's time pass until it is over. */
  async function whileTimePasses(act: () => PromiseLike<void>): Promise<void> {
    let isOver = false;
    const acting = Promise.resolve(act()).finally(() => {
      isOver = true;
    });
    for (; !isOver; await pause(5)) await clock.advance(5);
    await acting;
  }

  before(() => whileTimePasses(fill));
  after(() => whileTimePasses(() => relay[Symbol.asyncDispose]()));

  /** Says more than the buffers of a connection hold. */
  async function fill(): Promise<void> {
    relay = await startRelay({ stallMs: SCALED_STALL_MS, clock });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 15 });
    await using witness = await Stream.open(relay.url, { videoId: VIDEO });
    await witness.until(() => witness.frames.length > 0);
    base = witness.init.cursor;
    for (let i = 0; i < 3; i++) {
      chat.say(longActions(chat.ledger.length, 200));
      await witness.until(() => witness.cursors.at(-1) === base + chat.ledger.length);
    }
  }

  /** A client with little memory: it takes one read from the system, and the next one at `resume`. */
  function dial(version: string): { socket: Socket; received: () => number } {
    const { hostname, port } = new URL(relay.url);
    let received = 0;
    const callback = (bytes: number) => {
      received += bytes;
      return false;
    };
    const onread = { buffer: Buffer.alloc(READ_BYTES), callback };
    const socket = connect({ host: hostname, port: Number(port), onread });
    socket.on("error", () => {}); // "close" follows
    socket.write(
      `GET /v1/stream?videoId=${VIDEO}&lastEventId=${base} HTTP/${version}\r\nHost: relay\r\n\r\n`,
    );
    return { socket, received: () => received };
  }

  for (const [version, what] of [
    ["1.1", "as a socket"],
    ["1.0", "through its response"],
  ] as const) {
    it(`is not disconnected, served ${what}`, async () => {
      const { socket, received } = dial(version);
      for (let reads = 0; reads < READS; reads++) {
        await tick();
        assert.ok(!socket.destroyed, `cut after ${received()} bytes`);
        socket.resume();
      }
      assert.ok(received() < (READS + 1) * READ_BYTES);
      socket.destroy();
    });
  }
});

test("a viewer that takes nothing is disconnected by a reset, 30 s after its connection was full", async () => {
  const relay = new VirtualRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
  const viewer = await relay.enter({ videoId: VIDEO });
  viewer.sink.stall();
  chat.say(50);
  const before = viewer.sink.written;
  await relay.until(() => viewer.sink.written > before);
  const fullAt = relay.clock.monotonic();
  await viewer.ended();
  const seconds = Math.floor((relay.clock.monotonic() - fullAt) / 1000);
  assert.deepEqual([viewer.sink.closedBy, seconds], ["reset", 30]);
});

/** A connection as its sender sees it: what the other end reads is reported free in steps of `step` bytes. */
interface Connection {
  /** Bytes a second. */
  rate: number;
  /** What the buffers in front of the sender's own take at once. */
  ahead: number;
  step: number;
}

/**
 * When the viewer is cut, in milliseconds from the time at which the connection was full first; undefined:
 * not within `forMs`.
 */
function cutAt({ rate, ahead, step }: Connection, forMs: number): number | undefined {
  const stall = new Stall(STALL_MS, 0);
  const held = 2_600_000;
  const written = ahead + held;
  stall.full(written, 0);
  for (let now = 1000; now <= forMs; now += 1000) {
    const read = (rate * now) / 1000;
    const taken = ahead + Math.floor(read / step) * step;
    if (stall.isSuspect(now) && stall.observe(taken, now)) return now;
  }
  return undefined;
}

test("a viewer that reads 5 KB/s or more stays, even if a proxy takes a third of 4 MiB at once for it", () => {
  const connections = fc.record({
    rate: fc.integer({ min: 5000, max: 200_000 }),
    step: fc.integer({ min: 1, max: Math.floor(2 ** 22 / 3) }),
  });
  fc.assert(
    fc.property(connections, ({ rate, step }) => {
      // Before a buffer is full, it has taken three times what it reports free later.
      assert.equal(cutAt({ rate, step, ahead: 3 * step + 128_000 }, 600_000), undefined);
    }),
  );
});

test("a viewer that reads nothing is disconnected between the limit and ten times the limit, by what its system took", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20_000_000 }), (ahead) => {
      const at = cutAt({ rate: 0, step: 1, ahead }, 2_000_000) ?? Number.POSITIVE_INFINITY;
      assert.ok(at >= STALL_MS && at <= 10 * STALL_MS + 1000, `${at} ms`);
      // What the system of a client that never reads takes: 128 KB.
      if (ahead < 128_000) assert.ok(at <= STALL_MS + 3000, `${at} ms`);
    }),
  );
});

test("bytes taken long ago buy no time: a viewer that took 3 KB/s for an hour and stops reading is disconnected after the limit", () => {
  const stall = new Stall(STALL_MS, 0);
  const hourMs = 3_600_000;
  const written = 3 * hourMs;
  stall.full(written, hourMs);
  const looks: number[] = [];
  for (let now = hourMs; ; now += 1000) {
    if (!stall.isSuspect(now)) continue;
    looks.push(now - hourMs);
    if (stall.observe(written, now)) break;
  }
  assert.deepEqual(looks, [STALL_MS / 2, STALL_MS]);
});

test("a viewer whose connection takes bytes again is no longer a suspect", () => {
  const stall = new Stall(STALL_MS, 0);
  stall.full(1000, 0);
  stall.drained();
  assert.ok(!stall.isFull && !stall.isSuspect(10 * STALL_MS) && !stall.observe(0, 10 * STALL_MS));
});
