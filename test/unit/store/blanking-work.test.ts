/** RELAY_DELETED=blank: how much work one answer with many deletions makes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import type { Message } from "../../../src/protocol/message.ts";
import { Feed } from "../../../src/serving/feeds.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { MessageFilter } from "../../../src/serving/message-filter.ts";
import { Tail } from "../../../src/serving/tail.ts";
import { blankDeleted } from "../../../src/store/blanking.ts";
import type { MessageSearch } from "../../../src/store/port.ts";
import { encodeMessage, type StoredMessage } from "../../../src/store/stored-message.ts";

const COUNT = 1000;
const AUTHOR = "UCaaaaaaaaaaaaaaaaaaaaaa";

function said(id: string, authorId: string): Message {
  const text = { timestamp: "1:00 PM", author: "@a", message: "words", amount: "", color: "", parts: [] };
  return { type: "chat", id, ...text, details: { authorId, upstreamKind: "x" } } as unknown as Message;
}

function deletion(of: number): Message {
  const isOfAuthor = of % 2 === 1;
  const target = isOfAuthor ? { authorId: `${AUTHOR}${of}` } : { messageId: `m${of}` };
  const type = isOfAuthor ? "author_deleted" : "deleted";
  const id = `${type}:${target.messageId ?? target.authorId}`;
  return { ...said(id, ""), type, author: "", message: "", details: { target } } as unknown as Message;
}

/** As many deletions as messages, each about another one. */
const MESSAGES = [
  ...Array.from({ length: COUNT }, (_, i) => said(`m${i}`, `${AUTHOR}${i}`)),
  ...Array.from({ length: COUNT }, (_, i) => deletion(i)),
];

/** The same, and how often it was asked for its `details`. */
function counting<T extends { details: unknown }>(all: readonly T[]): { all: T[]; reads: () => number } {
  let reads = 0;
  const counted = all.map((one) => ({
    ...one,
    get details() {
      reads += 1;
      return one.details;
    },
  }));
  return { all: counted, reads: () => reads };
}

test("an answer's messages are each visited only a few times, however many deletions it has", async () => {
  const { all, reads } = counting(MESSAGES);
  const found = [said("m0", ""), said("m1", `${AUTHOR}1`), said("other", "")].map((message, i) => ({
    ...encodeMessage(message),
    cursor: i,
  }));
  let [underWay, mostAtOnce, searches] = [0, 0, 0];
  const find = async (by: MessageSearch): Promise<StoredMessage[]> => {
    searches += 1;
    mostAtOnce = Math.max(mostAtOnce, ++underWay);
    await Promise.resolve();
    underWay -= 1;
    return "idPrefix" in by && by.idPrefix === "banner:" ? found : [];
  };
  const { messages, overwriting } = await blankDeleted(all, new Set(), find, systemClock);
  assert.equal(messages.filter(({ type, message }) => type === "chat" && message === "").length, COUNT);
  assert.deepEqual(
    overwriting.map(({ id }) => id),
    ["m0", "m1"],
  );
  assert.equal(searches, COUNT / 2 + 2 * (COUNT / 2) + 1);
  assert.ok(reads() <= 10 * all.length, `${reads()} reads of ${all.length} messages`);
  assert.ok(mostAtOnce <= 100, `${mostAtOnce} searches at once`);
});

test("a tail's messages are each visited only a few times, however many deletions come at once", () => {
  const tail = new Tail(0, { isBlanking: true });
  const held = counting(
    MESSAGES.slice(0, 400).map((message, i) => ({ ...encodeMessage(message), cursor: i + 1 })),
  );
  tail.push(held.all);
  const before = held.reads();
  const deletions = MESSAGES.slice(COUNT, COUNT + 100);
  tail.push(deletions.map((message, i) => ({ ...encodeMessage(message), cursor: 401 + i })));
  assert.ok(held.reads() - before <= 4 * 400, `${held.reads() - before} reads of 400 messages`);
  const chunks: string[] = [];
  for (let after = 0; after < tail.head; ) {
    const chunk = tail.chunk(after, new Feed(FORMS.sse.plain.bare, MessageFilter.everything, true));
    chunks.push(String(chunk?.packet?.bytes));
    after = chunk?.next ?? tail.head;
  }
  assert.equal(chunks.join("").match(/"message":"words"/g)?.length, 300);
});
