/** Waits for what announces itself in no way: a metric, a table, a file that another process writes. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

/** How long a test waits for anything, in milliseconds: a machine that is held up may take half of it. */
export const PATIENCE_MS = 60_000;
/** Between the first reads; later ones are apart by a tenth of the time so far, up to the second number. */
const INTERVAL_MS = 10;
const MAX_INTERVAL_MS = 100;

/**
 * Resolves once `read` gives the expected value; `read` may be anything that can be repeated. `intervalMs`:
 * the minimum time between two reads, if one costs much.
 */
export async function eventually<T>(
  expected: T,
  read: () => T | Promise<T>,
  intervalMs = INTERVAL_MS,
): Promise<void> {
  for (const begun = performance.now(); ; ) {
    const seen = await read();
    if (Object.is(seen, expected)) return;
    const tookMs = performance.now() - begun;
    if (tookMs > PATIENCE_MS) assert.equal(seen, expected, `after ${PATIENCE_MS} ms: ${read}`);
    await delay(Math.max(intervalMs, Math.min(MAX_INTERVAL_MS, tookMs / 10)));
  }
}

/** The promise, or a failure if it is not settled in time: a hanging test would leave its relay running. */
export function inTime<T>(promise: Promise<T>, what: string): Promise<T> {
  const late = delay(PATIENCE_MS, undefined, { ref: false });
  return Promise.race([promise, late.then(() => assert.fail(`not in time: ${what}`))]);
}

/** Resolves to the result of the first call of `act` that does not reject: for a server that is starting. */
export async function untilSucceeds<T>(act: () => Promise<T>): Promise<T> {
  for (const limit = AbortSignal.timeout(PATIENCE_MS); ; await delay(INTERVAL_MS)) {
    try {
      return await act();
    } catch (error) {
      if (limit.aborted) throw error;
    }
  }
}

/** Resolves once a GET of this URL succeeds. */
export async function untilServed(url: string, fetch = globalThis.fetch): Promise<void> {
  await untilSucceeds(async () => {
    const answer = await fetch(url);
    await answer.body?.cancel();
    assert.ok(answer.ok, `${url}: ${answer.status}`);
  });
}
