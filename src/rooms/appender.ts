/**
 * The writing side of one room's log. While the store fails it tries again with growing waits and lets nothing
 * else happen, so that polling pauses and nothing is lost; only another owner makes it give up.
 */
import type { Clock } from "../clock.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { encodeMessage, type Message, type StoredMessage } from "../protocol/message.ts";
import { retry } from "../retry.ts";
import type { ObservedStore } from "../store/observed.ts";
import { type Claim, isUnavailable, type Store } from "../store/port.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Reading } from "../upstream/live-chat.ts";
import { replacedId } from "../upstream/readers/change.ts";
import { type Checkpoint, encodeCheckpoint } from "./checkpoint.ts";

/** The upstream keeps about ten seconds of a chat: a store that works again must be found well within them. */
const WRITE_RETRY = { firstMs: 250, maxMs: 3000 };

/** What an append needs beside its batch. */
export interface AppenderParts {
  store: ObservedStore;
  clock: Clock;
  telemetry: Telemetry;
}

/** One attempt: resolves to the messages that are new. Rejects as `Store.append` does. */
export async function append(
  { store, telemetry }: Pick<AppenderParts, "telemetry"> & { store: Pick<Store, "append"> },
  claim: Claim,
  head: number,
  messages: readonly Message[],
  checkpoint: Checkpoint,
): Promise<StoredMessage[]> {
  const added = await store.append(claim, head, messages.map(encodeMessage), encodeCheckpoint(checkpoint));
  const types = new Map(messages.map(({ id, type }) => [id, type]));
  const addedTypes = added.map(({ id }) => types.get(id) ?? "");
  telemetry.appended(addedTypes);
  return added;
}

type Batch = Pick<Reading, "messages" | "replacements">;

/**
 * The messages of a batch as the room takes them, one for one: what replaces a message that it holds, or that
 * stands earlier in the batch, is `replaced`; any other replacement is a new item. Rejects as `Store.messagesById` does.
 */
export async function settled(
  store: Pick<Store, "messagesById">,
  videoId: string,
  { messages, replacements }: Batch,
): Promise<Message[]> {
  if (replacements.size === 0) return messages;
  const targets = new Set(replacements.values().map(({ targetId }) => targetId));
  const found = await store.messagesById(videoId, [...targets]);
  const held = new Map(found.map(({ id, body }) => [id, JSON.parse(body) as Omit<Message, "details">]));
  return messages.map((message) => {
    const replacement = replacements.get(message);
    const before = replacement && held.get(replacement.targetId);
    // An item that came in the place of nothing is read again: the room holds that very item.
    const isKnown = before && replacedId(before.id, before) === replacement.message.id;
    const taken = before && !isKnown ? replacement.message : message;
    if (targets.has(taken.id) && !held.has(taken.id)) held.set(taken.id, taken);
    return taken;
  });
}

export class Appender {
  readonly #parts: AppenderParts;
  readonly #claim: Claim;
  #head: number;
  /** A write failed, and may have happened all the same: the room is to be read before the next. */
  #isUnsure = false;

  constructor(parts: AppenderParts, claim: Claim, head: number) {
    this.#parts = parts;
    this.#claim = claim;
    this.#head = head;
  }

  /** Durable when it resolves. Rejects with `StoreError` "fenced", or the signal's reason. */
  async append(batch: Batch, checkpoint: Checkpoint, signal: AbortSignal): Promise<void> {
    // Once for all attempts: after one of unknown outcome the room may hold what this very batch brought.
    let messages: readonly Message[] = [];
    await this.#untilDone(signal, async () => {
      messages = await settled(this.#parts.store, this.#claim.videoId, batch);
    });
    await this.#untilDone(signal, async () => {
      const added = await append(this.#parts, this.#claim, this.#head, messages, checkpoint);
      this.#head += added.length;
    });
  }

  /** Closes the room in the store. Rejects as `append` does. */
  async finish(end: RoomEnd, signal: AbortSignal): Promise<void> {
    await this.#untilDone(signal, () => this.#parts.store.finish(this.#claim, end));
  }

  async #untilDone(signal: AbortSignal, act: () => Promise<void>): Promise<void> {
    const { clock, store } = this.#parts;
    const { videoId } = this.#claim;
    const attempt = async () => {
      try {
        if (!this.#isUnsure || !(await this.#isDone())) await act();
        this.#isUnsure = false;
      } catch (error) {
        this.#isUnsure = isUnavailable(error);
        store.health.setBlocked(videoId, this.#isUnsure);
        throw error;
      }
    };
    try {
      await retry(WRITE_RETRY, clock, signal, isUnavailable, attempt);
    } finally {
      store.health.setBlocked(videoId, false);
    }
  }

  /** Takes up the head as it is in the store, and tells whether the room was closed. Rejects as `Store.getRoom` does. */
  async #isDone(): Promise<boolean> {
    const record = await this.#parts.store.getRoom(this.#claim.videoId);
    if (record) this.#head = record.head;
    return record !== undefined && record.end !== null;
  }
}
