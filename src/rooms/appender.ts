/**
 * The writing side of one room's log. While the store fails it tries again with growing waits and lets nothing
 * else happen, so that polling pauses and nothing is lost; only another owner makes it give up.
 */
import type { Clock } from "../clock.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import { retry } from "../retry.ts";
import type { ObservedStore } from "../store/observed.ts";
import { type Claim, isUnavailable, type RoomRecord } from "../store/port.ts";
import { encodeMessage, type StoredMessage } from "../store/stored-message.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Position } from "../upstream/position.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { deletionsIn, encodeCheckpoint } from "./checkpoint.ts";
import { type AuthorDeletions, type HeldMessage, idsToLookUp, type Resolved, resolve } from "./resolve.ts";

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
  #deletions: AuthorDeletions;

  constructor(parts: AppenderParts, claim: RoomRecord & Claim) {
    this.#parts = parts;
    this.#claim = claim;
    this.#head = claim.head;
    this.#deletions = deletionsIn(claim.checkpoint);
  }

  /** The newest cursor of the room. */
  get head(): number {
    return this.#head;
  }

  /** Durable when it resolves, to how many items were new. Rejects with `StoreError` "fenced", or the signal's reason. */
  async append(items: readonly Item[], position: Position, signal: AbortSignal): Promise<number> {
    // Resolved once for all attempts: after one of unknown outcome the room may hold what this very batch brought.
    const resolved = await this.#untilDone(signal, () => this.#resolve(items));
    const before = this.#head;
    await this.#write(signal, () => this.#store(resolved, position));
    this.#deletions = resolved.deletions;
    return this.#head - before;
  }

  /** Whether none of the items would be new. Rejects as `append` does. */
  async holdsAll(items: readonly Item[], signal: AbortSignal): Promise<boolean> {
    const ids = items.map(({ message, replaces }) => [message.id, ...(replaces ? [replaces.as.id] : [])]);
    const found = await this.#untilDone(signal, () =>
      this.#parts.store.messagesById(this.#claim.videoId, ids.flat()),
    );
    const held = new Set(found.map(({ id }) => id));
    return ids.every((forms) => forms.some((id) => held.has(id)));
  }

  /** One attempt of `append`: resolves to what is new in the room. Rejects with `StoreError`. */
  async appendOnce(items: readonly Item[], position: Position): Promise<StoredMessage[]> {
    const resolved = await this.#resolve(items);
    const added = await this.#store(resolved, position);
    this.#deletions = resolved.deletions;
    return added;
  }

  /** Closes the room in the store. Rejects as `append` does. */
  async finish(end: RoomEnd, signal: AbortSignal): Promise<void> {
    await this.#write(signal, () => this.#parts.store.finish(this.#claim, end));
  }

  async #resolve(items: readonly Item[]): Promise<Resolved> {
    const ids = idsToLookUp(items, this.#deletions);
    const found = ids.length > 0 ? await this.#parts.store.messagesById(this.#claim.videoId, ids) : [];
    const held = new Map(found.map(({ id, body }) => [id, JSON.parse(body) as HeldMessage]));
    return resolve(items, held, this.#deletions);
  }

  async #store({ messages, deletions }: Resolved, position: Position): Promise<StoredMessage[]> {
    const { store, telemetry } = this.#parts;
    const checkpoint = encodeCheckpoint(position, deletions);
    const added = await store.append(this.#claim, this.#head, messages.map(encodeMessage), checkpoint);
    this.#head += added.length;
    const types = new Map(messages.map(({ id, type }) => [id, type]));
    telemetry.appended(added.map(({ id }) => types.get(id) ?? ""));
    return added;
  }

  /** A write that failed may have happened all the same: before the next attempt the room is read. */
  async #write(signal: AbortSignal, act: () => Promise<unknown>): Promise<void> {
    let isUnsure = false;
    await this.#untilDone(signal, async () => {
      if (isUnsure && (await this.#isFinished())) return;
      isUnsure = true;
      await act();
    });
  }

  /** Takes up the head as it is in the store. Rejects as `Store.getRoom` does. */
  async #isFinished(): Promise<boolean> {
    const record = await this.#parts.store.getRoom(this.#claim.videoId);
    if (record) this.#head = record.head;
    return record !== undefined && record.end !== null;
  }

  /** Tries until the store is available; meanwhile the room counts as blocked. */
  async #untilDone<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    const { clock, store } = this.#parts;
    const { videoId } = this.#claim;
    const isTransient = (error: unknown) => {
      if (isUnavailable(error)) store.health.setBlocked(videoId, true);
      return isUnavailable(error);
    };
    try {
      return await retry(WRITE_RETRY, clock, signal, isTransient, act);
    } finally {
      store.health.setBlocked(videoId, false);
    }
  }
}
