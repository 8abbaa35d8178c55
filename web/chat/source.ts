/** Opens the chat that a page shows: of a video, or of the streams of a channel, one after the other. */
import { type ChatOptions, chat } from "../../client/index.ts";
import { SharableChat } from "./sharable-chat.ts";
import type { SourceChat, SourceOptions } from "./source-chat.ts";
import type { Source } from "./source-name.ts";

export function openChat(service: string, source: Source, options: SourceOptions): SourceChat {
  const { videoId, channel } = source;
  const named = videoId === "" ? { channel } : { videoId };
  const after = (cursor: number | string | undefined): SourceOptions =>
    cursor === undefined ? options : { ...options, cursor };
  const own = (cursor: number | string | undefined): SourceChat =>
    chat(service, {
      ...after(cursor),
      ...named,
      details: true,
    } as ChatOptions<true>) as unknown as SourceChat;
  if (options.until) return own(undefined);
  return new SharableChat(service, options.token, {
    own,
    shared: (stream, cursor) => stream.open(source, after(cursor)),
  }) as unknown as SourceChat;
}
