/** The gaps of a room's log, beside what its chat really said. */
import type { Chat } from "../../simulator/simulated-chat.ts";
import type { VirtualRelay } from "../harness/virtual-relay.ts";

/**
 * Counts the places where messages are missing without a gap and with one, and the gaps without missing
 * messages. Between two gaps, a run of Top chat's messages alone may lack those that Top chat leaves out.
 */
export async function gapsIn(relay: VirtualRelay, chat: Chat) {
  const found = { untold: 0, told: 0, needless: 0 };
  const missingAfter = (last: number, place: number) => chat.ledger.slice(last + 1, place);
  const isLeftOut = ({ action }: Chat["ledger"][number]) => chat.leavesOut(action);
  const runs = await runsOf(relay, chat);
  let last: number | undefined;
  for (const [number, run] of runs.entries()) {
    const isBetweenGaps = number < runs.length - 1;
    const isOfTopChat =
      isBetweenGaps && !run.some((place) => missingAfter(place - 1, place + 1).some(isLeftOut));
    for (const [at, place] of run.entries()) {
      const missing = last === undefined ? [] : missingAfter(last, place);
      if (at === 0 && number > 0) found[missing.length > 0 ? "told" : "needless"] += 1;
      else if (missing.length > 0 && !(isOfTopChat && missing.every(isLeftOut))) found.untold += 1;
      last = place;
    }
  }
  return found;
}

/** The places of the stored messages in the ledger, cut at each gap. */
async function runsOf(relay: VirtualRelay, { videoId, ledger }: Chat): Promise<readonly number[][]> {
  const places = new Map(ledger.map(({ id }, place) => [id, place]));
  const runs: number[][] = [[]];
  for (const { id, type } of await relay.stored(videoId)) {
    const place = places.get(id);
    if (type === "gap") runs.push([]);
    else if (place !== undefined) runs.at(-1)?.push(place);
  }
  return runs;
}
