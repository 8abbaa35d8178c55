/** The totals of the whole room, from `GET /v1/rooms/{videoId}`. */

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
}

/** Undefined if nothing of the video is stored. Rejects with the service's own words. */
export async function readTotals(videoId: string, signal: AbortSignal): Promise<Totals | undefined> {
  const response = await fetch(`v1/rooms/${encodeURIComponent(videoId)}`, { signal });
  const body = await response.json();
  if (body.code === "NOT_STORED") return undefined;
  if (!response.ok) throw new Error(body.message);
  return body.totals;
}
