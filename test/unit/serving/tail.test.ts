/**
 * The newest messages that a room keeps in memory, limited in number and in bytes; the rest is in the store.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Feed } from "../../../src/serving/feeds.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { MessageFilter } from "../../../src/serving/message-filter.ts";
import { Tail } from "../../../src/serving/tail.ts";

const HEAD = 1000;
const PLAIN = new Feed(FORMS.sse.plain.bare, MessageFilter.everything, true);

function messages(after: number, count: number, characters: number) {
  return Array.from({ length: count }, (_, i) => ({
    id: `${i}`,
    cursor: after + 1 + i,
    body: `{"message":"${"x".repeat(characters)}"}`,
    details: "{}",
  }));
}

/** All that it holds, chunk by chunk: the cursor that each leads to. */
function readAll(tail: Tail): number[] {
  const ends: number[] = [];
  for (let next = tail.chunk(tail.floor, PLAIN); next; next = tail.chunk(next.next, PLAIN))
    ends.push(next.next);
  return ends;
}

describe("a tail", () => {
  it("keeps the newest 500 messages", () => {
    const tail = new Tail(HEAD, { isBlanking: false });
    tail.push(messages(HEAD, 700, 10));
    tail.push(messages(HEAD + 700, 1, 10));
    assert.deepEqual([tail.floor, tail.head], [HEAD + 201, HEAD + 701]);
    assert.equal(readAll(tail).at(-1), tail.head);
  });

  it("keeps fewer long messages, and then short ones again", () => {
    const tail = new Tail(HEAD, { isBlanking: false });
    tail.push(messages(HEAD, 100, 100_000));
    assert.equal(tail.head, HEAD + 100);
    assert.equal(tail.head - tail.floor, 41, "as many as 4 MiB hold");
    assert.equal(readAll(tail).at(-1), tail.head);
    tail.push(messages(tail.head, 499, 10));
    assert.ok(tail.head - tail.floor > 490);
    tail.push(messages(tail.head, 500, 10));
    assert.equal(tail.head - tail.floor, 500);
    tail.push(messages(tail.head, 60, 60_000));
    assert.ok(tail.head - tail.floor >= 60, "what was let go of is no longer counted");
  });

  it("keeps no memory beside its frames", () => {
    for (const message of messages(HEAD, 3, 10)) {
      const frame = PLAIN.form.frame(message);
      assert.equal(frame.buffer.byteLength, frame.length);
    }
  });

  it("keeps nothing of a message that is longer than the whole tail", () => {
    const tail = new Tail(HEAD, { isBlanking: false });
    tail.push(messages(HEAD, 1, 5_000_000));
    assert.deepEqual([tail.floor, tail.head, tail.chunk(tail.head, PLAIN)], [HEAD + 1, HEAD + 1, undefined]);
    tail.push(messages(tail.head, 2, 10));
    assert.equal(tail.floor, HEAD + 1);
  });
});
