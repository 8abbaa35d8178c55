/** Every viewer is sent exactly the room's sequence: a run of chaos without kills, on each store. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { UPSTREAM_EVENTS } from "../chaos/events/upstream.ts";
import { VIEWER_EVENTS } from "../chaos/events/viewers.ts";
import { run } from "../chaos/run.ts";

const PROJECT = fileURLToPath(new URL("..", import.meta.url));

describe("whatever viewers and upstream do, every viewer is sent exactly the room's sequence", () => {
  const names = Object.keys({ ...UPSTREAM_EVENTS, ...VIEWER_EVENTS });
  const events = names.filter((name) => name !== "non-reading viewer"); // that one takes half a minute
  for (const store of ["memory", "sqlite"] as const) {
    it(`on the ${store} store`, { timeout: 120_000 }, async () => {
      const options = { seed: 20_260_613, minutes: 0.3, viewers: 100, store };
      const { verdict } = await run({ ...options, projectDir: PROJECT, events });
      assert.deepEqual(verdict.violations, []);
      assert.ok(verdict.total("faults ") > 5 && verdict.total("messages received") > 10_000);
    });
  }
});
