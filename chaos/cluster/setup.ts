/** What a run is like, drawn by its seed: clocks, the way out to the upstream, and how many rooms ask how often. */
import { Random } from "../../src/simulator/random.ts";
import { canShiftClocks } from "./clocks.ts";

/** Scaled down, so that minutes hold hundreds of take-overs. */
export const LEASE_MS = 1000;
/** Longer than it may take until a room that nobody watches elsewhere is taken up, so that none is released before. */
export const GRACE_MS = 6000;
const SHARED_SHARE = 1 / 3;

export interface Setup {
  /** How far the clock of each instance is off; empty where it is right. */
  clocks: readonly string[];
  /** Between two calls of all instances, where they share an address. */
  sharedSpacingMs: number | undefined;
  quietRooms: number;
  /** The waits that the upstream asks for. */
  busyMs: number;
  quietMs: number;
  /** Between two visits. */
  visitMs: number;
}

export function drawSetup(seed: number): Setup {
  const random = new Random(seed, "setup");
  const hours = random.pick(["+1h", "-1h"]);
  const days = random.pick(["+40d", "-40d"]);
  const right = random.below(3);
  const wrong = canShiftClocks ? [hours, days] : ["", ""];
  const clocks = [...wrong.slice(0, right), "", ...wrong.slice(right)];
  // What is shared carries so many calls a second and no more: fewer rooms, which ask less often.
  return random.chance(SHARED_SHARE)
    ? { clocks, sharedSpacingMs: 50, quietRooms: 24, busyMs: 1000, quietMs: 4000, visitMs: 2500 }
    : { clocks, sharedSpacingMs: undefined, quietRooms: 60, busyMs: 60, quietMs: 1000, visitMs: 700 };
}

/** What every instance is told. */
export function settingsOf({ sharedSpacingMs }: Setup): Record<string, string> {
  return {
    RELAY_LEASE_MS: String(LEASE_MS),
    RELAY_GRACE_MS: String(GRACE_MS),
    RELAY_DRAIN_MS: "200",
    RELAY_GATE_SPACING_MS: String(sharedSpacingMs ?? 1),
    ...(sharedSpacingMs && { RELAY_EGRESS: "nat=direct" }),
    RELAY_GATE_CONCURRENCY: "16",
    RELAY_MAX_LATENESS_MS: "60000",
    RELAY_POLL_MIN_MS: "5",
    RELAY_POLL_MAX_MS: "5000",
    RELAY_FAILING_MS: "3600000",
    RELAY_LOG_LEVEL: "info",
  };
}
