/** Every viewer is sent exactly the room's sequence: a round of chaos without kills, on each store. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { UPSTREAM_EVENTS } from "../chaos/events/upstream.ts";
import { VIEWER_EVENTS } from "../chaos/events/viewers.ts";
import { run } from "../chaos/run.ts";

const PROJECT = fileURLToPath(new URL("..", import.meta.url));

/** What hangs is ended; where the machine is merely slow, the whole round is played, and everybody gets everything. */
const MAX_MS = 15 * 60_000;
const SETTLE_MS = 3 * 60_000;

describe("whatever viewers and upstream do, every viewer is sent exactly the room's sequence", {
  concurrency: true,
}, () => {
  // The stores differ in nothing that the upstream does, nor in how streams are written.
  for (const [store, events, without] of [
    ["memory", VIEWER_EVENTS, ["compression", "hand-over"]],
    ["sqlite", { ...UPSTREAM_EVENTS, ...VIEWER_EVENTS }, []],
  ] as const) {
    it(`on the ${store} store${without.length > 0 ? `, without ${without.join(" and ")}` : ""}`, {
      timeout: MAX_MS,
    }, async () => {
      const names = Object.keys(events).filter((name) => name !== "non-reading viewer"); // it takes half a minute
      const options = { seed: 20_260_613, viewers: 30, store, without, events: names };
      const { verdict } = await run({ ...options, projectDir: PROJECT, settleMs: SETTLE_MS });
      assert.deepEqual(verdict.violations, []);
      assert.equal(verdict.total("rounds"), 1);
      assert.ok(verdict.total("messages received") > 10_000);
      assert.ok(store === "memory" || verdict.total("faults ") > 5);
    });
  }
});
