/**
 * A page in Top chat that reaches further back than the answer with all messages: it shows messages that the
 * room has, but leaves out others behind them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../../harness/virtual-relay.ts";

const VIDEO = "top-chat-01";
/** The page shows this many messages of Top chat, its menu's token as many of all. */
const LENGTH = 10;
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

/** Top chat shows the even ones. */
const isOdd = (action: JsonObject) => /"id":"\d*[13579]"/.test(JSON.stringify(action));

/** A room that has read messages 1 to 20, of which the last ten as they came. */
async function room(options: VirtualRelayOptions = {}) {
  const relay = new VirtualRelay(options);
  const chat = relay.upstream.chat(VIDEO, { page: LENGTH, isTopLonger: true, onlyInAll: isOdd });
  let said = 0;
  const say = (count: number): void => {
    const actions = numbers(said + 1, said + count).map((number) => ({
      addChatItemAction: {
        item: {
          liveChatTextMessageRenderer: {
            id: String(number),
            timestampUsec: String(relay.clock.now() * 1000 + number),
            authorName: { simpleText: "Ann" },
            message: { runs: [{ text: `message ${number}` }] },
          },
        },
      },
    }));
    said += count;
    chat.say(actions);
  };
  say(10);
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(10);
  say(10);
  await viewer.untilMessages(20);
  const sent = () =>
    viewer.messages.map(({ message }) => (message.type === "gap" ? "gap" : Number(message.id))).slice(20);
  return { relay, chat, viewer, say, sent };
}

const tokenLost = ({ chat }: { chat: Chat }) => chat.expireTokens();
/** Polls wait for 12 s, so the next answer is completed from its page. */
const throttled = ({ relay, chat }: { relay: VirtualRelay; chat: Chat }) => {
  chat.change({ holdsMessages: 2 });
  relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
};

describe("a page in Top chat that shows a message of the room", () => {
  for (const [what, interrupt, cooldownMs] of [
    ["behind a token that was refused", tokenLost, 1000],
    ["behind a late answer", throttled, 12_000],
  ] as const) {
    it(`does not hide a gap before the token of all messages, ${what}`, async () => {
      const { relay, viewer, say, sent, ...rest } = await room({
        settings: { RELAY_COOLDOWN_MS: String(cooldownMs) },
      });
      interrupt({ relay, ...rest });
      await relay.advance(cooldownMs);
      say(14); // the page shows 16 to 34 in Top chat, its token 25 to 34
      await viewer.until(() => viewer.ids.includes("34"));
      assert.deepEqual(sent(), ["gap", 22, 24, "gap", ...numbers(25, 34)]);
    });

    it(`leaves no gap if the token of all messages reaches back, ${what}`, async () => {
      const { relay, viewer, say, sent, ...rest } = await room({
        settings: { RELAY_COOLDOWN_MS: String(cooldownMs) },
      });
      interrupt({ relay, ...rest });
      await relay.advance(cooldownMs);
      say(8);
      await viewer.until(() => viewer.ids.includes("28"));
      assert.deepEqual(sent(), numbers(21, 28));
    });
  }
});
