/**
 * The functions of the owner's writes, each of which begins with the fence. `relay_append_3` drops the
 * messages whose ids are stored already, numbers the others, and moves the checkpoint. The checkpoint's
 * time is that of its writing, `written`, as an append may arrive late, and a room that is taken over must
 * not seem read until then. `relay_finish` ends the room. A release by the instance that has no viewers
 * left makes the room free instead, for another owner, as long as another instance has some.
 */

/**
 * `relay_append_3` stores each message with the times of `MessageTimes`, and returns when each added one was
 * stored, in milliseconds. `own_at`, `own_said`, `own_offset`: when each message was stored first, if another
 * store has kept it, and its times, in milliseconds. The clock counts as no earlier than `earliest`, in
 * milliseconds.
 */
export const APPENDING = `create function relay_append_3(
    v text, e bigint, expected bigint, ids text[], bodies text[], more text[], cp text, ttl interval, written timestamptz,
    earliest float8, own_at float8[], own_said float8[], own_offset float8[]
  ) returns table (epoch bigint, head bigint, added int[], times float8[]) language plpgsql as $$
  #variable_conflict use_column
  declare
    stored int[] := '{}';
    stored_at float8[] := '{}';
    moved bigint;
    moment timestamptz;
    last message;
  begin
    select shift into moved from room where video_id = v and epoch = e and head = expected and owner is not null
      for no key update;
    if not found then
      return query select r.epoch, r.head, null::int[], null::float8[] from room r where r.video_id = v;
      return;
    end if;
    if cardinality(ids) > 0 then
      moment := greatest(clock_timestamp(), to_timestamp(earliest / 1000));
      select * into last from message where video_id = v and cursor = expected - moved;
      with timed as (
        select b.id, b.body, b.details, b.ord,
          greatest(last.at, max(greatest(least(to_timestamp(b.own_at / 1000), moment), to_timestamp(b.own_said / 1000)))
            over so_far) as at,
          greatest(coalesce(last.said, 0), max(b.own_said) over so_far)::bigint as said,
          greatest(last.offset_ms, max(b.own_offset::bigint) over so_far) as offset_ms
        from unnest(ids, bodies, more, own_at, own_said, own_offset) with ordinality
          as b (id, body, details, own_at, own_said, own_offset, ord)
        window so_far as (order by b.ord)
      ), fresh as (
        select ord, id, body, details, at, said, offset_ms, expected - moved + row_number() over (order by ord) as cursor
        from (select distinct on (t.id) t.* from timed t order by t.id, t.ord) once
        where not exists (select from message m where m.video_id = v and m.id = once.id)
      ), inserted as (
        insert into message (video_id, cursor, id, body, details, at, said, offset_ms)
        select v, cursor, id, body, details, at, said, offset_ms from fresh order by cursor
      )
      select coalesce(array_agg(ord::int order by ord), '{}'),
          coalesce(array_agg(round(extract(epoch from at) * 1000)::float8 order by ord), '{}')
        into stored, stored_at from fresh;
    end if;
    return query update room r set head = expected + cardinality(stored), checkpoint = cp,
        checkpoint_at = least(clock_timestamp(), written), lease_until = clock_timestamp() + ttl, state = 'polling',
        detail = null, final_at = null
      where r.video_id = v returning r.epoch, r.head, stored, stored_at;
  end $$;

  create function relay_finish(v text, e bigint, final text, what text)
  returns table (epoch bigint, head bigint, outcome text) language plpgsql as $$
  #variable_conflict use_column
  declare me text;
  begin
    select owner into me from room where video_id = v and epoch = e and owner is not null and checkpoint is not null
      for no key update;
    if not found then
      return query select r.epoch, r.head, 'fenced' from room r where r.video_id = v;
    elsif final = 'released' and exists (select from interest i
        where i.video_id = v and i.instance <> me and i.viewers > 0 and i.until > clock_timestamp()) then
      return query update room r set owner = null, epoch = e + 1, lease_until = 'epoch'
        where r.video_id = v returning r.epoch, r.head, 'free';
    else
      return query update room r set state = final, detail = what, final_at = clock_timestamp(), owner = null,
          lease_until = 'epoch'
        where r.video_id = v returning r.epoch, r.head, 'final';
    end if;
  end $$;`;
