/** The facts that the service has of a chat and its video, from `GET /v1/rooms/{videoId}`. */

import type { ShownChat } from "../chat/stored.ts";
import { ask } from "./own-service.ts";

export interface Room {
  /** The chats of the video that are stored. */
  chats: readonly string[];
  /** The title and the channel of the video are absent until they are known. */
  title?: string;
  channel?: { id?: string; name?: string };
}

/** Undefined if nothing of the video is stored, or if the service refuses. Rejects as `fetch` does. */
export async function readRoom({ videoId, chat }: ShownChat, signal: AbortSignal): Promise<Room | undefined> {
  const query = chat ? `?chat=${chat}` : "";
  const response = await ask(`v1/rooms/${encodeURIComponent(videoId)}${query}`, signal);
  const body = await response.json();
  return response.ok ? body : undefined;
}
