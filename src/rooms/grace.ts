/** The end of lingering: nobody has watched the room for the grace time, on any instance. */
import type { Clock } from "../clock.ts";
import type { RoomSources } from "./sources.ts";

/** The wait before the next question if the store cannot answer. */
const UNKNOWN_MS = 1000;

interface GraceParts {
  sources: Pick<RoomSources, "ownership">;
  clock: Clock;
  settings: { graceMs: number };
}

/**
 * Resolves when the grace time of a room that has just lost its last viewer here is over. Rejects with the
 * signal's reason.
 */
export async function graceOver(
  videoId: string,
  { sources, clock, settings: { graceMs } }: GraceParts,
  signal: AbortSignal,
): Promise<void> {
  for (let leftMs = graceMs; ; ) {
    await clock.sleep(Math.min(leftMs, graceMs), signal);
    leftMs = await sources.ownership.watchedForMs(videoId).catch(() => UNKNOWN_MS);
    signal.throwIfAborted();
    if (leftMs === 0) return;
  }
}
