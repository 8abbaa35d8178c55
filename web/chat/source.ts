/** The chat that a page shows: of a video, or of the streams of a channel, one after the other. */
import { type Chat, type ChatError, type ChatEvents, type ChatOptions, chat } from "../../client/index.ts";
import type { ChannelState } from "../../src/protocol/channel.ts";
import type { ShownMessage } from "./shown-message.ts";

/** The wait before the next attempt to open a chat that has not begun: pages are often open before it. */
export const NO_CHAT_MS = 30_000;

export interface Source {
  /** Id or URL of a video; empty: the channel's streams. */
  videoId: string;
  /** A handle, or the id or URL of a channel. */
  channel: string;
}

/** `channel` comes only for a channel, `end` only for a video. */
interface SourceEvents extends Omit<ChatEvents, "message"> {
  message: ShownMessage;
  channel: ChannelState;
}

export type SourceChat = Chat<ShownMessage, number | string, SourceEvents>;
export type SourceOptions = Omit<ChatOptions<true>, "videoId" | "cursor" | "details"> & {
  cursor?: number | string | undefined;
};

export function openChat(service: string, { videoId, channel }: Source, options: SourceOptions): SourceChat {
  const named = videoId === "" ? { channel } : { videoId };
  return chat(service, { ...options, ...named, details: true } as ChatOptions<true>) as unknown as SourceChat;
}

/** Milliseconds until the next attempt; undefined leaves it to the SDK, or to the user after a refusal. */
export function waitAfter({ code, status, retryAfterMs }: ChatError): number | undefined {
  if (code === "NO_LIVE_CHAT") return NO_CHAT_MS;
  return status === 429 || status === 503 ? (retryAfterMs ?? NO_CHAT_MS) : undefined;
}
