/** The service in virtual time: what `npm run simulate` plays for hours, for some seconds. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { run } from "../simulation/run.ts";

const PROJECT = join(import.meta.dirname, "..");

test("20 seeds of ten minutes in virtual time break no promise, and meet every kind of fault", async () => {
  const args = [join(PROJECT, "simulation/main.ts"), "--seeds", "20"];
  const { stdout } = await promisify(execFile)(process.execPath, args).catch((error) => error);
  assert.match(stdout, /^0 of \d+ seeds failed$/m, stdout);
  assert.doesNotMatch(stdout, /^FAILED/m, stdout);
});

test("a seed always plays the same, line by line, and another one differently", async () => {
  const lines = async (seed: number) => (await run({ seed, minutes: 2, rooms: 12 })).lines;
  const first = await lines(7);
  assert.ok(first.length > 500);
  assert.deepEqual(await lines(7), first);
  assert.notDeepEqual(await lines(8), first);
});
