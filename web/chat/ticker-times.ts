/** How long a paid message stays above the chat: as long as on the platform, by its tier. */
import { GROUPS } from "../../client/index.ts";
import type { ShownMessage } from "./shown-message.ts";

/** Seconds by tier, from 1 (blue) to 7 (red): the platform's times. The lowest two do not stay there. */
const BY_TIER_S = [0, 0, 120, 300, 600, 1800, 3600];
/** For a membership, in seconds. */
const MEMBERSHIP_S = 300;
/** Types that can stay there. A gift is there; a receiver's share of it is not. */
export const IN_TICKER: ReadonlySet<string> = new Set(
  [...GROUPS.paid, ...GROUPS.members].filter((type) => type !== "gift_received"),
);
/** The longest time. */
export const LONGEST_MS = Math.max(...BY_TIER_S) * 1000;
/** The time that a message may be on its way: the longest interval at which a chat is read. */
const ON_ITS_WAY_MS = 15_000;
const MEMBERSHIPS: ReadonlySet<string> = new Set(["membership", "milestone", "gift"]);

/**
 * The time that is left at `now`. `leastMs`: the whole time of a message that the platform does not keep
 * there. For a replay, the time begins now, because its messages were written long ago.
 */
export function standsInTickerMs({ type, details }: ShownMessage, now: number, leastMs: number): number {
  const seconds = MEMBERSHIPS.has(type) ? MEMBERSHIP_S : (BY_TIER_S[(details.tier ?? 0) - 1] ?? 0);
  const saidAt = typeof details.publishedAt === "string" ? Date.parse(details.publishedAt) : Number.NaN;
  const isReplay = details.offsetMs !== undefined;
  const passedMs = isReplay || Number.isNaN(saidAt) ? 0 : Math.max(0, now - saidAt - ON_ITS_WAY_MS);
  return Math.max(0, Math.max(seconds * 1000, leastMs) - passedMs);
}
