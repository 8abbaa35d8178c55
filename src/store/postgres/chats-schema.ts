/** The step with which a room became one chat of its video, and a recording named both chats. */
import { REPLAY_SUFFIX } from "../../protocol/chat-key.ts";
import { MOVING_APART } from "./moving-schema.ts";
import { roomPruning } from "./pruning-schema.ts";

export const ROOMS_OF_CHATS = `${MOVING_APART}
  ${roomPruning("create or replace function", `replace(r.video_id, '${REPLAY_SUFFIX}', '')`)}`;
