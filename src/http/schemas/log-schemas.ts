/** The schemas of the log of a video. */
import type { Static } from "typebox";
import { CHATS } from "../../protocol/chat.ts";
import { Type } from "./json-schema.ts";
import { VideoIdInput } from "./schemas.ts";

export const LogParams = Type.Object({ videoId: VideoIdInput });
export type LogParams = Static<typeof LogParams>;

export const LogQuery = Type.Object({
  offset: Type.Optional(
    Type.String({
      maxLength: 100,
      description:
        "Where to read on: the `Stream-Next-Offset` of the last answer; `-1`: from the beginning; `now`: only what follows.",
      examples: ["-1"],
    }),
  ),
  live: Type.Optional(
    Type.Enum(["long-poll", "sse"], {
      description:
        "Whether to wait for more: until there is some (`long-poll`), or as Server-Sent Events (`sse`).",
    }),
  ),
  cursor: Type.Optional(
    Type.String({ maxLength: 100, description: "The `Stream-Cursor` of the last answer, for caches." }),
  ),
  chat: Type.Optional(
    Type.Enum([...CHATS], {
      description: "Whose log: the live chat's, or the replay's. By default the live chat's if it is stored.",
    }),
  ),
});
export type LogQuery = Static<typeof LogQuery>;
