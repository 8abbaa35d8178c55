/** Waits for what announces itself in no way: a metric, a table, a file that another process writes. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

/** How long a test waits for anything, in milliseconds. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 10;

/** Resolves once `look` gives the expected value; `look` may be anything that can be repeated. */
export async function eventually<T>(expected: T, look: () => T | Promise<T>): Promise<void> {
  for (const limit = AbortSignal.timeout(PATIENCE_MS); ; await delay(LOOK_MS)) {
    const seen = await look();
    if (Object.is(seen, expected)) return;
    if (limit.aborted) assert.equal(seen, expected, `after ${PATIENCE_MS} ms: ${look}`);
  }
}
