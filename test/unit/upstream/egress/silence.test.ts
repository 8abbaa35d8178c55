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
  it("counts from the last answer, once a failed call of the room could have been repeated", async () => {
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

  it("counts while a call of the room waits behind calls of other rooms, unless these are answered", async () => {
    const { clock, room, neighbours, knownMs } = silences();
    room.asked();
    await clock.advance(10_000);
    assert.equal(knownMs(), 0);
    neighbours.unanswered();
    assert.equal(knownMs(), 10_000);
    neighbours.end();
    assert.equal(knownMs(), 0);
  });

  it("counts, after a move to another egress, from the first failed call of the old egress", async () => {
    const { clock, room, neighbours: left } = silences();
    await clock.advance(1000);
    left.unanswered();
    await clock.advance(CALL_MS + 1000);
    room.continue(left);
    assert.equal(room.knownBeside(new Silence(clock), CALL_MS), 7000);
  });

  it("of an egress counts once a failed call could have been repeated", async () => {
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
