/**
 * The facts of a chat, beside its messages, for the viewers that ask for them: which message is featured, and
 * why the chat waits. A fact is read again whenever any instance may have changed it.
 */
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../base/clock.ts";
import { unlessAborted } from "../base/deadline.ts";
import { asString, dig, parseJson } from "../base/json.ts";
import type { FactName } from "../protocol/chat.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import { type AwaitedAbsence, sentenceOf } from "../protocol/chat-standing.ts";
import { readChosen } from "./featured.ts";
import type { FactMark, Followers } from "./follow.ts";
import type { Fact, RoomRecord, Store } from "./port.ts";
import { retryRead } from "./store-error.ts";

type Reads = Pick<Store, "getFeatured" | "messagesById" | "find" | "getRoom">;

interface FoundFact {
  fact: Fact;
  mark: FactMark;
}

const READERS: Readonly<Record<FactName, (store: Reads, key: ChatKey) => Promise<FoundFact>>> = {
  featured: async (store, key) => {
    const choice = await store.getFeatured(key);
    const value = choice && (await readChosen(store, key, choice));
    return { fact: { name: "featured", value }, mark: choice?.at ?? null };
  },
  standing: async (store, key) => {
    const room = await store.getRoom(key);
    const absence = room && absenceOf(room);
    const value = absence && sentenceOf(absence);
    return { fact: { name: "standing", value }, mark: room ? absenceText(room.checkpoint) : null };
  },
};

/** Why a room waits for its chat, by its checkpoint; undefined if it does not wait. */
export function absenceOf({ checkpoint }: Pick<RoomRecord, "checkpoint">): AwaitedAbsence | undefined {
  const stored = dig(parseJson(checkpoint), "absence");
  const [is, why] = [asString(dig(stored, "is")), asString(dig(stored, "why"))];
  return (is === "off" || is === "hidden") && why !== undefined ? { is, why } : undefined;
}

/**
 * The absence in a checkpoint, without its braces; empty if there is none. `SWEEP` must read the same text:
 * if the two differed, each look at the other instances would read the fact again.
 */
function absenceText(checkpoint: string): string {
  return checkpoint.split('"absence":{')[1]?.split("}")[0] ?? "";
}

/** See `Store.fact`. */
export async function* followFact(
  { store, followers, clock }: { store: Reads; followers: Followers; clock: Clock },
  key: ChatKey,
  name: FactName,
  signal: AbortSignal,
): AsyncGenerator<Fact, void, void> {
  let change = Promise.withResolvers<void>();
  let last: FoundFact | undefined;
  using _ = followers.onFact(key, name, (mark) => {
    if (mark === undefined || mark !== last?.mark) change.resolve();
  });
  last = await READERS[name](store, key);
  yield last.fact;
  try {
    for (;;) {
      await unlessAborted(change.promise, signal);
      change = Promise.withResolvers(); // one during the read must not be missed
      const next = await retryRead(clock, signal, () => READERS[name](store, key));
      const isSame = isDeepStrictEqual(next.fact, last.fact);
      last = next;
      if (!isSame) yield next.fact;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
