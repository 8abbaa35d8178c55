/** How a service ends: gracefully at the first SIGTERM or SIGINT, at once at a later one. */
import { once } from "node:events";
import { systemClock } from "../clock.ts";

/**
 * One request to stop can arrive twice: where a terminal or a supervisor signals the whole process group, npm passes
 * its own copy on.
 */
const SAME_REQUEST_MS = 1000;

/**
 * Starts a service, and stops it and exits with 0 at the first signal, which may come before the start is done: then
 * `start` may reject with the reason of the signal that it is handed. Rejects as `start` and `stop` do.
 */
export async function runUntilSignal(
  start: (stopped: AbortSignal) => Promise<{ stop(): Promise<void> }>,
): Promise<void> {
  const stopping = new AbortController();
  let firstAt: number | undefined;
  const onSignal = (name: NodeJS.Signals) => {
    firstAt ??= systemClock.monotonic();
    if (systemClock.monotonic() - firstAt > SAME_REQUEST_MS) process.exit(1);
    stopping.abort(name);
  };
  for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, onSignal);
  try {
    const service = await start(stopping.signal);
    if (!stopping.signal.aborted) await once(stopping.signal, "abort");
    await service.stop();
  } catch (error) {
    if (!stopping.signal.aborted || error !== stopping.signal.reason) throw error;
  }
  process.exit(0);
}
