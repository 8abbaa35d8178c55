/**
 * Copies all rooms, messages and recordings of one store into another one, with their cursors. A marker
 * prevents services from using the new store until the copy is complete; a run that was killed continues
 * where it stopped. The copy is complete only if both stores have equal rooms and recordings at its end,
 * and the new one has every cursor: what a service writes meanwhile also changes its room, and the copy
 * fails.
 */
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../base/clock.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import type { LastTimes } from "./message-times.ts";
import type { Claim, RoomRecord } from "./port.ts";
import type { Recording } from "./recording-list.ts";
import { StoreError } from "./store-error.ts";
import type { EncodedMessage } from "./stored-message.ts";
import type { TallyItem } from "./totals.ts";

const ROOMS_AT_ONCE = 200;
const MESSAGES_AT_ONCE = 1000;
const ITEMS_AT_ONCE = 10_000;
const PROGRESS_MS = 1000;

/** A room, with the times of its last read and of its end in wall milliseconds. */
export interface MovedRoom extends Claim, Omit<RoomRecord, "readAgoMs" | "end" | "endedAgoMs"> {
  checkpointAt: number;
  /** How the room ended, as stored; null while it is open. */
  end: string | null;
  endedAt: number | null;
  /** The names of the room's channel, as stored; null if they are not known. */
  channels: string | null;
  /** Whether the retention leaves the room out. */
  isKept: boolean;
  /** The message that was chosen last to be featured, and when, in wall milliseconds; null if none is. */
  featuredId: string | null;
  featuredAt: number | null;
  /** The room's totals as stored, and the cursor up to which they count; null if nothing is counted yet. */
  totals: string | null;
  countedTo: number | null;
}

/** A message with its place in the order of all commits, and its times as stored; see `MessageTimes`. */
export interface MovedMessage extends EncodedMessage, LastTimes {
  seq: number;
  key: ChatKey;
  cursor: number;
}

/**
 * One end of a migration, with exclusive access to its store. All methods reject with `StoreError`
 * "unavailable".
 */
export interface MigrationEnd {
  /** The store's name in log lines, without a password. */
  readonly place: string;
  /** At most `limit` rooms after a key, in byte order. */
  rooms(after: ChatKey, limit: number): Promise<MovedRoom[]>;
  /** At most `limit` items of a room's totals after a key, in byte order. */
  tallyItems(key: ChatKey, after: string, limit: number): Promise<TallyItem[]>;
  /** At most `limit` messages after `seq`, in the order of their commits. */
  messages(seq: number, limit: number): Promise<MovedMessage[]>;
  countMessages(): Promise<number>;
  /** The list of recordings, the oldest first. */
  recordings(): Promise<Recording[]>;
  /** The `seq` of the other end up to which this one was filled; undefined if no migration was begun. */
  filledTo(): Promise<number | undefined>;
  /** Sets the marker of an incomplete copy. Rejects if the store has rooms already. */
  begin(): Promise<void>;
  /** Writes these rooms, and overwrites rooms with the same key. */
  putRooms(rooms: readonly MovedRoom[]): Promise<void>;
  /** Writes these items of a room's totals, and overwrites items with the same keys. */
  putTallyItems(key: ChatKey, items: readonly TallyItem[]): Promise<void>;
  /**
   * Adds the messages in this order, and overwrites those with the same cursors. Records the last `seq`, or
   * 0, in the same commit.
   */
  putMessages(messages: readonly MovedMessage[]): Promise<void>;
  /** Writes these recordings, which nobody runs, and overwrites those with the same name. */
  putRecordings(recordings: readonly Recording[]): Promise<void>;
  /** A room that lacks messages between its floor and its head. */
  incompleteRoom(): Promise<ChatKey | undefined>;
  /** Removes the marker, so that a service may use the store. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

export interface MigrationProgress {
  messages: number;
  /** The number of all messages to copy. */
  total: number;
}

/**
 * Copies the store. Rejects with `StoreError`, whose message is one line that says what to do. Reports the
 * progress once a second.
 */
export async function copyStore(
  from: MigrationEnd,
  to: MigrationEnd,
  clock: Clock,
  progress: (progress: MigrationProgress) => void,
): Promise<{ rooms: number; messages: number }> {
  let seq = await to.filledTo();
  if (seq === undefined) await to.begin();
  else {
    const foreignRoom = await firstDifference(to, from, (there, here) => there.base === here?.base);
    if (foreignRoom)
      throw refused(
        `${to.place} holds room ${foreignRoom}, which is not of ${from.place}: name an empty store`,
      );
    // A service has written since: it may have blanked messages that were copied before.
    if (await firstDifference(to, from, isDeepStrictEqual)) {
      await to.putMessages([]);
      seq = 0;
    }
  }
  let rooms = 0;
  for await (const page of roomPages(from)) {
    await to.putRooms(page);
    for (const { key, totals } of page) if (totals !== null) await copyTallyItems(key, from, to);
    rooms += page.length;
  }
  await to.putRecordings(await from.recordings());
  const total = await from.countMessages();
  let messages = seq ? await to.countMessages() : 0;
  let reportedAt = clock.monotonic();
  for (seq ??= 0; ; ) {
    const batch = await from.messages(seq, MESSAGES_AT_ONCE);
    const last = batch.at(-1);
    if (!last) break;
    await to.putMessages(batch);
    seq = last.seq;
    messages += batch.length;
    if (clock.monotonic() - reportedAt < PROGRESS_MS) continue;
    reportedAt = clock.monotonic();
    progress({ messages, total });
  }
  const changed =
    (await firstDifference(from, to, isDeepStrictEqual)) ??
    (await firstDifference(to, from, isDeepStrictEqual));
  if (changed)
    throw refused(
      `room ${changed} changed during the run: stop all services on both stores, and run the command again`,
    );
  if (!isDeepStrictEqual(await from.recordings(), await to.recordings()))
    throw refused(
      "the list of recordings changed during the run, or the new store had one: empty the new store, stop all services on both stores, and run the command again",
    );
  const incomplete = await to.incompleteRoom();
  if (incomplete)
    throw refused(
      `${to.place} lacks messages of room ${incomplete}: empty it, stop all services, and run the command again`,
    );
  await to.finish();
  return { rooms, messages };
}

async function copyTallyItems(key: ChatKey, from: MigrationEnd, to: MigrationEnd): Promise<void> {
  for (let after = ""; ; ) {
    const items = await from.tallyItems(key, after, ITEMS_AT_ONCE);
    const last = items.at(-1);
    if (!last) return;
    await to.putTallyItems(key, items);
    after = last.key;
  }
}

async function* roomPages(end: MigrationEnd): AsyncGenerator<MovedRoom[]> {
  for (let after = ""; ; ) {
    const page = await end.rooms(after, ROOMS_AT_ONCE);
    const last = page.at(-1);
    if (!last) return;
    yield page;
    after = last.key;
  }
}

async function* allRooms(end: MigrationEnd): AsyncGenerator<MovedRoom> {
  for await (const page of roomPages(end)) yield* page;
}

/** The first room of `one` that `other` lacks, or that differs there. */
async function firstDifference(
  one: MigrationEnd,
  other: MigrationEnd,
  isSame: (room: MovedRoom, there: MovedRoom | undefined) => boolean,
): Promise<ChatKey | undefined> {
  const others = allRooms(other);
  let next = await others.next();
  for await (const room of allRooms(one)) {
    while (!next.done && next.value.key < room.key) next = await others.next();
    const isThere = !next.done && next.value.key === room.key;
    if (!isSame(room, isThere ? next.value : undefined)) return room.key;
  }
  return undefined;
}

function refused(message: string): StoreError {
  return new StoreError("unavailable", message);
}
