/** The gaps of a room's log, beside what its chat really said. */
import type { VirtualRelay } from "../harness/virtual-relay.ts";

/**
 * Counts the places where messages are missing without a gap and with one, and the gaps without missing
 * messages.
 */
export async function gapsIn(
  relay: VirtualRelay,
  { videoId, ledger }: { videoId: string; ledger: readonly { id: string }[] },
) {
  const places = new Map(ledger.map(({ id }, place) => [id, place]));
  const found = { untold: 0, told: 0, needless: 0 };
  let last: number | undefined;
  let isTold = false;
  for (const { id, type } of await relay.stored(videoId)) {
    const place = places.get(id);
    if (type === "gap") isTold = true;
    if (place === undefined) continue;
    const isWhole = last === undefined || place === last + 1;
    if (!isWhole && !isTold) found.untold += 1;
    if (isTold) found[isWhole ? "needless" : "told"] += 1;
    last = place;
    isTold = false;
  }
  return found;
}
