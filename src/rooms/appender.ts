/**
 * The writing side of one room's log. While the store fails it tries again with growing waits and lets nothing
 * else happen, so that polling pauses and nothing is lost; only another owner makes it give up.
 */
import type { Clock } from "../clock.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import type { Message } from "../protocol/message.ts";
import { retry } from "../retry.ts";
import type { ObservedStore } from "../store/observed.ts";
import { type Claim, isUnavailable, type RoomRecord } from "../store/port.ts";
import { encodeMessage, type StoredMessage } from "../store/stored-message.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { encodePosition, type Position } from "../upstream/position.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { type HeldMessage, idsToLookUp, resolve } from "./resolve.ts";

/** The upstream keeps about ten seconds of a chat: a store that works again must be found well within them. */
const WRITE_RETRY = { firstMs: 250, maxMs: 3000 };

export interface AppenderParts {
  store: ObservedStore;
  clock: Clock;
  telemetry: Telemetry;
}

export class Appender {
  readonly #parts: AppenderParts;
  readonly #claim: Claim;
  #head: number;
  /** A write failed, and may have happened all the same: the room is to be read before the next. */
  #isUnsure = false;

  constructor(parts: AppenderParts, claim: RoomRecord & Claim) {
    this.#parts = parts;
    this.#claim = claim;
    this.#head = claim.head;
  }

  /** The newest cursor of the room. */
  get head(): number {
    return this.#head;
  }

  /** Durable when it resolves. Rejects with `StoreError` "fenced", or the signal's reason. */
  async append(items: readonly Item[], position: Position, signal: AbortSignal): Promise<void> {
    // Resolved once for all attempts: after one of unknown outcome the room may hold what this very batch brought.
    let messages: readonly Message[] = [];
    await this.#untilDone(signal, async () => {
      messages = await this.#resolve(items);
    });
    await this.#untilDone(signal, async () => {
      await this.#store(messages, position);
    });
  }

  /** One attempt of `append`: resolves to what is new in the room. Rejects with `StoreError`. */
  async appendOnce(items: readonly Item[], position: Position): Promise<StoredMessage[]> {
    return this.#store(await this.#resolve(items), position);
  }

  /** Closes the room in the store. Rejects as `append` does. */
  async finish(end: RoomEnd, signal: AbortSignal): Promise<void> {
    await this.#untilDone(signal, () => this.#parts.store.finish(this.#claim, end));
  }

  async #resolve(items: readonly Item[]): Promise<Message[]> {
    const ids = idsToLookUp(items);
    const found = ids.length > 0 ? await this.#parts.store.messagesById(this.#claim.videoId, ids) : [];
    return resolve(items, new Map(found.map(({ id, body }) => [id, JSON.parse(body) as HeldMessage])));
  }

  async #store(messages: readonly Message[], position: Position): Promise<StoredMessage[]> {
    const { store, telemetry } = this.#parts;
    const checkpoint = encodePosition(position);
    const added = await store.append(this.#claim, this.#head, messages.map(encodeMessage), checkpoint);
    this.#head += added.length;
    const types = new Map(messages.map(({ id, type }) => [id, type]));
    telemetry.appended(added.map(({ id }) => types.get(id) ?? ""));
    return added;
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
