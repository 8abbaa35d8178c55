/** Forgets what is older than the retention, once an hour, in steps small enough not to hold up appends. */
import type { Clock } from "../clock.ts";
import type { Logger } from "../telemetry/log.ts";
import type { Retention } from "./port.ts";

const DAY_MS = 24 * 3_600_000;
const EVERY_MS = 3_600_000;
const STEP_MESSAGES = 1000;
/** Between two steps, so that appends come first. */
const PAUSE_MS = 50;

/** Runs until the signal aborts; 0 days keeps all. A store that fails is tried again at the next round. */
export async function runRetention(
  store: Retention,
  days: number,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (days === 0) return;
  try {
    for (;;) {
      await forgetOlderThan(clock.now() - days * DAY_MS);
      await clock.sleep(EVERY_MS, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }

  async function forgetOlderThan(before: number): Promise<void> {
    let forgotten = 0;
    try {
      for (let step = STEP_MESSAGES; step === STEP_MESSAGES; forgotten += step) {
        signal.throwIfAborted();
        step = await store.prune(before, STEP_MESSAGES);
        await clock.sleep(PAUSE_MS, signal);
      }
      if (forgotten > 0) log.info({ messages: forgotten }, "messages older than the retention forgotten");
    } catch (error) {
      signal.throwIfAborted();
      log.error({ err: error }, "pruning failed; it is tried again within the hour");
    }
  }
}
