/** The totals and the activity of the whole room, of one moment, from `GET /v1/rooms/{videoId}`. */

import type { ShownChat } from "../chat/stored.ts";
import { ask } from "./own-service.ts";

interface Totals {
  /** Number of messages by type; a type that did not occur is absent. */
  types: Readonly<Record<string, number>>;
  paid: readonly { currency: string; count: number; sum: number }[];
  /** Number of paid messages without a readable amount. */
  unreadable: number;
  /** A currency of null: without a readable amount. */
  deletedPaid: readonly { currency: string | null; count: number; sum: number }[];
  /** Number of memberships given. */
  memberships: number;
  /** Number of distinct authors. */
  authors: number;
  /** Number of stored messages that the totals do not contain yet. */
  uncounted: number;
  /** The totals contain all messages up to this cursor. */
  cursor: number;
}

export interface Activity {
  /** Only messages after this cursor count. */
  after: number;
  cursor: number;
  /** Messages in the last 60 seconds; null for a replay. */
  lastMinute: number | null;
  /** `at`: of a live chat, as ISO 8601; `offsetMs`: of a replay. */
  minutes: readonly { messages: number; at?: string; offsetMs?: number }[];
  authors: readonly { authorId: string | null; author: string; messages: number }[];
}

export interface RoomFigures {
  totals: Totals;
  /** Undefined while it is not known. */
  activity: Activity | undefined;
}

/** Undefined if nothing of the video is stored. Rejects with the service's own words. */
export async function readFigures(shown: ShownChat, signal: AbortSignal): Promise<RoomFigures | undefined> {
  const query = new URLSearchParams({ activity: "true", ...(shown.chat && { chat: shown.chat }) });
  const response = await ask(`v1/rooms/${encodeURIComponent(shown.videoId)}?${query}`, signal);
  const body = await response.json();
  if (body.code === "NOT_STORED") return undefined;
  if (!response.ok) throw new Error(body.message);
  return body;
}
