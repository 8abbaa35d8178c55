/** Loops that run in the background: a bug in one must neither end it nor the process. */
import type { Clock } from "../clock.ts";
import type { Telemetry } from "./telemetry.ts";

const AGAIN_MS = 1000;

/**
 * Runs `loop`, which ends with the signal or when its work is done. If it fails, that is a bug: it is logged
 * and counted, and the loop begins again a second later. Never rejects.
 */
export async function background(
  task: string,
  { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
  signal: AbortSignal,
  loop: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      return await loop();
    } catch (error) {
      if (signal.aborted) return;
      telemetry.taskFailed(task, error);
      await clock.sleep(AGAIN_MS, signal).catch(() => {});
    }
  }
}
