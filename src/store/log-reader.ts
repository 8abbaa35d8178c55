/**
 * Reads the log of a room part by part, and checks that no message is left out. Callers decide the sizes of
 * parts, retries and sharing: viewers share short parts, a history reads long ones.
 */
import { type ChatKey, chatOf } from "../protocol/chat-key.ts";
import type { RoomRecord, Store, TypedPart } from "./port.ts";
import { notStored } from "./store-error.ts";
import type { StoredMessage } from "./stored-message.ts";

/** The log of a store, or of an origin. */
interface ReadableLog extends Pick<Store, "read" | "readTypes"> {
  getRoom(key: ChatKey): Promise<Pick<RoomRecord, "base" | "floor"> | undefined>;
}

/** The error of a log that leaves out the messages after `after` up to `before`. */
export function skips(key: ChatKey, after: number, before: number): Error {
  return new Error(`the store skips from cursor ${after} to ${before} in room ${key}`);
}

/**
 * The cursor up to which messages were deleted; infinite if the room was. Rejects as the log does, and with
 * `RelayError` NOT_STORED if the room has begun again after this cursor: its store was lost or restored, so
 * nobody knows what followed.
 */
async function deletedUpTo(log: Pick<ReadableLog, "getRoom">, key: ChatKey, cursor: number): Promise<number> {
  const room = await log.getRoom(key);
  if (room && room.base > cursor) throw notStored(chatOf(key).videoId);
  return room?.floor ?? Number.POSITIVE_INFINITY;
}

/**
 * At most `limit` messages after cursor `after` up to `to`, which the room has reached. Rejects as
 * `deletedUpTo` does, and with an error if the log skips messages. The deletion of old messages may overtake
 * the reader: then the first ones are missing, or all.
 */
async function readUnbroken(
  log: Pick<ReadableLog, "read" | "getRoom">,
  key: ChatKey,
  after: number,
  to: number,
  limit = to - after,
): Promise<StoredMessage[]> {
  // In place of deleted messages, the log returns the next ones, which can lie beyond `to`.
  const messages = (await log.read(key, after, limit)).filter(({ cursor }) => cursor <= to);
  const before = messages[0] ? messages[0].cursor - 1 : to;
  if (before === after) return messages;
  if ((await deletedUpTo(log, key, after)) >= before) return messages;
  throw skips(key, after, before);
}

/** The messages of a part of the log, which begins after cursor `after` and ends with `to`. */
export interface ReadPart {
  messages: StoredMessage[];
  after: number;
  to: number;
}

/**
 * The first part of a range, or the last one if `isNewest`, with at most `limit` messages: all there are, or
 * those of the `types`. The part reaches as far as there are no others. Rejects as `readUnbroken` does.
 */
export async function readPart(
  log: ReadableLog,
  key: ChatKey,
  { types, ...range }: Omit<TypedPart, "types"> & { types: readonly string[] | undefined },
): Promise<ReadPart> {
  const { after, to, limit, isNewest } = range;
  if (!types) {
    const start = isNewest ? Math.max(after, to - limit) : after;
    const messages = await readUnbroken(log, key, start, to, Math.min(limit, to - start));
    return { messages, after: start, to: isNewest ? to : (messages.at(-1)?.cursor ?? to) };
  }
  const messages = await log.readTypes(key, { types, ...range });
  const [first, last] = [messages[0], messages.at(-1)];
  if (!first) await deletedUpTo(log, key, after);
  if (!first || !last || messages.length < limit) return { messages, after, to };
  return isNewest ? { messages, after: first.cursor - 1, to } : { messages, after, to: last.cursor };
}
