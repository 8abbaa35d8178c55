/**
 * An upstream that never comes to an end, slowly or as fast as it can: a deadline ends every one of its answers,
 * and until then they are not collected.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerTo, assertSurvived, type HostileAnswer } from "./support/faulty-upstream.ts";
import { floods, SLOW } from "./support/malformed-http.ts";
import { heldMb, peakGrowthMb } from "./support/memory.ts";

/** Long enough for sane answers, on a busy machine too. */
const DEADLINE_MS = 800;
const LIMIT_MS = 40_000;
const MOST_MB = 200;

describe("an answer without end in a room", { concurrency: true }, () => {
  const says = new RegExp(`no complete answer within ${DEADLINE_MS} ms`);
  const floodings = floods(25);
  for (const [name, hostile] of Object.entries({
    "no answer": SLOW["no answer"],
    "a body byte by byte": SLOW["a body byte by byte"],
    "news of progress": floodings["news of progress"],
  })) {
    assert.ok(hostile);
    it(name, { timeout: LIMIT_MS }, () => assertSurvived(hostile, DEADLINE_MS, says));
  }
});

/** Where not even a head has come, the host counts as one that cannot be reached. */
const NO_ANSWER = /^unusable: (127\.0\.0\.1:\d+ cannot be reached: )?no complete answer within 200 ms$/;

describe("a slow answer without end", { concurrency: true }, () => {
  for (const [name, hostile] of Object.entries(SLOW)) {
    it(name, { timeout: LIMIT_MS }, async () => {
      assert.match(await answerTo(hostile, 200), NO_ANSWER);
    });
  }
});

describe("a flood as fast as it is taken", () => {
  for (const [name, hostile] of Object.entries(floods(0))) {
    it(`${name}: is not collected`, { timeout: LIMIT_MS }, async () => {
      const grownMb = await peakGrowthMb(async () => {
        assert.match(await answerTo(hostile, 200), NO_ANSWER);
      });
      assert.ok(grownMb < MOST_MB, `${Math.round(grownMb)} MB more`);
    });
  }

  it("byte by byte costs no more than its size", { timeout: LIMIT_MS }, async () => {
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
});
