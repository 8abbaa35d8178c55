/**
 * Notices of one text: one that is really sent again is another message, one that is only shown or read
 * again is not.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { NO_MEMORY, resolve } from "../../../src/reading/batch/resolve.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { completeInOrder, mergeInOrder } from "../../../src/upstream/order.ts";
import { readActions } from "../../../src/upstream/readers/actions.ts";
import { knownByText } from "../../../src/upstream/readers/notice.ts";
import type { Item } from "../../../src/upstream/readers/reader.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { adding, replaying } from "../../support/chat-items.ts";
import { NOTHING_HELD } from "../../support/nothing-held.ts";
import { textAction } from "../../support/opening.ts";
import { CONTEXT, roomLog } from "../../support/room-log.ts";

const VIDEO = "notices-1ab";
const SLOW = "Slow mode is on";
/** Without `usec`, the upstream gives no time. */
const notice = (id: string | undefined, words = SLOW, usec?: number) =>
  adding({
    liveChatViewerEngagementMessageRenderer: {
      ...(id !== undefined && { id }),
      ...(usec !== undefined && { timestampUsec: String(usec) }),
      icon: { iconType: "YOUTUBE_ROUND" },
      message: { simpleText: words },
    },
  }) as JsonObject;
/** What the room's log says of them: how often, in which order. */
const numbered = (lines: readonly string[]) =>
  lines
    .filter((line) => line.startsWith("notice"))
    .map((line) => line.replace(/notice notice:[\w-]{12}/, "notice"));

describe("a notice in an answer to a poll", () => {
  it("is another message each time that the upstream's id is new", async () => {
    const take = await roomLog();
    assert.deepEqual(numbered(await take(notice("a"), notice("b"))), [`notice ${SLOW}`, `notice:2 ${SLOW}`]);
    assert.deepEqual(numbered(await take(notice("c"))), [`notice:3 ${SLOW}`]);
    assert.deepEqual(numbered(await take(notice("x", "Other words"))), ["notice Other words"]);
    assert.deepEqual(await take(notice("b"), notice("a"), notice("c")), []);
  });

  it("is a new message if the upstream's id is new, although several have the same time", async () => {
    const store = memoryStore(systemClock);
    let take = await roomLog(store);
    const at = (id: string) => notice(id, SLOW, 1_767_323_045_000_000);
    assert.deepEqual(numbered(await take(at("a"), at("b"))), [`notice ${SLOW}`, `notice:2 ${SLOW}`]);
    assert.deepEqual(numbered(await take(at("c"))), [`notice:3 ${SLOW}`]);
    take = await roomLog(store);
    assert.deepEqual(numbered(await take(at("b"), at("d"))), [`notice:4 ${SLOW}`]);
    assert.deepEqual(await take(at("c"), at("a"), at("d"), at("b")), []);
  });

  it("is known by its text if it has no id", async () => {
    const take = await roomLog();
    await take(notice("a"));
    assert.deepEqual(await take(notice(undefined)), []);
    assert.deepEqual(numbered(await take(notice("b"))), [`notice:2 ${SLOW}`]);
  });

  it("is counted once across restarts, however often an answer is read again", async () => {
    const store = memoryStore(systemClock);
    let take = await roomLog(store);
    const sent: string[] = [];
    for (const [i, action] of ["a", "b", "b", "c", "a", "d"].map((id) => notice(id)).entries()) {
      if (i % 2 === 1) take = await roomLog(store);
      sent.push(...(await take(action)));
    }
    assert.deepEqual(
      numbered(sent),
      ["notice", "notice:2", "notice:3", "notice:4"].map((id) => `${id} ${SLOW}`),
    );
  });

  it("is known by its time where its id is forgotten", async () => {
    const take = await roomLog();
    await take(notice("a", SLOW, 1_767_323_045_000_000));
    for (let i = 0; i < 200; i++) await take(notice(`other ${i}`, "Other words", 1_767_323_046_000_000 + i));
    assert.deepEqual(await take(notice("a", SLOW, 1_767_323_045_000_000)), []);
    assert.deepEqual(numbered(await take(notice("b", SLOW, 1_767_323_047_000_000))), [`notice:2 ${SLOW}`]);
  });

  it("is known by its place in a replay where its id is forgotten", async () => {
    const take = await roomLog();
    await take(replaying("45000", notice("a")));
    for (let i = 0; i < 200; i++) await take(replaying("46000", notice(`other ${i}`, "Other words")));
    assert.deepEqual(await take(replaying("45000", notice("a"))), []);
    assert.deepEqual(numbered(await take(replaying("47000", notice("b")))), [`notice:2 ${SLOW}`]);
  });
});

it("a page and its answer are one list, which keeps a repeated notice", () => {
  const read = (...actions: JsonObject[]) => readActions(actions, CONTEXT).items;
  const page = knownByText(read(textAction("1"), notice("made for the page")));
  const [, , , again] = mergeInOrder(page, read(textAction("2"), notice("b")));
  assert.equal(again?.noticeId, "b");
  assert.equal(mergeInOrder(page, knownByText(read(textAction("2"), notice("again")))).length, 3);
});

it("a notice that a page and an answer show under two ids is one message if its time is the same", () => {
  const read = (id: string) => readActions([notice(id, SLOW, 1_767_323_045_000_000)], CONTEXT).items;
  const items = [...knownByText(read("made for the page")), ...read("a"), ...read("b")];
  const { messages } = resolve(items, NOTHING_HELD, NO_MEMORY, 0);
  const [first = ""] = messages.map(({ id }) => id);
  assert.deepEqual(
    messages.map(({ id }) => id),
    [first, first, `${first}:2`],
  );
});

it("a notice of a late answer that the page behind it shows, too, is one message", async () => {
  const item = (id: string, second: number) => {
    const [text] = readActions([textAction(id)], CONTEXT).items;
    const publishedAt = `2026-01-01T00:00:0${second}.000000Z`;
    return { ...text, message: { ...text?.message, details: { publishedAt } } } as Item;
  };
  const read = (id: string) => readActions([notice(id)], CONTEXT).items;
  const answer = [item("2", 2), ...read("a"), item("3", 3)];
  const page = [item("1", 1), item("2", 2), ...knownByText(read("made for the page")), item("3", 3)];
  const complete = completeInOrder(answer, page, "").items;
  const { messages } = resolve(complete, NOTHING_HELD, NO_MEMORY, 0);
  const ids = messages.map(({ id }) => id.replace(/notice:[\w-]{12}/, "notice"));
  assert.deepEqual(ids, ["1", "2", "notice", "3"]);
});

describe("a room", () => {
  async function watched(scenario: Partial<Scenario> = {}) {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { page: 20, ...scenario });
    chat.say([textAction("before"), notice("a")]);
    const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 });
    await viewer.untilMessages(2);
    const say = async (...actions: JsonObject[]) => {
      chat.say([...actions, textAction(`after ${chat.ledger.length}`)]);
      const last = chat.ledger.at(-1)?.id ?? "";
      await viewer.until(() => viewer.ids.includes(last));
    };
    const notices = ({ messages } = viewer) =>
      messages.flatMap(({ message: { type, id } }) =>
        type === "notice" ? [id.slice("notice:".length + 12)] : [],
      );
    return { relay, chat, viewer, say, notices };
  }

  it("repeats a notice only if it was sent again, not if a page shows it under a new id", async () => {
    const { relay, chat, say, notices } = await watched();
    await say(notice("b"));
    assert.deepEqual(notices(), ["", ":2"]);
    chat.expireTokens();
    await relay.requested("popout");
    await say();
    assert.deepEqual(notices(), ["", ":2"]);
    await say(notice("c"));
    assert.deepEqual(notices(), ["", ":2", ":3"]);
  });

  it("that is opened from a page without messages does not repeat those of the first answer", async () => {
    const { relay, chat, say, notices } = await watched({ foundOn: "watch" });
    chat.expireTokens();
    await relay.requested("watch");
    await say();
    assert.deepEqual(notices(), [""]);
  });

  it("counts on after the service is killed between two polls", async () => {
    const { relay, chat, viewer, say, notices } = await watched();
    await say(notice("b"));
    await relay.restart(1000);
    const after = await relay.enter({ videoId: VIDEO, lastEventId: viewer.cursors.at(-1) ?? 0 });
    chat.say([notice("c"), textAction("last")]);
    await after.until(() => after.ids.includes("last"));
    assert.deepEqual([notices(), notices(after)], [["", ":2"], [":3"]]);
  });

  it("reads a replay from its beginning again without repeating its notices", async () => {
    const relay = new VirtualRelay();
    const scenario = { kind: "replay", kinds: ["text"], pageSize: 2 } as const;
    const chat = relay.upstream.chat(VIDEO, scenario);
    for (const id of ["welcome", "a", "b"]) chat.say([notice(id), textAction(`after ${id}`)]);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(3);
    chat.expireTokens();
    await viewer.ended();
    const ids = viewer.ids.map((id) => id.replace(/notice:[\w-]{12}/, "notice"));
    assert.deepEqual(ids, ["notice", "after welcome", "notice:2", "after a", "notice:3", "after b"]);
  });
});
