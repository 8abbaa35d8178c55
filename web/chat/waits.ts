/** How long the pages wait before they ask again for a chat. */
import type { ChatError } from "../../client/index.ts";

/** For a chat that has not begun: pages are often open before it. */
const NO_CHAT_MS = 30_000;
/** Five minutes of attempts; then the pauses of the SDK, up to half a minute. */
const SOON_ATTEMPTS = 170;

/** Milliseconds until the next attempt; undefined leaves it to the SDK, or to the user after a refusal. */
export function waitAfter(error: ChatError, attempt: number): number | undefined {
  const { code, status, retryAfterMs } = error;
  if (code === "NO_LIVE_CHAT") return NO_CHAT_MS;
  if (isAway(error)) return retryAfterMs ?? (attempt < SOON_ATTEMPTS ? soonMs() : undefined);
  return status === 429 || status === 503 ? (retryAfterMs ?? NO_CHAT_MS) : undefined;
}

/** Whether the service did not answer, or a proxy answered in its place. */
export function isAway({ code, status = 500 }: Pick<ChatError, "code" | "status">): boolean {
  return code === "NETWORK" || (code === "HTTP" && status >= 500);
}

/** A service that is back is asked within three seconds, but not by all pages at once. */
function soonMs(): number {
  return 1000 + 1500 * Math.random();
}
