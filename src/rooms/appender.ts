/**
 * The writing side of one room's log. While the store fails it tries again with growing waits and lets nothing
 * else happen, so that polling pauses and nothing is lost; only another owner makes it give up.
 */
import type { Clock } from "../clock.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { encodeMessage, type Message, type StoredMessage } from "../protocol/message.ts";
import { type Claim, type Store, StoreError } from "../store/port.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Reading } from "../upstream/live-chat.ts";
import { replacedId } from "../upstream/readers/change.ts";
import { type Checkpoint, encodeCheckpoint } from "./checkpoint.ts";

const FIRST_RETRY_MS = 250;
/** The upstream keeps about ten seconds of a chat: a store that works again must not be waited for much longer. */
const LAST_RETRY_MS = 3000;

/** What an append needs beside its batch. */
export interface AppenderParts {
  store: Store;
  clock: Clock;
  telemetry: Telemetry;
}

/** One attempt, measured: resolves to the messages that are new. Rejects as `Store.append` does. */
export async function append(
  { store, clock, telemetry }: AppenderParts,
  claim: Claim,
  head: number,
  messages: readonly Message[],
  checkpoint: Checkpoint,
): Promise<StoredMessage[]> {
  const began = clock.monotonic();
  const added = await store.append(claim, head, messages.map(encodeMessage), encodeCheckpoint(checkpoint));
  const types = new Map(messages.map(({ id, type }) => [id, type]));
  const addedTypes = added.map(({ id }) => types.get(id) ?? "");
  telemetry.appended(addedTypes, clock.monotonic() - began);
  return added;
}

type Batch = Pick<Reading, "messages" | "replacements">;

/**
 * The messages of a batch as the room takes them, one for one: what replaces a message that it holds, or that
 * stands earlier in the batch, is `replaced`; any other replacement is a new item. Rejects as `Store.find` does.
 */
export async function settled(
  store: Store,
  videoId: string,
  { messages, replacements }: Batch,
): Promise<Message[]> {
  if (replacements.size === 0) return messages;
  const targets = new Set(replacements.values().map(({ targetId }) => targetId));
  const found = await store.find(videoId, [...targets]);
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
  #isBlocked = false;

  constructor(parts: AppenderParts, claim: Claim, head: number) {
    this.#parts = parts;
    this.#claim = claim;
    this.#head = head;
  }

  /** Whether the store refuses what it was last given. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Durable when it resolves. Rejects with `StoreError` "fenced", or the signal's reason. */
  async append(batch: Batch, checkpoint: Checkpoint, signal: AbortSignal): Promise<void> {
    // Once for all attempts: after one of unknown outcome the room may hold what this very batch brought.
    let messages: readonly Message[] = [];
    await this.#untilDone("find", signal, async () => {
      messages = await settled(this.#parts.store, this.#claim.videoId, batch);
    });
    await this.#untilDone("append", signal, async () => {
      const added = await append(this.#parts, this.#claim, this.#head, messages, checkpoint);
      this.#head += added.length;
    });
  }

  /** Closes the room in the store. Rejects as `append` does. */
  async finish(end: RoomEnd, signal: AbortSignal): Promise<void> {
    await this.#untilDone("finish", signal, () => this.#parts.store.finish(this.#claim, end));
    this.#parts.telemetry.storeWorked("finish");
  }

  async #untilDone(what: string, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(LAST_RETRY_MS, retryMs * 2)) {
      try {
        // After an outcome that is not known nothing is written before it has been looked up.
        if (!this.#isBlocked || !(await this.#isDone())) await act();
        this.#isBlocked = false;
        return;
      } catch (error) {
        if (!(error instanceof StoreError) || error.kind !== "unavailable") throw error;
        this.#isBlocked = true;
        this.#parts.telemetry.storeFailed(what, error, retryMs);
      }
      await this.#parts.clock.sleep(retryMs, signal);
    }
  }

  /** Takes up the head as it is in the store, and tells whether the room was closed. Rejects as `Store.room` does. */
  async #isDone(): Promise<boolean> {
    const record = await this.#parts.store.room(this.#claim.videoId);
    if (record) this.#head = record.head;
    return record !== undefined && record.end !== null;
  }
}
