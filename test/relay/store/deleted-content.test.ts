/** RELAY_DELETED=blank: what a deletion leaves in the store for later readers. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { NAMED_SCHEMAS, refTo } from "../../../src/http/schemas/schemas.ts";
import type { Details } from "../../../src/protocol/kinds.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { decodeMessage } from "../../../src/store/stored-message.ts";
import { COMMON } from "../../support/chat-items.ts";
import { bannered, SENT } from "../../support/every-kind.ts";
import { openStream } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { roomLog } from "../../support/room-log.ts";
import { readAll } from "../../support/store-reading.ts";
import { temporaryFile } from "../../support/store-subject.ts";

const VIDEO = "deleted-001";
const AUTHOR = "UCaaaaaaaaaaaaaaaaaaaaaa";
const OTHER = "UCbbbbbbbbbbbbbbbbbbbbbb";

const text = (id: string, words = `words of ${id}`, author = AUTHOR): JsonObject => ({
  liveChatTextMessageRenderer: {
    id,
    authorExternalChannelId: author,
    timestampUsec: "1767225600000000",
    authorName: { simpleText: `@name of ${author}` },
    message: { simpleText: words },
  },
});
const said = (id: string, author = AUTHOR): JsonObject => ({
  addChatItemAction: { item: text(id, undefined, author) },
});
const replaced = (id: string, words: string): JsonObject => ({
  replaceChatItemAction: { targetItemId: id, replacementItem: text(id, words) },
});
const pinned = (id: string): JsonObject => bannered(text(id, `pinned ${id}`), { actionId: `pin-${id}` });
const deletion = (targetItemId: string): JsonObject => ({
  markChatItemAsDeletedAction: { targetItemId, deletedStateMessage: { simpleText: "gone" } },
});
const authorDeletion = (externalChannelId = AUTHOR): JsonObject => ({
  markChatItemsByAuthorAsDeletedAction: { externalChannelId },
});

/** A room of its own that blanks: what takes actions, and what the room holds, one line a message. */
async function room(isBlanking = true) {
  const store = memoryStore(systemClock);
  const restarted = () => roomLog(store, systemClock, undefined, isBlanking);
  const messages = async () => (await readAll(store, "a-room-log1")).map(decodeMessage);
  const lines = async () =>
    (await messages()).map(({ type, author, message }) => `${type} ${message || "-"}${author && " by"}`);
  return { take: await restarted(), restarted, messages, lines };
}

describe("a deletion", () => {
  it("blanks a message, its new contents and its pinned copy, whichever comes first", async () => {
    const all = [said("a"), replaced("a", "edited"), pinned("a"), said("b"), pinned("a b"), deletion("a")];
    const left = [
      "chat -",
      "replaced -",
      "banner -",
      "chat words of b by",
      "banner pinned a b by",
      "deleted gone",
    ];
    for (let split = 1; split <= all.length; split++) {
      const { take, lines } = await room();
      await take(...all.slice(0, split));
      if (split < all.length) await take(...all.slice(split));
      assert.deepEqual(await lines(), left, `in two batches, the first of ${split}`);
    }
    const late = [deletion("a"), said("b"), said("a"), replaced("a", "edited")];
    for (const split of [2, 4]) {
      const { take, lines } = await room();
      await take(...late.slice(0, split));
      await take(...late.slice(split));
      assert.deepEqual(await lines(), ["deleted gone", "chat words of b by", "chat -", "replaced -"]);
    }
  });

  it("blanks all earlier messages of an author, and none of later ones or of others", async () => {
    const { take, restarted, lines } = await room();
    await take(said("a"), said("b", OTHER), pinned("a"));
    await take(said("c"), authorDeletion(), said("d"));
    const left = [
      "chat -",
      "chat words of b by",
      "banner -",
      "chat -",
      "author_deleted -",
      "chat words of d by",
    ];
    assert.deepEqual(await lines(), left);
    for (const again of [async () => take, restarted]) {
      const take = await again();
      assert.deepEqual(await take(said("a"), said("c"), authorDeletion(), said("d")), [], "read again");
      assert.deepEqual(await lines(), left);
    }
    const afterwards = await restarted();
    await afterwards(authorDeletion());
    assert.deepEqual(await lines(), [...left.slice(0, -1), "chat -", "author_deleted -"]);
  });

  it("shows nothing of a blank message through its replacements, however often they are read", async () => {
    const { take, restarted, lines } = await room();
    await take(said("a"), replaced("a", "edited"), said("b"));
    await take(deletion("a"), authorDeletion());
    const before = await lines();
    for (const again of [async () => take, restarted]) {
      const take = await again();
      const replacements = ["edited", "edited again"].map((words) => replaced("a", words));
      assert.deepEqual(await take(said("a"), ...replacements, replaced("b", "new")), []);
      assert.deepEqual(await lines(), before);
    }
  });

  it("leaves a message that has its kind's shape and nothing of its author", async () => {
    const { take, messages } = await room();
    const kinds = Object.entries(SENT).filter(([type]) => !type.includes("deleted"));
    const actions = kinds.flatMap(([, all]) => all).map((action, i) => renamed(action, `${i}`));
    await take(...actions);
    const before = await messages();
    await take(authorDeletion(COMMON.authorExternalChannelId));
    const after = (await messages()).slice(0, before.length);
    const validate = new Ajv2020({ strict: false }).compile({
      ...refTo("Message"),
      components: { schemas: NAMED_SCHEMAS },
    });
    let blanked = 0;
    for (const [i, message] of before.entries()) {
      const left = after[i];
      const isTheirs = (message.details as Details).authorId === COMMON.authorExternalChannelId;
      if (!isTheirs) assert.deepEqual(left, message);
      else {
        blanked += 1;
        assert.ok(validate(left), `${message.type}: ${JSON.stringify(validate.errors)}`);
        assert.deepEqual(
          [left?.type, left?.id, left?.timestamp],
          [message.type, message.id, message.timestamp],
        );
        for (const key of ["sticker", "jewels", "target", "publishedAt"])
          assert.equal(key in (left?.details ?? {}), key in message.details, `${message.type} ${key}`);
        const { type: _, id: __, details, ...words } = left ?? message;
        const { upstreamKind: ___, target: ____, ...rest } = details as Details;
        const found = /somebody|UCmade|example|hi|cat|Gold|Rose/.exec(JSON.stringify([words, rest]));
        assert.equal(found, null, `${message.type}: ${JSON.stringify(left)}`);
      }
    }
    assert.ok(blanked > 15, `${blanked}`);
  });

  /** The action with ids of its own. */
  function renamed(action: object, name: string): JsonObject {
    return JSON.parse(
      JSON.stringify(action).replaceAll("made-up-id", `id-${name}`).replaceAll("banner-1", `pin-${name}`),
    );
  }

  it("changes nothing in the store if deletions are kept", async () => {
    const { take, lines } = await room(false);
    await take(said("a"));
    await take(deletion("a"), authorDeletion());
    assert.deepEqual(await lines(), ["chat words of a by", "deleted gone", "author_deleted -"]);
  });

  for (const kind of ["memory", "sqlite"]) {
    it(`later readers get it blank from the tail and the store, under its cursor: ${kind}`, async (t) => {
      const path = await temporaryFile(t);
      const store = kind === "memory" ? "memory:" : `sqlite:${path}`;
      await using relay = await startRelay({ settings: { RELAY_STORE: store, RELAY_DELETED: "blank" } });
      const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5 });
      await using live = await openStream(relay, { videoId: VIDEO, details: true });
      chat.say(Array.from({ length: 600 }, (_, i) => said(`m${i}`, i % 2 === 0 ? AUTHOR : OTHER)));
      await live.untilMessages(600);
      // Frames are made for this viewer, and pages are read.
      await using before = await openStream(relay, { videoId: VIDEO, lastEventId: 0 });
      await before.untilMessages(600);
      chat.say([deletion("m3"), authorDeletion(), said("late")]);
      await live.untilMessages(603);
      assert.ok(live.messages.slice(0, 600).every(({ message }) => message.message !== ""));
      const [head = 0] = live.cursors.slice(-1);
      for (const place of [{ backfill: 500 }, { lastEventId: 0 }, { lastEventId: live.cursors[9] ?? 0 }]) {
        await using later = await openStream(relay, { videoId: VIDEO, details: true, ...place });
        await later.until(() => later.cursors.at(-1) === head);
        for (const { message } of later.messages) {
          const { id, author } = message;
          const n = Number(id.slice(1));
          const isGone = id.startsWith("m") && (n === 3 || n % 2 === 0);
          if (/^(late$|m)/.test(id)) assert.equal(`${author}${message.message}` === "", isGone, id);
          assert.equal(
            (message.details as Details).authorId === undefined,
            isGone || id.includes("deleted:"),
            id,
          );
        }
      }
      if (kind === "memory") return;
      await relay[Symbol.asyncDispose]();
      const file = await readFile(path, "latin1");
      assert.ok(
        file.includes("words of m1") && !/words of m(3|2|598)\b/.test(file),
        "no bytes are left in the file",
      );
    });
  }
});
