/** For how long the upstream counts as silent for a room: one lost call does not count. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Silence } from "../../../../src/upstream/egress/silence.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const CALL_MS = 5000;

function silences() {
  const clock = new FakeClock();
  const [room, neighbours] = [new Silence(clock), new Silence(clock)];
  return { clock, room, neighbours, knownMs: () => room.knownBeside(neighbours, CALL_MS) };
}

describe("the silence of the upstream for a room", () => {
  it("is known once its call has failed and could have been repeated, and counts from the last answer", async () => {
    const { clock, room, knownMs } = silences();
    await clock.advance(60_000); // a pause between two polls
    room.asked();
    await clock.advance(CALL_MS);
    room.unanswered();
    await clock.advance(999);
    assert.equal(knownMs(), 0);
    await clock.advance(1);
    assert.equal(knownMs(), 66_000);
    room.end();
    await clock.advance(CALL_MS + 1000);
    assert.equal(knownMs(), 0);
  });

  it("counts while its call waits behind unanswered calls of its neighbours, and not behind answered ones", async () => {
    const { clock, room, neighbours, knownMs } = silences();
    room.asked();
    await clock.advance(10_000);
    assert.equal(knownMs(), 0);
    neighbours.unanswered();
    assert.equal(knownMs(), 10_000);
    neighbours.end();
    assert.equal(knownMs(), 0);
  });

  it("goes on at another egress since the calls of the one that it leaves began to fail", async () => {
    const { clock, room, neighbours: left } = silences();
    await clock.advance(1000);
    left.unanswered();
    await clock.advance(CALL_MS + 1000);
    room.continue(left);
    assert.equal(room.knownBeside(new Silence(clock), CALL_MS), 7000);
  });

  it("of an egress is known once a failed call could have been repeated, and not while no call failed", async () => {
    const { clock, room } = silences();
    await clock.advance(10_000);
    assert.equal(room.knownMs, 0);
    room.unanswered();
    await clock.advance(999);
    assert.equal(room.knownMs, 0);
    await clock.advance(1);
    assert.equal(room.knownMs, 11_000);
    room.end();
    assert.equal(room.knownMs, 0);
  });
});
