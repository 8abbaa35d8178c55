/**
 * A wall clock that is wrong, for one process: time of day is shifted for it, while time that only passes
 * stays right. The library is preloaded, so the process is started as it always is.
 */
import { existsSync, globSync, rmSync } from "node:fs";

/** For programs of several threads; of Debian's package `faketime`. */
const [LIBRARY] = globSync("/usr/lib/*/faketime/libfaketimeMT.so.1");

export const canShiftClocks = LIBRARY !== undefined;

/**
 * The environment of a process whose clock is off by that much, such as `+40d`; empty where it cannot be
 * shifted.
 */
export function shiftedClock(offset: string): Record<string, string> {
  if (!LIBRARY || offset === "") return {};
  return {
    LD_PRELOAD: LIBRARY,
    FAKETIME: offset,
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
    DONT_FAKE_MONOTONIC: "1",
    NO_FAKE_STAT: "1",
  };
}

/** Removes what a process that was killed has left of the library in shared memory. */
export function sweepClocks(): void {
  for (const file of globSync(["/dev/shm/faketime_shm_*", "/dev/shm/sem.faketime_sem_*"])) {
    const pid = file.slice(file.lastIndexOf("_") + 1);
    if (!existsSync(`/proc/${pid}`)) rmSync(file, { force: true });
  }
}
