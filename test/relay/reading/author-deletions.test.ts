/**
 * An author all of whose messages are deleted: viewers learn it each time that there is something new to
 * delete.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { NO_MEMORY, resolve } from "../../../src/reading/batch/resolve.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { readActions } from "../../../src/upstream/readers/actions.ts";
import { NOTHING_HELD } from "../../support/nothing-held.ts";
import { openStream } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { CONTEXT, roomLog } from "../../support/room-log.ts";

const VIDEO = "deletions-1";
const AUTHOR = "UCaaaaaaaaaaaaaaaaaaaaaa";
const text = (id: string, authorExternalChannelId = AUTHOR, simpleText = "hi"): JsonObject => ({
  liveChatTextMessageRenderer: {
    id,
    authorExternalChannelId,
    timestampUsec: "1767225600000000",
    message: { simpleText },
  },
});
const said = (id: string, author = AUTHOR) => ({ addChatItemAction: { item: text(id, author) } });
const edited = (id: string) => ({
  replaceChatItemAction: { targetItemId: id, replacementItem: text(id, AUTHOR, "edited") },
});
const deletion = (externalChannelId = AUTHOR): JsonObject => ({
  markChatItemsByAuthorAsDeletedAction: { externalChannelId, deletedStateMessage: { simpleText: "gone" } },
});
const FIRST = `author_deleted author_deleted:${AUTHOR} gone`;
const AGAIN = (since: string) => `author_deleted author_deleted:${AUTHOR}:${since} gone`;

describe("an author all of whose messages are deleted", () => {
  it("is deleted again with the first message since then, in one answer or in several", async () => {
    const take = await roomLog();
    const sent = [
      ...(await take(said("bad1"), deletion())),
      ...(await take(said("bad2"))),
      ...(await take(said("bad3"), said("other", "UCother"))),
      ...(await take(deletion())),
      ...(await take(said("bad4"), deletion(), said("bad5"), deletion())),
    ];
    assert.deepEqual(
      sent.filter((line) => line.startsWith("author_deleted")),
      [FIRST, AGAIN("bad2"), AGAIN("bad4"), AGAIN("bad5")],
    );
  });

  it("is not deleted again by a repeated deletion from any source", async () => {
    const plain = [said("bad1"), deletion(), said("bad2"), deletion(), deletion(), said("bad3")];
    const withEdits = [said("bad1"), deletion(), edited("bad1"), deletion(), said("bad3"), edited("bad3")];
    for (const actions of [plain, withEdits]) {
      for (let until = 1; until <= actions.length; until++) {
        const take = await roomLog();
        await take(...actions.slice(0, until));
        for (let from = 0; from < until; from++)
          assert.deepEqual(await take(...actions.slice(from, until)), []);
        await take(...actions);
        assert.deepEqual(await take(deletion()), [AGAIN("bad3")], `after ${until}`);
      }
    }
  });

  it("is not deleted again by a page that lacks the first later message, which was deleted alone", async () => {
    const take = await roomLog();
    const other = said("other", "UCother");
    await take(said("bad1"), deletion(), other, said("bad2"), said("bad3"));
    assert.deepEqual(await take(deletion(), other, said("bad3")), []);
    assert.deepEqual(await take(deletion(), deletion()), [AGAIN("bad2")]);
  });

  for (const [what, answer, since] of [
    ["an earlier message", [deletion(), edited("old")], "bad2"],
    ["the first message since then", [deletion(), said("bad3"), deletion(), edited("bad3")], "bad3"],
  ] as const)
    it(`is deleted again though ${what} is edited behind the deletion`, async () => {
      const take = await roomLog();
      await take(said("old"), said("bad1"), deletion(), said("bad2"));
      const sent = await take(...answer);
      assert.equal(
        sent.findLast((line) => line.startsWith("author_deleted")),
        AGAIN(since),
      );
    });

  it("is remembered as deleted after a restart, with the messages since then", async () => {
    for (const restarts of [[1], [2], [1, 2, 3]]) {
      const store = memoryStore(systemClock);
      let take = await roomLog(store);
      const sent: string[] = [];
      for (const [i, action] of [deletion(), said("bad"), deletion(), deletion()].entries()) {
        if (restarts.includes(i)) take = await roomLog(store);
        sent.push(...(await take(action)));
      }
      assert.deepEqual(sent, [FIRST, "chat bad hi", AGAIN("bad")], `restarts before ${restarts}`);
    }
  });

  it("is remembered with 500 others, the newest", () => {
    let memory = NO_MEMORY;
    for (let i = 0; i < 501; i++) {
      const { items } = readActions([deletion(`UC${i}`)], CONTEXT);
      memory = resolve(items, NOTHING_HELD, memory, CONTEXT.receivedAt);
    }
    const { deletions } = memory;
    assert.deepEqual([deletions.size, deletions.has("UC0"), deletions.has("UC500")], [500, false, true]);
  });

  it("is deleted again on a stream that is read on after its token expired", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5 });
    await using stream = await openStream(relay, { videoId: VIDEO });
    chat.say([said("bad1"), deletion(), said("bad2")]);
    await stream.untilMessages(3);
    chat.expireTokens();
    await relay.upstream.requested("popout");
    chat.say([deletion()]);
    await stream.untilMessages(4);
    assert.deepEqual(stream.ids, [
      "bad1",
      `author_deleted:${AUTHOR}`,
      "bad2",
      `author_deleted:${AUTHOR}:bad2`,
    ]);
  });
});
