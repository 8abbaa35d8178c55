/** Messages that wait to be drawn: in their order, in small batches, and bounded where no timer fires. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { Batch } from "../../../web/chat/batch.ts";

/** As in web/chat/batch.ts. */
const MAX_AT_ONCE = 40;
const MAX_WAITING = 500;

function batchOf(t: TestContext) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const [drawn, sizes]: [number[], number[]] = [[], []];
  const batch = new Batch<number>((items) => {
    drawn.push(...items);
    sizes.push(items.length);
  });
  return { batch, drawn, sizes, timers: t.mock.timers };
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);

describe("messages that wait to be drawn", () => {
  it("are drawn in their order, a few at once", (t) => {
    const { batch, drawn, sizes, timers } = batchOf(t);
    for (const at of upTo(100)) batch.add(at);
    assert.deepEqual(drawn, []);
    for (let step = 0; step < 4; step += 1) timers.tick(1);
    assert.deepEqual([drawn, sizes], [upTo(100), [MAX_AT_ONCE, MAX_AT_ONCE, 20]]);
  });

  it("are bounded in a hidden window, whose timers wait, and none is lost", (t) => {
    const { batch, drawn } = batchOf(t);
    for (const at of upTo(3000)) {
      batch.add(at);
      assert.ok(at + 1 - drawn.length < MAX_WAITING);
    }
    batch.flush();
    assert.deepEqual(drawn, upTo(3000));
  });
});
