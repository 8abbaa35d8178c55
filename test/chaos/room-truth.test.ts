/** What chaos finds in the messages of viewers who come before anybody knows where their room begins. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { simulateInProcess } from "../../simulator/index.ts";
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

describe("a poll in a banner that is taken down", () => {
  /** A room of a chat that pins and unpins, the data of what it says, and the index of a closed poll. */
  function roomWithPolls() {
    const chat = simulateInProcess().chat("room-truth-2", { kinds: ["banner"] });
    chat.say(40);
    const expected = new ExpectedMessages();
    for (const entry of chat.ledger) expected.hear(entry);
    const room = new RoomTruth(chat, "live");
    room.begin(BASE);
    const { messages } = expected;
    const closed = messages.findIndex(({ type, id }, i) => type === "poll" && id === messages[i - 1]?.id);
    return { room, messages, closed };
  }
  const faultsOf = (room: RoomTruth, messages: readonly object[]) =>
    messages.flatMap((message, i) => room.fault(BASE + 1 + i, JSON.stringify(message), false) ?? []);

  it("is closed just before, if the room was shown it", () => {
    const { room, messages } = roomWithPolls();
    assert.deepEqual(faultsOf(room, messages), []);
    assert.equal(room.cursorOf(40), BASE + messages.length);
  });

  it("is a fault if it is not closed", () => {
    const { room, messages, closed } = roomWithPolls();
    assert.ok(closed > 0);
    assert.match(String(faultsOf(room, messages.toSpliced(closed, 1))[0]), /should be "poll"/);
  });
});
