/** The messages that a room's viewers may be sent, where its late readers are not given everything. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { simulateInProcess } from "../../simulator/index.ts";
import { RoomTruth } from "./room-truth.ts";

const BASE = 100;

type Sent = number | "gap" | "end";

/** The faults of what a viewer is sent: each a number of the four messages, from 1, a gap, or the end. */
function faultsOf(sent: readonly Sent[]): (string | undefined)[] {
  const chat = simulateInProcess().chat("truth-00001", { kinds: ["text"] });
  chat.say(4);
  const room = new RoomTruth(chat, "live", { isLossy: true });
  room.begin(BASE);
  room.mayEnd = true;
  return sent.map((what, at) => {
    if (what === "end") return room.ended(BASE + at);
    const cursor = BASE + 1 + at;
    const gap = { type: "gap", id: `gap:${cursor - 1}`, author: "", message: "Missing.", amount: "" };
    const message = what === "gap" ? gap : chat.ledger[what - 1]?.says;
    return room.fault(cursor, JSON.stringify(message), false);
  });
}

describe("a room whose late readers are not given everything", () => {
  const rows: [what: string, sent: Sent[], fault?: RegExp][] = [
    ["lacks messages behind a gap", [1, "gap", 4]],
    ["has one of them later, if a page shows it then", [1, "gap", 3, 2, 4]],
    ["has each of them once", [1, "gap", 3, 2, 2], /should be|never said/],
    ["lacks none without a gap", [1, 3], /should be/],
    ["may end with what was found later", [1, "gap", 3, 4, 2, "end"]],
    ["may end with a gap", [1, 2, 3, 4, "gap", "end"]],
    ["lacks none later than behind a gap", [1, "gap", 2, 4], /should be/],
  ];
  for (const [what, sent, fault] of rows)
    it(what, () => {
      const faults = faultsOf(sent);
      assert.deepEqual(faults.slice(0, -1).filter(Boolean), []);
      if (fault) assert.match(String(faults.at(-1)), fault);
      else assert.equal(faults.at(-1), undefined);
    });
});
