/** How tests fill a store and read it: made-up messages, all of a room, a follower's sequence. */

import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import type { RoomEnd } from "../../src/protocol/chat.ts";
import type { ChatKey } from "../../src/protocol/chat-key.ts";
import type { StoreEngine } from "../../src/store/observed.ts";
import type { Hold } from "../../src/store/ownership.ts";
import type { Store } from "../../src/store/port.ts";
import type { EncodedMessage, StoredMessage } from "../../src/store/stored-message.ts";

/** A message whose text follows from its id, so that a changed one is seen. */
export function message(id: string): EncodedMessage {
  return saying(id, `says ${id}`, { of: id });
}

/** A message with this text, these details and this type. */
export function saying(id: string, text: string, details: object, type = "made-up"): EncodedMessage {
  const fields = {
    type,
    id,
    timestamp: "",
    author: "",
    message: text,
    amount: "",
    color: "",
    parts: [],
  };
  return { id, body: JSON.stringify(fields), details: JSON.stringify(details) };
}

export function messages(ids: readonly (string | number)[]): EncodedMessage[] {
  return ids.map((id) => message(String(id)));
}

/** Takes a room without an owner. */
export async function own(store: Pick<StoreEngine, "ownership">, key: ChatKey): Promise<Hold> {
  const hold = await store.ownership.take(key);
  assert.ok(hold);
  return hold;
}

/** When the tests of a store begin, by its clock. */
export const BORN_MS = 1_700_000_000_000;

/** What a room holds if these ids were added to it after cursor `after`, at the time `storedAt`. */
export function stored(
  after: number,
  ids: readonly (string | number)[],
  storedAt = BORN_MS,
): StoredMessage[] {
  return messages(ids).map((each, index) => ({ ...each, cursor: after + 1 + index, storedAt }));
}

export async function readAll(store: Pick<Store, "read">, key: ChatKey): Promise<StoredMessage[]> {
  const all: StoredMessage[] = [];
  for (let after = 0; ; after = all.at(-1)?.cursor ?? after) {
    const page = await store.read(key, after, 1000);
    if (page.length === 0) return all;
    all.push(...page);
  }
}

/** Resolves when earlier operations are answered: a follower that finds nothing to read has begun to wait. */
export async function settled(store: Store): Promise<void> {
  for (let answers = 0; answers < 4; answers++) await store.getRoom("nobody's room");
}

/** What one follower was given. */
export interface Followed {
  messages: StoredMessage[];
  /** Sizes of the batches that it came in. */
  batches: number[];
  end: RoomEnd | undefined;
}

/**
 * Follows until the room's end, the signal, or `count` messages. `pauseTurns`: turns of the event loop that
 * this reader takes over each batch.
 */
export async function followed(
  store: Store,
  key: ChatKey,
  after: number,
  options: { signal?: AbortSignal; count?: number; pauseTurns?: number } = {},
): Promise<Followed> {
  const { signal = new AbortController().signal, count = Infinity, pauseTurns = 0 } = options;
  const seen: Followed = { messages: [], batches: [], end: undefined };
  for await (const item of store.follow(key, after, signal)) {
    if (!Array.isArray(item)) {
      seen.end = item;
      continue;
    }
    seen.messages.push(...item);
    seen.batches.push(item.length);
    for (let turns = 0; turns < pauseTurns; turns++) await turn();
    if (seen.messages.length >= count) break;
  }
  return seen;
}

/** As expected, but for the times, which come from this machine's clock and never fall. */
export function assertStored(messages: readonly StoredMessage[], expected: readonly StoredMessage[]): void {
  const times = messages.map(({ storedAt }) => storedAt ?? Number.NaN);
  const rising = times.every((time, index) => (times[index - 1] ?? 0) <= time && time <= Date.now());
  assert.ok(rising, `stored at ${times}`);
  assert.deepEqual(
    messages,
    expected.map((message, index) => ({ ...message, storedAt: times[index] })),
  );
}
