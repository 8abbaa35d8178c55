/**
 * Waits until nobody, on any instance, has watched a room for the grace time. While another instance has
 * viewers, or the store cannot say whether one has, it asks again and again, and the room stays.
 */
import type { ChatKey } from "../protocol/chat-key.ts";
import { isUnavailable } from "../store/store-error.ts";
import type { RoomsParts } from "./rooms-parts.ts";

/**
 * The wait before the next question if the store cannot answer. Also the longest one while others watch, if
 * the grace time is shorter.
 */
const ASK_AGAIN_MS = 1000;

/**
 * For a room that has just lost its last viewer here: resolves when the grace time is over. Also resolves if
 * a bug makes the question fail, so that the room does not linger for ever. Rejects with the signal's reason.
 */
export async function graceOver(
  key: ChatKey,
  { sources, clock, telemetry, settings: { graceMs } }: RoomsParts,
  signal: AbortSignal,
): Promise<void> {
  const unknown = (error: unknown) => {
    if (isUnavailable(error)) return ASK_AGAIN_MS;
    telemetry.rooms.broken(key, error);
    return 0;
  };
  for (let leftMs = graceMs; ; ) {
    await clock.sleep(Math.min(leftMs, Math.max(graceMs, ASK_AGAIN_MS)), signal);
    leftMs = await sources.ownership.watchedForMs(key).catch(unknown);
    signal.throwIfAborted();
    if (leftMs === 0) return;
  }
}
