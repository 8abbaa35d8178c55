/**
 * The writing side of one room's log. While the store fails it tries again with growing waits and lets nothing
 * else happen, so that polling pauses and nothing is lost; only another owner makes it give up.
 */
import type { Clock } from "../clock.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import type { Message } from "../protocol/message.ts";
import { type Claim, type RoomRecord, type Store, StoreError } from "../store/port.ts";
import { encodeMessage, type StoredMessage } from "../store/stored-message.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { encodePosition, type Position } from "../upstream/position.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { type HeldMessage, idsToLookUp, resolve } from "./resolve.ts";

const FIRST_RETRY_MS = 250;
/** The upstream keeps about ten seconds of a chat: a store that works again must not be waited for much longer. */
const LAST_RETRY_MS = 3000;

export interface AppenderParts {
  store: Store;
  clock: Clock;
  telemetry: Telemetry;
}

export class Appender {
  readonly #parts: AppenderParts;
  readonly #claim: Claim;
  #head: number;
  #isBlocked = false;

  constructor(parts: AppenderParts, claim: RoomRecord & Claim) {
    this.#parts = parts;
    this.#claim = claim;
    this.#head = claim.head;
  }

  /** The newest cursor of the room. */
  get head(): number {
    return this.#head;
  }

  /** Whether the store refuses what it was last given. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Durable when it resolves. Rejects with `StoreError` "fenced", or the signal's reason. */
  async append(items: readonly Item[], position: Position, signal: AbortSignal): Promise<void> {
    // Resolved once for all attempts: after one of unknown outcome the room may hold what this very batch brought.
    let messages: readonly Message[] = [];
    await this.#untilDone("find", signal, async () => {
      messages = await this.#resolve(items);
    });
    await this.#untilDone("append", signal, async () => {
      await this.#store(messages, position);
    });
  }

  /** One attempt of `append`: resolves to what is new in the room. Rejects with `StoreError`. */
  async appendOnce(items: readonly Item[], position: Position): Promise<StoredMessage[]> {
    return this.#store(await this.#resolve(items), position);
  }

  /** Closes the room in the store. Rejects as `append` does. */
  async finish(end: RoomEnd, signal: AbortSignal): Promise<void> {
    await this.#untilDone("finish", signal, () => this.#parts.store.finish(this.#claim, end));
    this.#parts.telemetry.storeWorked("finish");
  }

  async #resolve(items: readonly Item[]): Promise<Message[]> {
    const ids = idsToLookUp(items);
    const found = ids.length > 0 ? await this.#parts.store.find(this.#claim.videoId, ids) : [];
    return resolve(items, new Map(found.map(({ id, body }) => [id, JSON.parse(body) as HeldMessage])));
  }

  async #store(messages: readonly Message[], position: Position): Promise<StoredMessage[]> {
    const { store, clock, telemetry } = this.#parts;
    const began = clock.monotonic();
    const checkpoint = encodePosition(position);
    const added = await store.append(this.#claim, this.#head, messages.map(encodeMessage), checkpoint);
    this.#head += added.length;
    const types = new Map(messages.map(({ id, type }) => [id, type]));
    const addedTypes = added.map(({ id }) => types.get(id) ?? "");
    telemetry.appended(addedTypes, clock.monotonic() - began);
    return added;
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
