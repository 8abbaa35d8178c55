/**
 * An upstream that never comes to an end, slowly or as fast as it can, over real sockets: a deadline ends
 * every one of its answers, and until then they are not collected. The deadline is over when the test says
 * so, and not before: what a room makes of it is in upstream-waits.test.ts.
 */
import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, it } from "node:test";
import { FakeClock } from "../../support/fake-clock.ts";
import { answerTo, type HostileAnswer } from "../../support/hostile-call.ts";
import { FLOODS, PONDEROUS, SLOW } from "../../support/malformed-http.ts";
import { heldMb, peakGrowthMb } from "../../support/memory.ts";

const DEADLINE_MS = 8000;
const LIMIT_MS = 60_000;
/** How much of a flood is let in, and how much of that may be held, in megabytes. */
const FLOOD_MB = 144;
const MOST_MB = 120;
/** If not even a head has come, the host counts as one that cannot be reached. */
const NO_ANSWER = /^unusable: (127\.0\.0\.1:\d+ cannot be reached: )?no complete answer within 8000 ms$/;

/**
 * The outcome of one call whose answer goes on until this many bytes of it have been read and the deadline is
 * over.
 */
function endedAfter(hostile: HostileAnswer, bytes: number): Promise<string> {
  const clock = new FakeClock();
  const meanwhile = async (socket: Socket) => {
    await clock.advance(DEADLINE_MS - 1);
    while (socket.bytesWritten < bytes && !socket.destroyed) await new Promise(setImmediate);
    await clock.advance(1);
  };
  return answerTo(hostile, DEADLINE_MS, { clock, meanwhile });
}

describe("an endless answer is ended by its deadline", () => {
  for (const [name, hostile] of Object.entries({ ...SLOW, ...PONDEROUS })) {
    it(name, { timeout: LIMIT_MS }, async () => {
      assert.match(await endedAfter(hostile, name === "no answer" ? 0 : 40), NO_ANSWER);
    });
  }
});

describe("a flood that is read as fast as it comes is not collected, and is ended by its deadline", () => {
  for (const [name, hostile] of Object.entries(FLOODS)) {
    it(name, { timeout: LIMIT_MS }, async () => {
      const grownMb = await peakGrowthMb(async () => {
        assert.match(await endedAfter(hostile, FLOOD_MB * 2 ** 20), NO_ANSWER);
      });
      assert.ok(grownMb < MOST_MB, `${Math.round(grownMb)} MB more`);
    });
  }
});

it("an answer that comes byte by byte costs no more than its size", { timeout: LIMIT_MS }, async () => {
  const bytes = 100_000;
  const beforeMb = heldMb();
  let collectedMb = Number.NaN;
  const hostile: HostileAnswer = async ({ socket }) => {
    socket?.write("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (let i = 0; i < bytes; i += 1000) {
      socket?.write("1\r\nx\r\n".repeat(1000));
      await new Promise(setImmediate); // so that it is read meanwhile
    }
    collectedMb = heldMb() - beforeMb;
    socket?.end("0\r\n\r\n");
  };
  assert.equal((await answerTo(hostile, LIMIT_MS)).length, bytes);
  assert.ok(collectedMb < 10, `${Math.round(collectedMb)} MB for ${bytes} bytes`);
});
