/**
 * What chaos finds in the messages of viewers who come before anybody knows where their room begins, and
 * where a notice that is said again is missing.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { simulateInProcess } from "../../src/simulator/index.ts";
import { ExpectedMessages } from "./expected-messages.ts";
import { RoomTruth } from "./room-truth.ts";

const BASE = 1000;

/** A room with three messages, and the data of each. */
function roomOfThree(): { room: RoomTruth; data: string[] } {
  const chat = simulateInProcess().chat("room-truth-1", { kinds: ["text"] });
  chat.say(3);
  const expected = new ExpectedMessages();
  const data = chat.ledger.map((entry) => JSON.stringify(expected.next(entry)));
  return { room: new RoomTruth(chat, "live"), data };
}

describe("messages before the room's first viewer", () => {
  it("are right if they are those of the chat", () => {
    const { room, data } = roomOfThree();
    const faults = data.map((text, index) => room.fault(BASE + 1 + index, text, false));
    assert.deepEqual([...faults, room.begin(BASE)], [undefined, undefined, undefined, undefined]);
    assert.equal(room.cursorOf(3), BASE + 3);
  });

  it("are found wrong once the first viewer knows where the room begins", () => {
    const { room, data } = roomOfThree();
    const [first = "", second = "", third = ""] = data;
    for (const [index, text] of [second, first, third].entries()) room.fault(BASE + 1 + index, text, false);
    assert.match(String(room.begin(BASE)), /^id is ".*should be .*\(under 1001\)$/);
  });

  it("are wrong if the room begins behind them", () => {
    const { room, data } = roomOfThree();
    room.fault(BASE, data[0] ?? "", false);
    assert.match(String(room.begin(BASE)), /begins after 1000, though somebody was sent 1000/);
  });

  it("are the same for everybody", () => {
    const { room, data } = roomOfThree();
    room.fault(BASE + 1, data[0] ?? "", false);
    assert.match(String(room.fault(BASE + 1, data[1] ?? "", false)), /another text than before/);
  });
});

describe("a notice", () => {
  /** A room of a chat that says the house rules twice, and then a message; and the data of the three. */
  function roomWithRules(): { room: RoomTruth; data: string[] } {
    const chat = simulateInProcess().chat("room-truth-2", { kinds: ["engagement"] });
    chat.say(2);
    chat.change({ kinds: ["text"] });
    chat.say(1);
    const expected = new ExpectedMessages();
    const data = chat.ledger.map((entry) => {
      const due = expected.next(entry);
      expected.hear(entry);
      return JSON.stringify(due);
    });
    const room = new RoomTruth(chat, "live");
    room.begin(BASE);
    return { room, data };
  }

  it("may be missing if the room holds one of its text", () => {
    const { room, data } = roomWithRules();
    assert.equal(room.fault(BASE + 1, data[0] ?? "", false), undefined);
    assert.deepEqual([room.cursorOf(2), room.cursorOf(3)], [BASE + 1, undefined]);
    assert.equal(room.fault(BASE + 2, data[2] ?? "", false), undefined);
    assert.equal(room.cursorOf(3), BASE + 2);
  });

  it("must be there once, and is not there more often than it is said", () => {
    const { room, data } = roomWithRules();
    assert.match(String(room.fault(BASE + 1, data[2] ?? "", false)), /type is "chat" .*should be "notice"/);
    const other = roomWithRules();
    const rules = other.data[0] ?? "";
    const faults = [1, 2, 3].map((place) => other.room.fault(BASE + place, rules, false));
    assert.deepEqual(faults.slice(0, 2), [undefined, undefined]);
    assert.match(String(faults[2]), /type is "notice" .*should be "chat"/);
  });
});
