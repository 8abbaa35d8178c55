/** The database's part of a pace that instances share, without a database. */
import type { Clock } from "../../src/base/clock.ts";
import type { SharedPace } from "../../src/base/shared-pace.ts";

/**
 * How long a question takes to the database, and its answer back, in milliseconds: once each, the last one
 * for all that follow.
 */
export type Way = readonly (readonly [thereMs: number, backMs: number])[];

export const NEAR: Way = [[1, 1]];

/**
 * The pace of one egress: the result gives it to a further instance, at the end of its way.
 * `databaseAheadMs`: by how much the clock of the database is ahead of that of the instances.
 */
export function sharedBy(clock: Clock, databaseAheadMs = 0): (way?: Way) => SharedPace {
  let nextAt = 0;
  const demands = new Map<object, number>();
  return (way = NEAR) => {
    let asked = 0;
    const pace: SharedPace = {
      async reserve({ spacingMs, aheadMs, pollsPerSecond }) {
        const [thereMs, backMs] = way[Math.min(asked++, way.length - 1)] ?? [0, 0];
        await clock.sleep(thereMs);
        const now = clock.monotonic() + databaseAheadMs;
        const startAt = Math.max(nextAt, now + aheadMs);
        nextAt = startAt + spacingMs;
        demands.set(pace, pollsPerSecond);
        const others = [...demands].filter(([other]) => other !== pace).map(([, polls]) => polls);
        const othersPollsPerSecond = others.reduce((sum, polls) => sum + polls, 0);
        await clock.sleep(backMs);
        const cooldowns = { cooldownMs: 0, pageCooldownMs: 0 };
        return { now, startAt, ...cooldowns, othersPollsPerSecond, otherInstances: others.length };
      },
      coolDown: async () => {},
    };
    return pace;
  };
}
