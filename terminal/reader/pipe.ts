/**
 * Opens a named pipe without blocking: a call that blocks in another thread keeps even `exit` from ending the
 * process.
 */
import { constants, openSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { systemClock } from "../../src/base/clock.ts";

const CHECK_MS = 100;

/** Resolves once the pipe has a reader. Rejects like `open`, or with the signal's reason. */
export async function openPipe(path: string, signal: AbortSignal): Promise<Writable> {
  for (;;) {
    try {
      const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
      return new Socket({ fd, readable: false, writable: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENXIO") throw error; // nobody reads yet
    }
    await systemClock.sleep(CHECK_MS, signal);
  }
}
