/**
 * All that one store holds, put into another one, with its cursors. The new store says of itself that it is not whole
 * until it is, so that no service starts on it; a run that was killed goes on where it was. It is whole only once both
 * were compared: what a service has changed meanwhile stops it.
 */
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../clock.ts";
import { type Claim, type RoomRecord, StoreError } from "./port.ts";
import type { StoredMessage } from "./stored-message.ts";

const ROOMS_AT_ONCE = 200;
const MESSAGES_AT_ONCE = 1000;
const PROGRESS_MS = 1000;

/** A room, with when it was last read and when it ended, in wall milliseconds. */
export interface MovedRoom extends Claim, Omit<RoomRecord, "readAgoMs" | "endedAgoMs"> {
  checkpointAt: number;
  endedAt: number | null;
}

/** A message with its place in the order of all commits, and when it was stored, in wall milliseconds. */
export interface MovedMessage extends StoredMessage {
  seq: number;
  videoId: string;
  at: number;
}

/** One end of a migration, which has the store to itself. All reject with `StoreError` "unavailable". */
export interface MigrationEnd {
  /** As lines name it: without a password. */
  readonly place: string;
  /** At most `limit` rooms after a video id, in the order of their bytes. */
  rooms(after: string, limit: number): Promise<MovedRoom[]>;
  /** At most `limit` messages after `seq`, in the order of their commits. */
  messages(seq: number, limit: number): Promise<MovedMessage[]>;
  countMessages(): Promise<number>;
  /** Up to which `seq` of the other end this one was filled; undefined where it is no half of a migration. */
  filledTo(): Promise<number | undefined>;
  /** From now on it is one. Rejects where it holds a room already. */
  begin(): Promise<void>;
  /** Writes the rooms as they are given, whatever it held of them. */
  putRooms(rooms: readonly MovedRoom[]): Promise<void>;
  /** Adds them in this order, in one commit with how far this one is filled: to the `seq` of the last. */
  putMessages(messages: readonly MovedMessage[]): Promise<void>;
  /** A room that has not all the messages between its floor and its head. */
  incompleteRoom(): Promise<string | undefined>;
  /** It is whole: a service may use it. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

export interface MigrationProgress {
  messages: number;
  /** Of how many. */
  total: number;
}

/** Rejects with `StoreError` whose message is one line that says what to do. Progress comes once a second. */
export async function migrate(
  from: MigrationEnd,
  to: MigrationEnd,
  clock: Clock,
  progress: (so: MigrationProgress) => void,
): Promise<{ rooms: number; messages: number }> {
  let seq = await to.filledTo();
  if (seq === undefined) await to.begin();
  else {
    const strange = await firstOdd(to, from, (there, here) => there.base === here?.base);
    if (strange)
      throw refused(`${to.place} holds room ${strange}, which is not of ${from.place}: name an empty store`);
  }
  let rooms = 0;
  for await (const page of roomPages(from)) {
    await to.putRooms(page);
    rooms += page.length;
  }
  const total = await from.countMessages();
  let messages = seq === undefined ? 0 : await to.countMessages();
  let toldAt = clock.monotonic();
  for (seq ??= 0; ; ) {
    const batch = await from.messages(seq, MESSAGES_AT_ONCE);
    const last = batch.at(-1);
    if (!last) break;
    await to.putMessages(batch);
    seq = last.seq;
    messages += batch.length;
    if (clock.monotonic() - toldAt < PROGRESS_MS) continue;
    toldAt = clock.monotonic();
    progress({ messages, total });
  }
  const odd = (await firstOdd(from, to, isDeepStrictEqual)) ?? (await firstOdd(to, from, isDeepStrictEqual));
  if (odd)
    throw refused(
      `room ${odd} changed during the run: stop all services on both stores, and run the command again`,
    );
  const incomplete = await to.incompleteRoom();
  if (incomplete)
    throw refused(
      `${to.place} lacks messages of room ${incomplete}: empty it, stop all services, and run the command again`,
    );
  await to.finish();
  return { rooms, messages };
}

async function* roomPages(end: MigrationEnd): AsyncGenerator<MovedRoom[]> {
  for (let after = ""; ; ) {
    const page = await end.rooms(after, ROOMS_AT_ONCE);
    const last = page.at(-1);
    if (!last) return;
    yield page;
    after = last.videoId;
  }
}

async function* allRooms(end: MigrationEnd): AsyncGenerator<MovedRoom> {
  for await (const page of roomPages(end)) yield* page;
}

/** The first room of the one end that the other one does not hold so, or not at all. */
async function firstOdd(
  one: MigrationEnd,
  other: MigrationEnd,
  isSo: (room: MovedRoom, there: MovedRoom | undefined) => boolean,
): Promise<string | undefined> {
  const others = allRooms(other);
  let next = await others.next();
  for await (const room of allRooms(one)) {
    while (!next.done && next.value.videoId < room.videoId) next = await others.next();
    const isThere = !next.done && next.value.videoId === room.videoId;
    if (!isSo(room, isThere ? next.value : undefined)) return room.videoId;
  }
  return undefined;
}

function refused(message: string): StoreError {
  return new StoreError("unavailable", message);
}
