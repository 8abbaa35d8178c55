/** The facts that the service has of a chat and its video, from `GET /v1/rooms/{videoId}`. */

import type { ShownChat } from "../chat/stored.ts";
import { ask } from "./own-service.ts";

/**
 * When to ask the service for the title of the video, in milliseconds after the opening. It asks YouTube for
 * titles after all else, and stores a new chat a moment after its opening.
 */
const ASKED_AT_MS = [0, 5000, 20_000, 60_000];

export interface Room {
  /** The chats of the video that are stored. */
  chats: readonly string[];
  /** The title and the channel of the video are absent until they are known. */
  title?: string;
  channel?: { id?: string; name?: string };
  /** `types`: the number of stored messages by type; a type that did not occur is absent. */
  totals: { types: Readonly<Record<string, number>> };
}

/** Undefined if nothing of the video is stored, or if the service refuses. Rejects as `fetch` does. */
export async function readRoom({ videoId, chat }: ShownChat, signal: AbortSignal): Promise<Room | undefined> {
  const query = chat ? `?chat=${chat}` : "";
  const response = await ask(`v1/rooms/${encodeURIComponent(videoId)}${query}`, signal);
  const body = await response.json();
  return response.ok ? body : undefined;
}

/** Asks for what the service has of the chat, until it has the title of the video. */
export async function learnRoom(
  shown: ShownChat,
  signal: AbortSignal,
  learned: (room: Room) => void,
): Promise<void> {
  const opened = performance.now();
  for (const atMs of ASKED_AT_MS) {
    await new Promise((resolve) => setTimeout(resolve, opened + atMs - performance.now()));
    if (signal.aborted) return;
    const room = await readRoom(shown, signal).catch(() => undefined);
    if (signal.aborted) return;
    if (room) learned(room);
    if (room?.title !== undefined) return;
  }
}
