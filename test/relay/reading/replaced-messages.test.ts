/**
 * A message that comes in the place of another: `replaced` to a room that holds the other, else the item
 * itself.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { Appender } from "../../../src/reading/batch/appender.ts";
import { memoryOf } from "../../../src/reading/batch/checkpoint.ts";
import { InlineThread, inMemory } from "../../../src/store/sqlite/inline-thread.ts";
import { SqliteStore } from "../../../src/store/sqlite/sqlite.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { encodeMessage } from "../../../src/store/stored-message.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { readActions } from "../../../src/upstream/readers/actions.ts";
import { type PollBody, pollOf, post, session } from "../../support/api.ts";
import { openStream, textAction } from "../../support/opening.ts";
import { POSITION } from "../../support/position.ts";
import { startRelay } from "../../support/relay.ts";
import { CONTEXT, roomLog } from "../../support/room-log.ts";
import { own } from "../../support/store-reading.ts";
import { observe } from "../../support/store-subject.ts";

const VIDEO = "replaced-01";

const text = (id: string, words: string): JsonObject => ({
  liveChatTextMessageRenderer: {
    id,
    timestampUsec: "1767225600000000",
    message: { runs: [{ text: words }] },
  },
});
const said = (id: string, words: string): JsonObject => ({ addChatItemAction: { item: text(id, words) } });
const replacing = (targetItemId: string, item: JsonObject): JsonObject => ({
  replaceChatItemAction: { targetItemId, replacementItem: item },
});
const placeholder = (id: string): JsonObject => ({ liveChatPlaceholderItemRenderer: { id } });

it("a replacement of a message of an earlier batch, or earlier in its own, is replaced", async () => {
  const take = await roomLog();
  assert.deepEqual(await take(said("a", "one")), ["chat a one"]);
  assert.deepEqual(
    await take(replacing("a", text("a", "two")), said("b", "three"), replacing("b", text("b", "four"))),
    ["replaced replaced:a:# two", "chat b three", "replaced replaced:b:# four"],
  );
});

it("a replacement of a placeholder, or of an unknown message, is the new item", async () => {
  const take = await roomLog();
  const added = await take(
    { addChatItemAction: { item: placeholder("a") } },
    replacing("a", text("a", "one")),
    replacing("unseen", text("b", "two")),
    replacing("b", placeholder("b")),
  );
  assert.deepEqual(added, ["chat a one", "chat b two"]);
});

it("each new content is sent once, however often it is read again", async () => {
  const take = await roomLog();
  const actions = [
    replacing("a", text("a", "one")),
    replacing("a", text("a", "two")),
    said("b", "three"),
    replacing("b", text("b", "four")),
    replacing("a", text("a", "three")),
  ];
  const told = await take(...actions);
  assert.deepEqual(told, [
    "chat a one",
    "replaced replaced:a:# two",
    "chat b three",
    "replaced replaced:b:# four",
    "replaced replaced:a:# three",
  ]);
  for (let from = 0; from < actions.length; from++) assert.deepEqual(await take(...actions.slice(from)), []);
});

for (const contents of ["two two", "two two three", "two two one", "two three three two"]) {
  it(`a content that comes twice in a row is sent once, also if it is read again: ${contents}`, async () => {
    const take = await roomLog();
    const words = contents.split(" ");
    const actions = [said("a", "one"), ...words.map((word) => replacing("a", text("a", word)))];
    const told = await take(...actions);
    const once = words.filter((word, i) => word !== words[i - 1]);
    assert.deepEqual(
      told.map((line) => line.split(" ").at(-1)),
      ["one", ...once],
    );
    for (let from = 0; from < actions.length; from++)
      assert.deepEqual(await take(...actions.slice(from)), []);
  });
}

it("a message that returns to old content is replaced once more, and a reread adds nothing", async () => {
  const take = await roomLog();
  const contents = ["two", "one", "two", "three", "one", "two"];
  const actions = [said("a", "one"), ...contents.map((words) => replacing("a", text("a", words)))];
  for (const [i, action] of actions.entries()) {
    const told = await take(action);
    assert.deepEqual(
      told.map((line) => line.split(" ").at(-1)),
      [["one", ...contents][i]],
    );
    for (let from = 0; from <= i; from++) assert.deepEqual(await take(...actions.slice(from, i + 1)), []);
  }
  const atOnce = await roomLog();
  assert.equal((await atOnce(...actions)).length, actions.length);
  assert.deepEqual(await atOnce(...actions.slice(3)), []);
  assert.equal((await atOnce(...actions.slice(5), replacing("a", text("a", "three")))).length, 1);
});

/** A store that makes its first batch durable and then fails to say so. */
class ForgetfulStore extends SqliteStore {
  failed = 0;

  override async append(...args: Parameters<SqliteStore["append"]>) {
    const added = await super.append(...args);
    if (this.failed++ === 0) throw new StoreError("unavailable", "the answer was lost");
    return added;
  }
}

it("a batch is resolved the same way when its append is repeated after a lost answer", async () => {
  const clock = { ...systemClock, sleep: () => Promise.resolve() };
  const store = new ForgetfulStore(clock, new InlineThread(inMemory()));
  const hold = await own(store, VIDEO);
  const telemetry = new Telemetry(silentLog);
  const settings = { ...CONTEXT, isBlanking: false };
  const parts = { store: observe(store, clock, telemetry), clock, telemetry, settings };
  const appender = new Appender(parts, hold, memoryOf(hold.room, false, parts));
  const actions = [
    replacing("a", text("a", "one")),
    replacing("a", text("a", "two")),
    replacing("late", text("b", "three")),
    said("late", "four"),
  ];
  await appender.append(
    [readActions(actions, CONTEXT)],
    { position: POSITION, startedAt: clock.monotonic() },
    new AbortController().signal,
  );
  assert.equal(store.failed, 2);
  const ids = (await store.read(VIDEO, 0, 10)).map(({ id }) => id.replace(/[\w-]{12}$/, "#"));
  assert.deepEqual(ids, ["a", "replaced:a:#", "b", "late"]);
});

it("the same content in place of two messages is two events", async () => {
  const take = await roomLog();
  await take(said("a", "one"), said("b", "two"));
  const told = await take(replacing("a", text("a", "x")), replacing("b", text("b", "x")));
  assert.equal(told.length, 2);
});

it("a replaced message names the message it replaces, and has the new content's details", () => {
  const [item] = readActions([replacing("a", text("b", "new"))], CONTEXT).items;
  assert.equal(item?.replaces?.id, "a");
  const { as } = item.replaces;
  assert.ok(as.type === "replaced");
  assert.deepEqual([as.message, as.details.target], ["new", { messageId: "a" }]);
  assert.equal(as.details.publishedAt, "2026-01-01T00:00:00.000000Z");
  assert.ok(encodeMessage(as).body.includes('"id":"replaced:a:'));
});

it("a message and its replacement in one answer to a caller are one message, with the new content", async () => {
  await using relay = await startRelay();
  const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5 });
  const wordsOf = ({ messages }: PollBody) => messages.map(({ id, message }) => `${id} ${message}`);
  chat.say([textAction("a"), textAction("b"), replacing("a", text("a", "new"))]);
  const opened = await session(relay.url, { videoId: VIDEO });
  assert.deepEqual(wordsOf(opened), ["a new", "b b"]);
  chat.say([textAction("c"), replacing("c", text("c", "newer")), textAction("d")]);
  const { body } = await post<PollBody>(relay.url, "/v1/poll", pollOf(opened));
  assert.deepEqual(wordsOf(body), ["c newer", "d d"]);
});

it("a stream reports the replacement; a session, which keeps nothing, gives the new item", async () => {
  await using relay = await startRelay();
  const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5 });
  chat.say([textAction("a")]);
  await using stream = await openStream(relay, { videoId: VIDEO });
  await stream.untilMessages(1);
  const opened = await session(relay.url, { videoId: VIDEO });
  chat.say([replacing("a", text("a", "new")), textAction("b")]);
  await stream.until(() => stream.ids.includes("b"));
  const types = stream.messages.map(({ message }) => `${message.type} ${message.message}`);
  assert.deepEqual(types, ["chat a", "replaced new", "chat b"]);

  const { body } = await post<PollBody>(relay.url, "/v1/poll", pollOf(opened));
  assert.deepEqual(
    body.messages.map(({ type, message }) => `${type} ${message}`),
    ["chat new", "chat b"],
  );
});
