/**
 * The function that moves all rooms, with their messages, to cursors that no client can hold. A video's
 * replay moves behind its live chat, so that their cursors stay apart.
 */
import { REPLAY_SUFFIX } from "../../protocol/chat-key.ts";
import { UNHELD } from "../port.ts";

const FAR = "greatest(moment, head + 1) - base";
const FAR_APART = `greatest(moment, head + 1, coalesce((
           select case when l.base < moment or not is_restored then greatest(moment, l.head + 1) - l.base else 0 end
             + l.head + 1
           from room l where l.video_id = replace(room.video_id, '${REPLAY_SUFFIX}', '') and l.video_id <> room.video_id and l.checkpoint is not null), 0)) - base`;

/** If the clock is before the beginning or the last message of the room `r`, it does not count. */
const beyond = (
  r: string,
) => `greatest(moment, ${r}.head + 1 + case when ${r}.base > moment or exists (select from message m
           where m.video_id = ${r}.video_id and m.cursor = ${r}.head - ${r}.shift and m.at > clock_timestamp())
         then ${UNHELD} else 0 end)`;
const FAR_BEYOND = `greatest(${beyond("room")}, coalesce((
           select case when l.base <> moment or not is_restored then ${beyond("l")} - l.base else 0 end
             + l.head + 1
           from room l where l.video_id = replace(room.video_id, '${REPLAY_SUFFIX}', '') and l.video_id <> room.video_id and l.checkpoint is not null), 0)) - base`;

function moveFunction(create: string, far: string, isDue = "base < moment"): string {
  return `${create} relay_move(here text, is_restored boolean, is_kept boolean) returns int language plpgsql as $$
   declare
     moment bigint := floor(extract(epoch from clock_timestamp()) * 1000);
     rooms int;
   begin
     perform from store where lineage <> here or is_restored for update;
     if not found then return 0; end if;
     update store set lineage = here, generation = greatest(generation + 1, moment);
     if is_kept then return 0; end if;
     update room r set shift = r.shift + far, base = r.base + far, floor = r.floor + far, head = r.head + far,
       epoch = greatest(r.epoch, moment) + 1, owner = null, lease_until = 'epoch'
     from (select video_id, ${far} as far from room
       where checkpoint is not null and (${isDue} or not is_restored)) m
     where r.video_id = m.video_id;
     get diagnostics rooms = row_count;
     return rooms;
   end $$;`;
}

export const MOVING = moveFunction("create function", FAR);
export const MOVING_APART = moveFunction("create or replace function", FAR_APART);

/** Also moves rooms that are younger than the clock, which is wrong then. */
export const MOVING_BEYOND = moveFunction("create or replace function", FAR_BEYOND, "base <> moment");
