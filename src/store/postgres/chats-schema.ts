/** The step with which a room became one chat of its video, and a recording named both chats. */
import { MOVING_APART } from "./moving-schema.ts";
import { roomPruning, VIDEO_OF_ROOM } from "./pruning-schema.ts";

export const ROOMS_OF_CHATS = `${MOVING_APART}
  ${roomPruning("create or replace function", VIDEO_OF_ROOM)}`;
