import type { Clock } from "../clock.ts";

/** Maximum time per slice, in milliseconds, and the number of items between two checks of the clock. */
const SLICE_MS = 10;
const ITEMS = 32;

/** Calls `act` for each item, with pauses for the event loop. Items may be added and removed meanwhile. */
export async function inSlices<T>(items: Iterable<T>, clock: Clock, act: (item: T) => void): Promise<void> {
  let since = clock.monotonic();
  let done = 0;
  for (const item of items) {
    act(item);
    done += 1;
    if (done % ITEMS !== 0 || clock.monotonic() - since < SLICE_MS) continue;
    await clock.sleep(0);
    since = clock.monotonic();
  }
}
