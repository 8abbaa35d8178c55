import type { Clock } from "../clock.ts";

/** How long a slice may hold the event loop, in milliseconds, and how many items lie between two looks at the clock. */
const SLICE_MS = 10;
const ITEMS = 32;

/** Does something with each of many items, and lets others run in between. Items may come and go meanwhile. */
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
