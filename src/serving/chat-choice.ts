/**
 * The chats of a video that are over, and whom they serve. A viewer stays in the chat whose cursor it has,
 * whatever the upstream shows now: no cursor is one of both chats.
 */
import { type Chat, type ChatKey, chatOf } from "../protocol/chat-key.ts";
import type { StoredStanding } from "../protocol/chat-standing.ts";
import { chatWith } from "../store/stored-chats.ts";
import type { CursorRange } from "./resume.ts";
import type { StreamRequest } from "./room.ts";

/** A chat of a video as it is stored. */
export interface StoredChat extends CursorRange {
  key: ChatKey;
  is: StoredStanding;
  /** The time since it ended, in milliseconds; null if it has not, or only an origin knows. */
  endedAgoMs: number | null;
}

/**
 * The chat that a viewer of this video asks for, if it is clear without opening the video: by its name, by
 * its cursor, or as a log, which is the live chat's if that is stored. Undefined for the chat that is there
 * now.
 */
export function chatAsked(
  stored: readonly StoredChat[],
  { chat, lastEventId, log }: Pick<StreamRequest, "chat" | "lastEventId" | "log">,
): StoredChat | undefined {
  if (chat) return stored.find((each) => isChat(each, chat));
  if (log !== undefined) return stored[0];
  return lastEventId ? chatWith(stored, lastEventId) : undefined;
}

/**
 * The chat that serves this viewer because it is over. A live chat also serves newcomers for the grace time
 * after its end.
 */
export function pastChat(
  stored: readonly StoredChat[],
  request: Pick<StreamRequest, "chat" | "lastEventId" | "log" | "reopens">,
  graceMs: number,
): StoredChat | undefined {
  const asked = chatAsked(stored, request);
  if (asked) return asked.is === "over" && !request.reopens ? asked : undefined;
  const live = stored.find((each) => isChat(each, "live"));
  const isRecent = live?.is === "over" && live.endedAgoMs !== null && Math.abs(live.endedAgoMs) <= graceMs;
  return isRecent && !request.chat && !request.reopens ? live : undefined;
}

/** The replay whose cursor this viewer has, if it goes on. */
export function replayAsked(
  stored: readonly StoredChat[],
  { chat, lastEventId }: Pick<StreamRequest, "chat" | "lastEventId">,
): StoredChat | undefined {
  const asked = chatAsked(stored, { chat, lastEventId });
  return asked && isChat(asked, "replay") && asked.is !== "over" ? asked : undefined;
}

function isChat({ key }: StoredChat, chat: Chat): boolean {
  return chatOf(key).chat === chat;
}
