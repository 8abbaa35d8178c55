/**
 * An upstream that never comes to an end, slowly or as fast as it can: a deadline ends every one of its answers,
 * and until then they are not collected.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../src/clock.ts";
import { startSimulator } from "../src/simulator/index.ts";
import { Transport } from "../src/upstream/egress/transport.ts";
import { UpstreamError } from "../src/upstream/errors.ts";
import { assertSurvived, type HostileAnswer, order } from "./support/faulty-upstream.ts";
import { floods, SLOW } from "./support/malformed-http.ts";
import { heldMb, peakGrowthMb } from "./support/memory.ts";

/** Long enough for sane answers, on a busy machine too. */
const DEADLINE_MS = 800;
const LIMIT_MS = 40_000;
const MOST_MB = 200;

describe("an answer without end in a room", { concurrency: true }, () => {
  const says = new RegExp(`no complete answer within ${DEADLINE_MS} ms`);
  for (const [name, hostile] of Object.entries({ ...SLOW, ...floods(25) })) {
    it(name, { timeout: LIMIT_MS }, () => assertSurvived(hostile, DEADLINE_MS, says));
  }
});

/** What one call to an upstream comes to that does this. */
async function answerTo(hostile: HostileAnswer, deadlineMs: number): Promise<string> {
  await using upstream = await startSimulator();
  const placed = order(upstream, "sw.js", hostile);
  const transport = new Transport(systemClock);
  const call = { method: "GET", url: `${upstream.urls.main}/sw.js`, headers: {}, deadlineMs } as const;
  const answer = await transport.send(call, new AbortController().signal).then(
    ({ text }) => text,
    (error: unknown) => (error instanceof UpstreamError ? `${error.fault}: ${error.message}` : String(error)),
  );
  await transport.close();
  await placed.left();
  assert.equal(placed.fault.fired, 1);
  return answer;
}

/** Where not even a head has come, the host counts as one that cannot be reached. */
const NO_ANSWER = /^unusable: (127\.0\.0\.1:\d+ cannot be reached: )?no complete answer within 200 ms$/;

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
