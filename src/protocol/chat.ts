/** A stream's chat, as its first frame (`init`) and its last frame (`end` or `error`) describe it. */
import type { StoredStanding } from "./chat-standing.ts";
import type { ErrorBody } from "./errors.ts";
import type { VideoFacts } from "./video-facts.ts";

/** The kinds of chat that the upstream has: a live chat, and the replay of a finished stream. */
export const CHAT_TYPES = ["liveChatRenderer", "liveChatReplayRenderer"] as const;

export type ChatType = (typeof CHAT_TYPES)[number];

export function isChatType(value: unknown): value is ChatType {
  return CHAT_TYPES.some((type) => type === value);
}

export function isReplayChat(chatType: ChatType): boolean {
  return chatType === "liveChatReplayRenderer";
}

/** How requests name the two chats of a video. */
export const CHATS = ["live", "replay"] as const;

export type Chat = (typeof CHATS)[number];

/** The views of a chat: all messages, or Top chat, the upstream's selection of them. */
export const CHAT_VIEWS = ["all", "top"] as const;

export type ChatView = (typeof CHAT_VIEWS)[number];

/** Data of the `init` frame. */
export interface Init {
  videoId: string;
  chatType: ChatType;
  /** The cursor just before the first message of this connection. */
  cursor: number;
  /** With `until=now`: the chats of the video that are stored. */
  chats?: Chat[];
  /** With `details=true`, if pages have said it: what the video is. */
  details?: VideoFacts;
}

/** What streams say of a chat beside its messages, if they are asked: each is a parameter and an event. */
export const FACT_NAMES = ["featured", "standing"] as const;

export type FactName = (typeof FACT_NAMES)[number];

/** Data of the event `standing`: whether a live chat is there, or is waited for, as it is off or hidden. */
export interface StandingData {
  state: "live" | "waiting";
  /** Why it is waited for: a sentence without its full stop. */
  reason?: string;
}

/** The chat is over. */
export const ENDED = { state: "ended", reason: "no more continuations" } as const;
/** The room had no viewers any more. */
export const RELEASED = { state: "released", reason: "room released" } as const;

/** A room's final state: the data of its `end` or `error` frame. */
export type RoomEnd = typeof ENDED | typeof RELEASED | { state: "failed"; error: ErrorBody };

/** Whether the chat of a room that ended this way is over, and not only read no more. */
export function isOver(end: RoomEnd | null | undefined): end is typeof ENDED {
  return end?.state === "ended";
}

/**
 * What a stream ends with: the end of its room, or the end of the part that was asked for, with the standing
 * of the chat then.
 */
export type StreamEnd = RoomEnd | { state: "bounded"; reason: "until"; chat: StoredStanding };
