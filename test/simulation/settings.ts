/** The settings of a run, drawn by its seed. */

import type { InProcessSimulator } from "../../simulator/index.ts";
import { Random } from "../../simulator/random.ts";
import { type Config, toConfig } from "../../src/cli/config.ts";
import { readFlags } from "../../src/cli/flags.ts";
import { SETTINGS, type SettingName } from "../../src/cli/setting-table.ts";
import { SECRET } from "../support/tokens.ts";

/** What the upstream keeps for a late reader. */
export const HOLD = { holdsMs: 10_000, holdsMessages: 200 };

/** The video that needs no token. It belongs to no room of a run. */
export const PUBLIC = "simprobe-01";
/** The video that is recorded. */
export const RECORDED = "recorded-01";

interface DrawnSettings {
  seed: number;
  random: Random;
  /** The number of instances. */
  instances: number;
  concurrencies: readonly number[];
  /** The number of rooms that may be open. */
  maxRooms: number;
}

/** Limits so strict that calls must wait for each other, and times so short that a run sees states end. */
export function drawConfig({ urls }: InProcessSimulator, drawn: DrawnSettings): Config {
  const { seed, random, instances, concurrencies, maxRooms } = drawn;
  const settings: Partial<Record<SettingName, string | number>> = {
    RELAY_STORE: "memory:",
    RELAY_UPSTREAM_URL: urls.main,
    RELAY_UPSTREAM_MUSIC_URL: urls.music,
    RELAY_UPSTREAM_MOBILE_URL: urls.mobile,
    RELAY_EGRESS: drawWays(seed),
    RELAY_GATE_SPACING_MS: random.pick([50, 100, 150]), // at 200 ms, twenty lively chats may be refused
    RELAY_GATE_CONCURRENCY: random.pick(concurrencies),
    RELAY_COOLDOWN_MS: random.pick([2000, 5000]),
    RELAY_GRACE_MS: random.pick([5000, 30_000, 90_000]),
    RELAY_FAILING_MS: random.pick([20_000, 120_000]),
    RELAY_MAX_ROOMS: maxRooms,
    RELAY_RECORD: RECORDED,
    RELAY_PUBLIC: `watch:${PUBLIC}`,
    RELAY_TOKEN_KEY: SECRET,
    RELAY_CHAT_VIEW: new Random(seed, "views").pick(["all", "all", "all", "top"]),
    RELAY_NO_CHAT_MS: random.pick([0, 30_000]),
    RELAY_CHANNEL_MS: new Random(seed, "looks").pick([10_000, 30_000, 60_000]),
    ...(instances > 1 ? drawShared(seed) : {}),
  };
  const texts = Object.entries(settings).map(([name, value]) => [name, String(value)]);
  return toConfig(readFlags(SETTINGS, [], Object.fromEntries(texts)).values);
}

/**
 * `RELAY_EGRESS`: some runs have one address, some several. Drawn from its own sequence, so that the rest of
 * a seed stays the same.
 */
function drawWays(seed: number): string {
  const count = new Random(seed, "addresses").pick([1, 1, 2, 3]);
  return Array.from({ length: count }, (_, i) => (i === 0 ? "direct" : `address-${i}=direct`)).join();
}

/** The settings that only instances with a shared store need. */
function drawShared(seed: number): Partial<Record<SettingName, string | number>> {
  const random = new Random(seed, "shared");
  return {
    RELAY_LEASE_MS: random.pick([6000, 6000, 10_000]),
    RELAY_DRAIN_MS: random.pick([0, 500, 5000]),
  };
}

/** The number of instances that play a seed: one for half of the seeds. */
export function drawInstances(seed: number): number {
  return new Random(seed, "instances").pick([1, 1, 2, 3]);
}
