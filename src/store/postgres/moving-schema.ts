/**
 * The function that moves all rooms, with their messages, to cursors that no client can hold. A video's
 * replay moves behind its live chat, so that their cursors stay apart. Rooms that are younger than the clock
 * move, too: it is wrong then.
 */
import { REPLAY_SUFFIX } from "../../protocol/chat-key.ts";
import { UNHELD } from "../port.ts";

/** If the clock is before the beginning or the last message of the room `r`, it does not count. */
const beyond = (
  r: string,
) => `greatest(moment, ${r}.head + 1 + case when ${r}.base > moment or exists (select from message m
           where m.video_id = ${r}.video_id and m.cursor = ${r}.head - ${r}.shift and m.at > clock_timestamp())
         then ${UNHELD} else 0 end)`;
const FAR = `greatest(${beyond("room")}, coalesce((
           select case when l.base <> moment or not is_restored then ${beyond("l")} - l.base else 0 end
             + l.head + 1
           from room l where l.video_id = replace(room.video_id, '${REPLAY_SUFFIX}', '') and l.video_id <> room.video_id and l.checkpoint is not null), 0)) - base`;

export const MOVING = `create function relay_move(here text, is_restored boolean, is_kept boolean) returns int language plpgsql as $$
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
     from (select video_id, ${FAR} as far from room
       where checkpoint is not null and (base <> moment or not is_restored)) m
     where r.video_id = m.video_id;
     get diagnostics rooms = row_count;
     return rooms;
   end $$;`;
