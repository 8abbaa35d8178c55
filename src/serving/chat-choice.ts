/**
 * Chooses one of a video's stored chats: for a query, which the store answers, or for a viewer. A viewer
 * stays in the chat whose cursor it has, whatever the upstream shows now: no cursor is one of both chats.
 */
import type { Chat } from "../protocol/chat.ts";
import { type ChatKey, chatKeys, chatOf } from "../protocol/chat-key.ts";
import type { StoredStanding } from "../protocol/chat-standing.ts";
import { RelayError } from "../protocol/errors.ts";
import type { RoomRecord, Store } from "../store/port.ts";
import { notStored } from "../store/store-error.ts";
import { belongsTo, type CursorRange } from "./resume-or-backfill.ts";
import type { StreamRequest } from "./room.ts";

/** A chat of a video as it is stored. */
export interface StoredChat extends CursorRange {
  key: ChatKey;
  is: StoredStanding;
  /** The time since it ended, in milliseconds; null if it has not, or only an origin knows. */
  endedAgoMs: number | null;
}

/** How a query names a chat: by its name, or by a cursor of it. */
interface ChatQuery {
  chat?: Chat | undefined;
  after?: number | undefined;
  before?: number | undefined;
}

type Cursors = Pick<RoomRecord, "key" | "base" | "head">;

/** The stored chats of a video, the live one first. Rejects with `StoreError`. */
export async function storedChats(store: Pick<Store, "getRoom">, videoId: string): Promise<RoomRecord[]> {
  const found = await Promise.all(chatKeys(videoId).map((key) => store.getRoom(key)));
  return found.filter((room) => room !== undefined);
}

/**
 * The stored chat that a query means: the one that it names, else the one that has its cursor, else the
 * live one, or the replay if that alone is stored. Throws `RelayError` NOT_STORED, and INVALID_REQUEST if it
 * names one chat and a cursor of the other.
 */
export function chatForQuery<R extends Cursors>(
  stored: readonly R[],
  videoId: string,
  { chat, after, before }: ChatQuery,
): R {
  const cursors = [after, before === undefined ? undefined : before - 1];
  const [held] = cursors.flatMap((cursor) => chatWith(stored, cursor) ?? []);
  const room = chat ? stored.find((each) => isChat(each, chat)) : (held ?? stored[0]);
  if (chat && held && held !== room)
    throw new RelayError("INVALID_REQUEST", `chat: is ${chat}, but the cursor is one of the other chat.`);
  if (!room) throw notStored(videoId, chat);
  return room;
}

/**
 * The stored chat that a viewer asks for, if it is clear without opening the video: by its name, by its
 * cursor, or as a log, which is the live chat's if that is stored. Undefined for the chat that is there now.
 */
export function chatForViewer(
  stored: readonly StoredChat[],
  { chat, lastEventId, log }: Pick<StreamRequest, "chat" | "lastEventId" | "log">,
): StoredChat | undefined {
  if (chat) return stored.find((each) => isChat(each, chat));
  if (log !== undefined) return stored[0];
  return chatWith(stored, lastEventId);
}

/**
 * The chat that serves a viewer because it has ended. A live chat also serves newcomers for the grace time
 * after its end.
 */
export function endedChatForViewer(
  stored: readonly StoredChat[],
  request: Pick<StreamRequest, "chat" | "lastEventId" | "log" | "reopens">,
  graceMs: number,
): StoredChat | undefined {
  const asked = chatForViewer(stored, request);
  if (asked) return asked.is === "ended" && !request.reopens ? asked : undefined;
  const live = stored.find((each) => isChat(each, "live"));
  const isRecent =
    live?.is === "ended" && live.endedAgoMs !== null && leftAfterEnd(live.endedAgoMs, graceMs) >= 0;
  return isRecent && !request.chat && !request.reopens ? live : undefined;
}

/**
 * How much longer an ended chat counts as recent, in milliseconds; below 0 once it is not recent. An end in
 * the future comes from a clock that was ahead, and counts by its distance.
 */
export function leftAfterEnd(endedAgoMs: number, keptMs: number): number {
  return keptMs - Math.abs(endedAgoMs);
}

/** The replay that a viewer asks for, by its name or by a cursor, if it goes on. */
export function replayForViewer(
  stored: readonly StoredChat[],
  { chat, lastEventId }: Pick<StreamRequest, "chat" | "lastEventId">,
): StoredChat | undefined {
  const asked = chatForViewer(stored, { chat, lastEventId });
  return asked && isChat(asked, "replay") && asked.is !== "ended" ? asked : undefined;
}

function isChat({ key }: Pick<StoredChat, "key">, chat: Chat): boolean {
  return chatOf(key).chat === chat;
}

/** The chat of the list to which a cursor belongs; undefined if to none, or, as with 0, to each. */
function chatWith<R extends Cursors>(stored: readonly R[], cursor: number | undefined): R | undefined {
  return cursor ? stored.find((chat) => belongsTo(chat, cursor)) : undefined;
}
