/**
 * The names of logs. A video has up to two chats, its live chat and the replay of its finished stream; each
 * is a log of its own, with cursors that the other never has.
 */
import { CHATS, type Chat, type ChatType, isReplayChat } from "./chat.ts";

/**
 * The name of a chat's log in every store. A live chat is named as its video, so the id of a video is always
 * the key of its live chat.
 */
export type ChatKey = string;

/**
 * No video id contains a dot. Stores compare it in SQL: see `sqlite-tables.ts`, `moving-schema.ts` and the
 * statements that prune.
 */
export const REPLAY_SUFFIX = ".replay";

export function chatKey(videoId: string, chat: Chat): ChatKey {
  return chat === "live" ? videoId : videoId + REPLAY_SUFFIX;
}

/** The keys of a video's chats, the live one first. */
export function chatKeys(videoId: string): ChatKey[] {
  return CHATS.map((chat) => chatKey(videoId, chat));
}

/** The video and the chat that a key names. */
export function chatOf(key: ChatKey): { videoId: string; chat: Chat } {
  return key.endsWith(REPLAY_SUFFIX)
    ? { videoId: key.slice(0, -REPLAY_SUFFIX.length), chat: "replay" }
    : { videoId: key, chat: "live" };
}

/** The key of the video's other chat. */
export function otherChat(key: ChatKey): ChatKey {
  const { videoId, chat } = chatOf(key);
  return chatKey(videoId, chat === "live" ? "replay" : "live");
}

/** The name of a chat of this type, and the type of a chat of this name. */
export function chatNamed(chatType: ChatType): Chat {
  return isReplayChat(chatType) ? "replay" : "live";
}

export function typeOfChat(chat: Chat): ChatType {
  return chat === "replay" ? "liveChatReplayRenderer" : "liveChatRenderer";
}
