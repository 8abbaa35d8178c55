/** Tickers above a live chat, which its pages show long after their payments were sent. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";

const VIDEO = "tickers-1ab";
/** More than a page shows. */
const BUSY = 40;
/** Longer than the upstream holds messages, and shorter than a ticker is shown. */
const LATER_MS = 120_000;

/** Says an action of the kind, and returns its message's id. */
function sayOne(chat: Chat, kind: "paid" | "ticker" | "gift"): string {
  chat.change({ kinds: [kind] });
  const [id = ""] = chat.say(1);
  chat.change({ kinds: ["text"] });
  return id;
}

/** A chat that can be paid: by a message and a gift with their tickers, then more texts than a page shows. */
async function busyChat(relay: VirtualRelay, foundOn: "popout" | "watch") {
  const hold = { holdsMs: 10_000, holdsMessages: 200 };
  const chat = relay.upstream.chat(VIDEO, { page: 20, foundOn, kinds: ["text"], ...hold });
  return {
    chat,
    pay: async () => {
      const paid = (["paid", "gift"] as const).map((kind) => {
        const id = sayOne(chat, kind);
        sayOne(chat, "ticker");
        return id;
      });
      await relay.advance(LATER_MS);
      chat.say(BUSY);
      return paid;
    },
  };
}

describe("a payment that a page shows only in its ticker", () => {
  for (const foundOn of ["popout", "watch"] as const) {
    it(`is sent once and before the page's messages, found on the ${foundOn} page`, async () => {
      const relay = new VirtualRelay();
      const { chat, pay } = await busyChat(relay, foundOn);
      const paid = await pay();
      const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 });
      await viewer.untilMessages(22);
      chat.expireTokens();
      await relay.requested(foundOn);
      const [last = ""] = chat.say(1);
      await viewer.until(() => viewer.ids.includes(last));
      assert.deepEqual(viewer.ids.slice(0, 2), paid);
      assert.equal(new Set(viewer.ids).size, viewer.ids.length);
      assert.equal(viewer.messages.filter(({ message }) => message.type === "gap").length, 0);
    });
  }

  it("is sent behind the gap in which it came", async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const { chat, pay } = await busyChat(relay, "popout");
    const known = [...chat.say(3), sayOne(chat, "paid")];
    sayOne(chat, "ticker");
    const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 });
    await viewer.untilMessages(known.length);
    assert.deepEqual(viewer.ids, known);
    await relay.advance(1000);
    relay.kill();
    const paid = await pay();
    relay.start();
    const after = await relay.enter({ videoId: VIDEO, lastEventId: viewer.cursors.at(-1) ?? 0 });
    await after.untilMessages(23);
    const types = after.messages.map(({ message }) => message.type);
    assert.equal(types[0], "gap");
    assert.deepEqual(after.ids.slice(1, 3), paid);
    assert.equal(new Set(after.ids).size, after.ids.length);
  });
});
