/** The form of the chat that a page shows, whether on a stream of its own or on the shared one. */
import type { Chat, ChatEvents, ChatOptions } from "../../client/index.ts";
import type { ChannelState } from "../../src/protocol/channel.ts";
import type { ShownMessage } from "./shown-message.ts";

/** `channel` comes only for a channel, `end` only for a video. */
interface SourceEvents extends Omit<ChatEvents, "message"> {
  message: ShownMessage;
  channel: ChannelState;
}

export type SourceChat = Chat<ShownMessage, number | string, SourceEvents>;
export type SourceOptions = Omit<ChatOptions<true>, "videoId" | "cursor" | "details" | "token"> & {
  token?: string | undefined;
  cursor?: number | string | undefined;
};
