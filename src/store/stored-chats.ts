/** The chats of a video that are stored, and which of them a request means. */
import { CHATS, type Chat, chatKey, chatOf } from "../protocol/chat-key.ts";
import { RelayError } from "../protocol/errors.ts";
import { notStored, type RoomRecord, type Store } from "./port.ts";

/** How a request names a chat: by its name, or by a cursor of it. */
export interface ChatAsked {
  chat?: Chat | undefined;
  after?: number | undefined;
  before?: number | undefined;
}

type Cursors = Pick<RoomRecord, "key" | "base" | "head">;

/** The stored chats of a video, the live one first. Rejects with `StoreError`. */
export async function storedChats(store: Pick<Store, "getRoom">, videoId: string): Promise<RoomRecord[]> {
  const found = await Promise.all(CHATS.map((chat) => store.getRoom(chatKey(videoId, chat))));
  return found.filter((room) => room !== undefined);
}

/** The chat of the list that has a cursor; undefined if none has. */
export function chatWith<R extends Cursors>(stored: readonly R[], cursor: number): R | undefined {
  return stored.find(({ base, head }) => cursor >= base && cursor <= head);
}

/**
 * The stored chat that a request means: the one that it names, else the one that has its cursor, else the
 * live one. Throws `RelayError` NOT_STORED, and INVALID_REQUEST if it names one chat and a cursor of the
 * other.
 */
export function askedOf<R extends Cursors>(stored: readonly R[], videoId: string, asked: ChatAsked): R {
  const { chat, after, before } = asked;
  const cursors = [after, before === undefined ? undefined : before - 1];
  const [held] = cursors.flatMap((cursor) => (cursor && chatWith(stored, cursor)) || []);
  const room = chat ? stored.find(({ key }) => chatOf(key).chat === chat) : (held ?? stored[0]);
  if (chat && held && held !== room)
    throw new RelayError("INVALID_REQUEST", `chat: is ${chat}, but the cursor is one of the other chat.`);
  if (!room) throw notStored(videoId, chat);
  return room;
}
