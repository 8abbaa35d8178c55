/**
 * How the rooms of an instance end when the service stops: the current polls become durable, the rooms are
 * given back, then the streams end. With the store's own limit, a stop takes at most five seconds in all.
 */
import type { Clock } from "../base/clock.ts";
import { Deadline, unlessAborted } from "../base/deadline.ts";

/** Time limit of the current polls. */
const WIND_DOWN_MS = 2000;
/** Time limit of giving the rooms back, after that of the polls. */
const GIVE_BACK_MS = 500;
/** The longest time over which the streams are ended, so that their viewers do not reconnect all at once. */
const END_SPREAD_MS = 1500;

/** The current polls become durable, and the rooms are given back. */
export async function windDownAll(
  entries: readonly { windDown(limitMs: number): Promise<void> }[],
  clock: Clock,
): Promise<void> {
  using limit = new Deadline(clock, WIND_DOWN_MS + GIVE_BACK_MS);
  const ends = entries.map((entry) => entry.windDown(WIND_DOWN_MS));
  // Holds that are not given back within the limit expire by themselves.
  await unlessAborted(Promise.allSettled(ends), limit.signal).catch(() => {});
}

/** Ends the streams at random moments, spread over one millisecond per viewer, at most `END_SPREAD_MS`. */
export async function endAll(viewers: readonly { end(): void }[], clock: Clock): Promise<void> {
  const spreadMs = Math.min(END_SPREAD_MS, viewers.length);
  await Promise.all(
    viewers.map(async (viewer) => {
      await clock.sleep(clock.random() * spreadMs);
      viewer.end();
    }),
  );
}
