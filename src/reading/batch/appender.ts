/**
 * Writes one room's log. While the store is unavailable, it retries with backoff and blocks everything else,
 * so that polling pauses and no batch is lost. It gives up if the room has another owner, or at a stop; an
 * opening tries once (`appendOnce`).
 */
import type { Clock } from "../../base/clock.ts";
import { retry } from "../../base/retry.ts";
import { ENDED, type RoomEnd } from "../../protocol/chat.ts";
import { sentenceOf } from "../../protocol/chat-standing.ts";
import type { Message } from "../../protocol/message.ts";
import { blankDeleted, deletionIds } from "../../store/blanking.ts";
import type { ObservedStore } from "../../store/observed.ts";
import type { Claim, MessageSearch } from "../../store/port.ts";
import { isUnavailable, StoreError } from "../../store/store-error.ts";
import {
  decodeMessage,
  type EncodedMessage,
  encodeMessage,
  gapId,
  type StoredMessage,
} from "../../store/stored-message.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { aboveAfter } from "../../upstream/readers/above-chat.ts";
import type { Item } from "../../upstream/readers/reader.ts";
import type { TimeOfDay } from "../../upstream/readers/timestamp.ts";
import { type Gap, type ReadBatch, showGaps } from "../gap.ts";
import { encodeCheckpoint, type Progress, type RoomMemory } from "./checkpoint.ts";
import { type HeldNotices, noticesToQuery } from "./notices.ts";
import { type HeldMessage, type HeldReplacements, replacedBefore } from "./replacements.ts";
import { idsToQuery, type Resolved, resolve } from "./resolve.ts";

/** The upstream keeps ten seconds of a chat: a store that works again must be noticed well within that. */
const WRITE_RETRY = { firstMs: 250, maxMs: 3000 };

export interface AppenderSettings {
  /** Formats the time of the service's own messages. */
  timeOfDay: TimeOfDay;
  /** Whether deleted messages are blanked in the store. */
  isBlanking: boolean;
}

export interface AppenderParts {
  store: ObservedStore;
  settings: AppenderSettings;
  clock: Clock;
  telemetry: Telemetry;
}

/** The content of one append. */
interface PreparedAppend extends Resolved, RoomMemory {
  /** New versions of stored messages. */
  overwriting: readonly EncodedMessage[];
  /** The gaps that are shown by one of the messages. */
  shown: readonly Gap[];
}

export class Appender {
  readonly #parts: AppenderParts;
  readonly #claim: Claim;
  /** The newest cursor of the room. */
  #head: number;
  #memory: RoomMemory;
  /** Why the room waits for its chat, as the last write says; null before the first. */
  #awaits: string | undefined | null = null;
  /** Whether the outcome of the last write is unknown. */
  #isUnsure = false;
  #isFinished = false;

  /** `memory`: the room's memory of earlier reading. */
  constructor(parts: AppenderParts, claim: Claim & { head: number }, memory: RoomMemory) {
    this.#parts = parts;
    this.#claim = claim;
    this.#head = claim.head;
    this.#memory = memory;
  }

  /**
   * Stores the batches; resolves when they are durable, to the number of new messages. Rejects with
   * `StoreError` "fenced", or the signal's reason.
   */
  async append(batches: readonly ReadBatch[], progress: Progress, signal: AbortSignal): Promise<number> {
    // Resolved once for all attempts: after an attempt of unknown outcome, the room may already hold this
    // batch.
    const prepared = await this.#untilDone(signal, () => this.#prepare(batches));
    const before = this.#head;
    await this.#write(signal, () => this.#store(prepared, progress));
    this.#stored(prepared);
    return this.#head - before;
  }

  /** Whether the room holds all of the items. Rejects like `append`. */
  async holdsAll(items: readonly Item[], signal: AbortSignal): Promise<boolean> {
    const { firstForms } = this.#memory.gifts;
    const ids = items.map((item) => formsOf(item).map((id) => firstForms.get(id) ?? id));
    const found = await this.#untilDone(signal, () =>
      this.#parts.store.messagesById(this.#claim.key, ids.flat()),
    );
    const held = new Set(found.map(({ id }) => id));
    return ids.every((forms) => forms.some((id) => held.has(id)));
  }

  /**
   * One attempt of `append`; resolves to the messages that are new in the room. Rejects with `StoreError`.
   */
  async appendOnce(batches: readonly ReadBatch[], progress: Progress): Promise<StoredMessage[]> {
    const prepared = await this.#prepare(batches);
    const added = await this.#store(prepared, progress);
    this.#stored(prepared);
    return added;
  }

  /** Closes the room in the store, unless it is closed already. Rejects like `append`. */
  async finish(end: RoomEnd, signal: AbortSignal): Promise<void> {
    if (this.#isFinished) return; // its chat ended just as the room was released
    await this.#write(signal, () => this.#parts.store.finish(this.#claim, end));
    this.#isFinished = true;
  }

  /**
   * Closes the room of a chat that is over. A gap before its end, this one or an earlier one, is its last
   * message. Rejects like `append`.
   */
  async end(gap: Gap | undefined, progress: Progress, signal: AbortSignal): Promise<void> {
    if (gap || this.#memory.gap)
      await this.append([{ items: [], suspectedGap: gap, isLast: true }], progress, signal);
    await this.finish(ENDED, signal);
  }

  async #prepare(batches: readonly ReadBatch[]): Promise<PreparedAppend> {
    const memory = this.#memory;
    const items = batches.flatMap((batch) => batch.items);
    const isSuspect = memory.gap !== undefined || batches.some(({ suspectedGap }) => suspectedGap);
    const { clock, settings, telemetry } = this.#parts;
    const ids = new Set([
      ...idsToQuery(items, memory),
      ...(isSuspect ? [gapId(this.#head - 1), ...items.flatMap(formsOf), ...memory.above.values()] : []),
      ...(settings.isBlanking ? deletionIds(items.flatMap(messagesOf)) : []),
    ]);
    const found = ids.size > 0 ? await this.#parts.store.messagesById(this.#claim.key, [...ids]) : [];
    const notices = await this.#noticesOf(noticesToQuery(items, memory.notices));
    const held = new Map(
      [...found.map(decodeMessage), ...[...notices.values()].flat()].map((message) => [message.id, message]),
    );
    const now = clock.now();
    const replacements = await this.#replacementsOf(replacedBefore(items, held));
    const cursors = new Map(found.map(({ id, cursor }) => [id, cursor]));
    const resolved = resolve(items, { messages: held, cursors, replacements, notices }, memory, now);
    const room = { ...memory, head: this.#head, held };
    const moment = { receivedAt: now, timeOfDay: settings.timeOfDay, offsetMs: undefined };
    const shown = showGaps(batches, resolved.messages, room, moment);
    const above = aboveAfter(memory.above, shown.messages);
    const prepared = { ...resolved, ...shown, above, overwriting: [] };
    if (prepared.shown.length > 0) telemetry.mark("gap: shown");
    else if (prepared.gap) telemetry.mark("gap: waits for a message");
    else if (isSuspect) telemetry.mark("gap: disproved");
    if (!settings.isBlanking) return prepared;
    return { ...prepared, ...(await blankDeleted(prepared.messages, held, (by) => this.#find(by), clock)) };
  }

  async #replacementsOf(ids: readonly string[]): Promise<HeldReplacements> {
    const found = ids.map(async (id): Promise<[string, HeldMessage[]]> => {
      const replacements = await this.#find({ idPrefix: `replaced:${id}:` });
      replacements.sort((one, other) => one.cursor - other.cursor);
      return [id, replacements.map(decodeMessage)];
    });
    return new Map(await Promise.all(found));
  }

  async #noticesOf(ids: readonly string[]): Promise<HeldNotices> {
    const found = ids.map(async (id): Promise<[string, Message[]]> => {
      const notices = await this.#find({ idPrefix: id });
      return [id, notices.map(decodeMessage)];
    });
    return new Map(await Promise.all(found));
  }

  #find(by: MessageSearch): Promise<StoredMessage[]> {
    return this.#parts.store.find(this.#claim.key, by);
  }

  async #store(
    { messages, overwriting, ...memory }: PreparedAppend,
    progress: Progress,
  ): Promise<StoredMessage[]> {
    const { clock, store, telemetry } = this.#parts;
    const checkpoint = encodeCheckpoint(progress, { ...this.#memory, ...memory }, clock.monotonic());
    const encoded = messages.map(encodeMessage);
    const added = await store.append(this.#claim, this.#head, encoded, checkpoint, overwriting);
    this.#head += added.length;
    const awaits = progress.absence && sentenceOf(progress.absence);
    if (awaits !== this.#awaits) store.factChanged(this.#claim.key, "standing");
    this.#awaits = awaits;
    if (added.length < messages.length) telemetry.mark("append: holds some of it already");
    const types = new Map(messages.map(({ id, type }) => [id, type]));
    telemetry.rooms.appended(added.map(({ id }) => types.get(id) ?? ""));
    return added;
  }

  #stored({ messages: _, overwriting: __, shown, ...memory }: PreparedAppend): void {
    this.#memory = { ...this.#memory, ...memory };
    for (const { reason, sinceMs } of shown)
      this.#parts.telemetry.rooms.gapFound(this.#claim.key, reason, sinceMs);
  }

  /** A write that failed or was aborted may still have succeeded, so the room is read before the next one. */
  async #write(signal: AbortSignal, act: () => Promise<unknown>): Promise<void> {
    await this.#untilDone(signal, async () => {
      if (this.#isUnsure && (await this.#foundFinished())) return;
      this.#isUnsure = true;
      await act();
      this.#isUnsure = false;
    });
  }

  /**
   * Adopts the stored head; returns whether the room is closed. Rejects like `Store.getRoom`, and with
   * "fenced" if the store has lost acknowledged messages: cursors would be used twice.
   */
  async #foundFinished(): Promise<boolean> {
    const { store, telemetry } = this.#parts;
    const { key } = this.#claim;
    telemetry.mark("append: outcome unknown");
    const record = await store.getRoom(key);
    if (!record) return false;
    if (record.head < this.#head)
      throw new StoreError("fenced", `room ${key}: the store ends at ${record.head}, before ${this.#head}`);
    if (record.head > this.#head) telemetry.mark("append: had happened all the same");
    if (record.end) telemetry.mark("append: room was finished all the same");
    this.#head = record.head;
    return record.end !== null;
  }

  /** Retries until the store is available; meanwhile the room counts as blocked. */
  async #untilDone<T>(signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    const { clock, store } = this.#parts;
    const { key } = this.#claim;
    const isTransient = (error: unknown) => {
      if (isUnavailable(error)) store.health.setBlocked(key, true);
      return isUnavailable(error);
    };
    try {
      return await retry(WRITE_RETRY, clock, signal, isTransient, act);
    } finally {
      store.health.setBlocked(key, false);
    }
  }
}

/** The forms in which a room may hold the item. */
function messagesOf({ message, replaces }: Item): Message[] {
  return replaces ? [message, replaces.as] : [message];
}

function formsOf(item: Item): string[] {
  return messagesOf(item).map(({ id }) => id);
}
