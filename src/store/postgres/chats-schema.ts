/**
 * The step with which a room became one chat of its video, and a recording named both chats. Instances of the
 * release before may run on: the replay that they would append to a live chat is refused, and they find that
 * the rooms of their replays are gone.
 */
import { REPLAY_SUFFIX } from "../../protocol/chat-key.ts";
import { beganAsReplay, ENDED_TEXT, isOfReplay, READ_REPLAY } from "../earlier-rooms.ts";
import { appendFunction } from "./append-schema.ts";
import { MOVING_APART } from "./moving-schema.ts";
import { roomPruning, VIDEO_OF_ROOM } from "./pruning-schema.ts";

const FIRST_DETAILS = `(select m.details from message m
      where m.video_id = room.video_id and m.cursor > room.floor - room.shift order by m.cursor limit 1)`;
const FREED = "owner = null, epoch = epoch + 1, lease_until = 'epoch'";
const IS_LIVE = `video_id not like '%${REPLAY_SUFFIX}'`;

/** Renames the rows of a table that belong to a renamed room. */
const renamed = (table: string) => `update ${table} t set video_id = r.video_id from room r
    where r.video_id like '%${REPLAY_SUFFIX}' and t.video_id || '${REPLAY_SUFFIX}' = r.video_id;`;

export const ROOMS_OF_CHATS = `
  update room set video_id = video_id || '${REPLAY_SUFFIX}', ${FREED}
    where ${IS_LIVE} and ${READ_REPLAY} and ${beganAsReplay("strpos", FIRST_DETAILS)};
  ${["message", "tally", "tally_item"].map(renamed).join("\n  ")}
  update room set state = 'ended', detail = '${ENDED_TEXT}', final_at = coalesce(final_at, checkpoint_at), ${FREED}
    where ${IS_LIVE} and ${READ_REPLAY};
  ${appendFunction("create or replace function", ` and (v like '%${REPLAY_SUFFIX}' or not ${isOfReplay("cp")})`)}
  ${MOVING_APART}
  ${roomPruning("create or replace function", VIDEO_OF_ROOM)}`;
