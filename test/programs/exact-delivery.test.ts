/**
 * Every viewer is sent exactly the room's sequence, by a real process over real connections: the witness to
 * what the simulation plays for many more rounds. One in ten viewers is curl.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { run } from "../chaos/run.ts";
import { without } from "../support/needs.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));

/** Ends a run that hangs; on a slow machine, the whole round still completes. */
const MAX_MS = 15 * 60_000;
const SETTLE_MS = 3 * 60_000;

const VIEWERS = 8;

describe("every viewer gets exactly the room's sequence, whatever happens to connections and the process", {
  concurrency: true,
  skip: without("curl"),
}, () => {
  for (const [what, store, without, events, expected] of [
    [
      "memory, without compression and hand-over",
      "memory",
      ["compression", "hand-over"],
      ["viewers come and go"],
      {},
    ],
    ["SQLite, killed three times", "sqlite", [], ["connections dropped", "kill -9"], { "kills SIGKILL": 3 }],
  ] as const) {
    it(`with the store in ${what}`, { timeout: MAX_MS }, async () => {
      const options = { seed: 20_260_613, viewers: VIEWERS, store, without, events };
      const { verdict } = await run({ ...options, projectDir: PROJECT, settleMs: SETTLE_MS });
      assert.deepEqual(verdict.violations, []);
      assert.equal(verdict.total("rounds"), 1);
      assert.ok(verdict.total("messages received") > 5000, `${verdict.total("messages received")}`);
      for (const [name, count] of Object.entries(expected)) assert.equal(verdict.total(name), count);
    });
  }
});
