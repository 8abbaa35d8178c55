/** How long an edge waits before it opens a stream of its origin again. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ReopenWaits } from "../../../src/origin/reopen-waits.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const never = new AbortController().signal;

/** How long the next wait takes, to a quarter of a second. */
async function lengthOf(waits: ReopenWaits, clock: FakeClock): Promise<number> {
  const from = clock.monotonic();
  let isOver = false;
  const waiting = waits.next(never).then(() => {
    isOver = true;
  });
  while (!isOver) await clock.advance(250);
  await waiting;
  return clock.monotonic() - from;
}

describe("the waits before a stream of the origin is opened again", () => {
  it("double up to 5 s, each at random shorter, until the stream is open", async () => {
    const clock = new FakeClock(); // whose chance halves each
    const waits = new ReopenWaits(clock);
    const lengths: number[] = [];
    for (let wait = 0; wait < 6; wait++) lengths.push(await lengthOf(waits, clock));
    assert.deepEqual(lengths, [250, 500, 1000, 2000, 2500, 2500]);
    waits.opened();
    assert.equal(await lengthOf(waits, clock), 250);
  });

  it("are as long as the origin asks for, once, and at most 30 s", async () => {
    const clock = new FakeClock();
    const waits = new ReopenWaits(clock);
    for (const [askedMs, length] of [
      [20_000, 20_000],
      [600_000, 30_000],
    ] as const) {
      waits.opened();
      waits.failed(new RelayError("RATE_LIMITED", "Wait.", { retryAfterMs: askedMs }));
      assert.equal(await lengthOf(waits, clock), length);
      waits.opened();
      assert.equal(await lengthOf(waits, clock), 250);
    }
  });

  it("end with the signal", async () => {
    const stopped = new AbortController();
    const waiting = new ReopenWaits(new FakeClock()).next(stopped.signal);
    stopped.abort();
    await waiting;
  });
});
