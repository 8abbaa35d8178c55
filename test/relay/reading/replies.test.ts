/** Replies to Super Chats: each names to whom it replies, and to what, if the room held it then. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Details } from "../../../src/protocol/kinds.ts";
import type { MessageOf } from "../../../src/protocol/message.ts";
import type { HeldMessage } from "../../../src/reading/batch/replacements.ts";
import { NO_MEMORY, resolve } from "../../../src/reading/batch/resolve.ts";
import { readActions } from "../../../src/upstream/readers/actions.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../harness/virtual-viewer.ts";
import { type PollBody, pollOf, post, session } from "../../support/api.ts";
import { adding, COMMON, PAID, replyButton } from "../../support/chat-items.ts";
import { NOTHING_HELD } from "../../support/nothing-held.ts";
import { startRelay } from "../../support/relay.ts";
import { CONTEXT } from "../../support/room-log.ts";

const VIDEO = "replies-to1";
const THREAD = "Ugk-thread_of-the_first.super~chat1";
const base64 = (bytes: string) => encodeURIComponent(btoa(bytes));

/** `key`: which of its buttons names the thread. */
const paid = (id: string, thread = THREAD, key: "like" | "reply" = "reply") => {
  const entity = base64(`\x08\x05\x12#x\x12#${thread} \x28\x01`);
  return adding({
    liveChatPaidMessageRenderer: {
      ...PAID.liveChatPaidMessageRenderer,
      ...COMMON,
      id,
      pdgLikeButton: { pdgLikeViewModel: { likeCountEntityKey: key === "like" ? entity : "other" } },
      ...(key === "reply" && { replyButton: { pdgReplyButtonViewModel: { replyCountEntityKey: entity } } }),
    },
  });
};
const reply = (id: string, title = "@donor", thread = THREAD) =>
  adding({
    liveChatTextMessageRenderer: {
      ...COMMON,
      id,
      message: { simpleText: "thanks!" },
      beforeContentButtons: [
        { buttonViewModel: { iconName: "CROWN", title: "#1" } },
        replyButton(title, thread && base64(`\x12\x02ab\n#${thread}\x18\x01`)),
      ],
    },
  });
const repliesIn = ({ messages }: Pick<VirtualViewer, "messages">) =>
  messages.flatMap(({ message }) =>
    message.type === "chat" ? [(message as MessageOf<"chat">).details.replyTo] : [],
  );

describe("a reply to a Super Chat", () => {
  it("names the author and the message, however the message names its thread", async () => {
    for (const key of ["like", "reply"] as const) {
      const relay = new VirtualRelay();
      const chat = relay.upstream.chat(VIDEO, { page: 0 });
      const viewer = await relay.enter({ videoId: VIDEO, details: true });
      chat.say([reply("early")]);
      await viewer.untilMessages(1);
      chat.say([paid("sc1", THREAD, key), reply("in the same answer")]);
      await viewer.untilMessages(3);
      chat.say([paid("sc2", THREAD.replace("first", "other")), reply("later", " @donor ")]);
      await viewer.untilMessages(5);
      assert.deepEqual(repliesIn(viewer), [
        { author: "@donor" }, // the room did not hold it then
        { author: "@donor", messageId: "sc1" },
        { author: "@donor", messageId: "sc1" },
      ]);
    }
  });

  it("names the message after a restart, and none of a thread that it never saw", async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { page: 0 });
    const before = await relay.enter({ videoId: VIDEO, details: true });
    chat.say([paid("sc1")]);
    await before.untilMessages(1);
    await relay.restart(1000);
    const after = await relay.enter({ videoId: VIDEO, details: true, backfill: 0 });
    chat.say([reply("r1"), reply("r2", "@donor", THREAD.replace("first", "never"))]);
    await after.untilMessages(2);
    assert.deepEqual(repliesIn(after), [{ author: "@donor", messageId: "sc1" }, { author: "@donor" }]);
  });

  it("names the author alone where the button names no thread, or no room holds messages", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO);
    chat.say([paid("sc1")]);
    const first = await session(relay.url, { videoId: VIDEO, details: true });
    chat.say([reply("r1"), reply("r2", "@donor", ""), reply("r3", "")]);
    const { body } = await post<PollBody>(relay.url, "/v1/poll", {
      ...pollOf(first),
      details: true,
    });
    const replies = body.messages.map(({ details }) => (details as { replyTo?: object }).replyTo);
    assert.deepEqual(replies, [{ author: "@donor" }, { author: "@donor" }, undefined]);
  });

  it("does not name a message that the room no longer holds; 500 threads are remembered", () => {
    const { items } = readActions([reply("r1")], CONTEXT);
    const threads = new Map([[THREAD, "sc1"]]);
    const replied = (held: ReadonlyMap<string, HeldMessage>) =>
      resolve(items, { ...NOTHING_HELD, messages: held }, { ...NO_MEMORY, threads }, 0).messages[0]
        ?.details as Details | undefined;
    const { message = assert.fail() } = readActions([paid("sc1")], CONTEXT).items[0] ?? {};
    assert.deepEqual(replied(new Map([["sc1", message]]))?.replyTo, { author: "@donor", messageId: "sc1" });
    assert.deepEqual(replied(new Map())?.replyTo, { author: "@donor" });

    const many = Array.from({ length: 501 }, (_, i) => paid(`sc${i}`, `${THREAD.slice(3)}${i + 100}`));
    const memory = resolve(readActions(many, CONTEXT).items, NOTHING_HELD, NO_MEMORY, 0);
    assert.deepEqual([memory.threads.size, [...memory.threads.values()][0]], [500, "sc1"]);
  });
});
