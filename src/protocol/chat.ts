/** What a stream says of its chat when it opens and when it ends. */
import type { ErrorBody } from "./errors.ts";

/** What was found on the upstream: a live chat, or a finished stream's replay. */
export type ChatType = "liveChatRenderer" | "liveChatReplayRenderer";

/** Data of the `init` frame. */
export interface Init {
  videoId: string;
  chatType: ChatType;
  /** The cursor just before the first message that this connection will be sent. */
  cursor: number;
}

/** Why a room is over: the data of its `end` or `error` frame, by its final state. */
export type RoomEnd =
  | { state: "ended"; reason: "no more continuations" }
  | { state: "released"; reason: "room released" }
  | { state: "failed"; error: ErrorBody };
