/**
 * The pace of an egress that instances share. The table `egress` has the time of its next call and its
 * cooldowns; `egress_demand` has the demand of each instance's rooms until it stops, or expires when the
 * instance has died.
 */
import type { Reservation, SharedPace } from "../../base/shared-pace.ts";
import type { Database } from "./pools.ts";

/** How long an instance's last demand counts after its last call. */
const DEMAND_MS = 30_000;

/** SQL for the milliseconds until a time; 0 for a time in the past or '-infinity'. */
const leftMs = (column: string) =>
  `case when ${column} > clock_timestamp() then extract(epoch from ${column} - clock_timestamp()) * 1000 else 0 end::float8`;

/**
 * Limits `next_at` to a minute ahead: a later time comes from a clock that was set back, not from a queue of
 * instances.
 */
const RESERVE = `with demand as (
    insert into egress_demand as d (name, instance, polls_per_second, until)
    values ($1, $2, $4, clock_timestamp() + ${DEMAND_MS} * interval '1 ms')
    on conflict (name, instance) do update set polls_per_second = excluded.polls_per_second, until = excluded.until
  ), gone as (
    delete from egress_demand where name = $1 and until < clock_timestamp() - interval '1 hour'
  ), turn as (
    insert into egress as e (name, next_at) values ($1, clock_timestamp() + ($3::float8 + $5) * interval '1 ms')
    on conflict (name) do update set next_at = $3 * interval '1 ms' + greatest(
      least(e.next_at, clock_timestamp() + interval '1 minute'), clock_timestamp() + $5 * interval '1 ms')
    returning next_at - $3 * interval '1 ms' as at, cooldown_until, pages_until
  ), others as (
    select count(*)::int as instances, coalesce(sum(polls_per_second), 0)::float8 as polls
    from egress_demand where name = $1 and instance <> $2 and until > clock_timestamp()
  )
  select (extract(epoch from clock_timestamp()) * 1000)::float8 as now,
    (extract(epoch from at) * 1000)::float8 as "startAt",
    ${leftMs("cooldown_until")} as "cooldownMs",
    ${leftMs("pages_until")} as "pageCooldownMs",
    polls as "othersPollsPerSecond", instances as "otherInstances"
  from turn, others`;

const COOL_DOWN = `insert into egress as e (name, next_at, cooldown_until, pages_until)
  select $1, clock_timestamp(), case when $3 then '-infinity' else until end, case when $3 then until else '-infinity' end
  from (select clock_timestamp() + $2 * interval '1 ms' as until) u
  on conflict (name) do update set cooldown_until = greatest(e.cooldown_until, excluded.cooldown_until),
    pages_until = greatest(e.pages_until, excluded.pages_until)`;

const LEAVE = "delete from egress_demand where instance = $1";

/**
 * Ends the demand of an instance that stops, because the instances that take its rooms report the same one.
 * Rejects as `reserve` does.
 */
export async function leavePace(instance: string, connections: Database): Promise<void> {
  await connections.query("writes", LEAVE, [instance]);
}

export function paceOf(egress: string, instance: string, connections: Database): SharedPace {
  return {
    async reserve({ spacingMs, aheadMs, pollsPerSecond }) {
      const values = [egress, instance, spacingMs, pollsPerSecond, aheadMs];
      const [row] = await connections.query<Reservation>("writes", RESERVE, values);
      if (!row) throw new Error("a reservation gave no row");
      return row;
    },
    async coolDown(leftMs, isPage) {
      await connections.query("writes", COOL_DOWN, [egress, leftMs, isPage]);
    },
  };
}
