/** The service in virtual time: what `npm run simulate` plays for hours, for some seconds. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { run } from "../simulation/run.ts";

const PROJECT = join(import.meta.dirname, "..");

const RUNS: Record<string, readonly string[]> = {
  "20 seeds of ten minutes with one instance": ["--instances", "1"],
  "20 seeds of three minutes with three instances": ["--instances", "3", "--minutes", "3", "--rooms", "12"],
};

for (const [name, flags] of Object.entries(RUNS)) {
  test(`${name} in virtual time break no promise, and meet every kind of fault`, async () => {
    const args = [join(PROJECT, "simulation/main.ts"), "--seeds", "20", ...flags];
    const { stdout } = await promisify(execFile)(process.execPath, args).catch((error) => error);
    assert.match(stdout, /^0 of \d+ seeds failed$/m, stdout);
    assert.doesNotMatch(stdout, /^FAILED/m, stdout);
  });
}

test("a seed always plays the same, line by line, and another one differently", async () => {
  for (const instances of [1, 3]) {
    const lines = async (seed: number) => (await run({ seed, minutes: 2, rooms: 12, instances })).lines;
    const first = await lines(7);
    assert.ok(first.length > 500);
    assert.deepEqual(await lines(7), first);
    assert.notDeepEqual(await lines(8), first);
  }
});
