/** The chats that the SDK reads from the service: of a video, of a channel, and several on one connection. */
import type { MessageType } from "../src/protocol/kinds.ts";
import { ChatStream } from "./chat-stream.ts";
import { type Clock, systemClock } from "./sdk-clock.ts";
import { CHANNEL, MERGED, VIDEO } from "./stream-table.ts";
import type {
  AnyOptions,
  ChannelChat,
  ChannelOptions,
  Chat,
  ChatOptions,
  MergedChats,
  MergedOptions,
  MessageOf,
  TypeOrGroup,
  TypesIn,
} from "./types.ts";

/**
 * The chat of a video or of a channel, not connected yet. Throws `TypeError` for an unusable URL or `cursor`,
 * or without a `videoId` or `channel`. The loop throws `ChatError` if the service refuses the chat or the
 * chat fails, and the signal's reason. The chat of a channel does not end.
 */
export function chat<
  D extends boolean = false,
  T extends TypeOrGroup = MessageType,
  V extends string | null | undefined = null,
>(
  url: string | URL,
  options: ChatOptions<D, T, V> | ChannelOptions<D, T>,
): V extends string ? Chat<MessageOf<TypesIn<T> | "gap", D>> : ChannelChat<MessageOf<TypesIn<T> | "gap", D>>;
/**
 * With the clock of a test.
 * @internal
 */
export function chat(url: string | URL, options: AnyOptions, clock: Clock): Chat;
export function chat(url: string | URL, options: object, clock = systemClock): unknown {
  const isOfVideo = (options as AnyOptions | undefined)?.channel === undefined;
  return new ChatStream(isOfVideo ? VIDEO : CHANNEL, clock, url, options);
}

/**
 * Up to twenty chats of videos and channels on one connection, not connected yet. If a chat ends or fails,
 * the others continue. Throws `TypeError` for an unusable URL or `cursor`, without a name, and if `videoIds`
 * contains anything but ids of videos. The loop ends with the last chat, which a channel does not have, and
 * throws `ChatError` if the service refuses the connection, and the signal's reason.
 */
export function merged<D extends boolean = false, T extends TypeOrGroup = MessageType>(
  url: string | URL,
  options: MergedOptions<D, T>,
): MergedChats<MessageOf<TypesIn<T> | "gap", D>> {
  // The service writes handles in lower case.
  const channels = options?.channels?.map((name) => (name[0] === "@" ? name.toLowerCase() : name));
  return new ChatStream(MERGED, systemClock, url, { ...options, channels }) as MergedChats<never>;
}
