/** The totals of the whole room, from `GET /v1/rooms/{videoId}`. */
import { ask } from "./own-service.ts";
import { AFTER_ALL, readStored, type ShownChat } from "./stored.ts";

export interface Totals {
  /** Number of messages by type; a type that did not occur is absent. */
  types: Readonly<Record<string, number>>;
  paid: readonly { currency: string; count: number; sum: number }[];
  /** Number of paid messages without a readable amount. */
  unreadable: number;
  deletedPaid: number;
  /** Number of memberships given. */
  memberships: number;
  /** Number of distinct authors. */
  authors: number;
  /** Number of stored messages that the totals do not contain yet. */
  uncounted: number;
  /** The totals contain all messages up to this cursor. */
  head: number;
}

/** Undefined if nothing of the video is stored. Rejects with the service's own words. */
export async function readTotals(shown: ShownChat, signal: AbortSignal): Promise<Totals | undefined> {
  // Asked for first: a message that is stored meanwhile is counted twice, until the next request corrects
  // it. If it were missing, a chat that is silent afterwards would never be corrected.
  const chat = shown.chat ? `?chat=${shown.chat}` : "";
  const { head } = await readStored(shown, { before: AFTER_ALL, limit: 1 }, signal);
  const response = await ask(`v1/rooms/${encodeURIComponent(shown.videoId)}${chat}`, signal);
  const body = await response.json();
  if (body.code === "NOT_STORED") return undefined;
  if (!response.ok) throw new Error(body.message);
  return { ...body.totals, head };
}
