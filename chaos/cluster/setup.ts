/** What a run is like, drawn by its seed: clocks, the way out to the upstream, and how many rooms ask how often. */
import { Random } from "../../src/simulator/random.ts";
import { canShiftClocks } from "./clocks.ts";

/** Scaled down, so that minutes hold hundreds of take-overs. */
export const LEASE_MS = 1000;
/** Longer than it may take until a room that nobody watches elsewhere is taken up, so that none is released before. */
const GRACE_MS = 6000;
const SHARED_SHARE = 1 / 3;
const SPACING_MS = 50;
/** More than half the spacing: whoever counts from an answer's coming is told from who counts from its question. */
const FAR_MS = 30;

export interface Setup {
  /** How far the clock of each instance is off; empty where it is right. */
  clocks: readonly string[];
  /** Between two calls of all instances, where they share an address. */
  sharedSpacingMs: number | undefined;
  /** How long each instance's line to the database is, one way. */
  distancesMs: readonly number[];
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
  if (!random.chance(SHARED_SHARE)) {
    const distancesMs = [0, 0, 0];
    return {
      clocks,
      sharedSpacingMs: undefined,
      distancesMs,
      quietRooms: 60,
      busyMs: 60,
      quietMs: 1000,
      visitMs: 500,
    };
  }
  // What is shared carries so many calls a second and no more: fewer rooms, which ask less often.
  const distancesMs = [0, 0, 0].with(random.below(3), FAR_MS);
  return {
    clocks,
    sharedSpacingMs: SPACING_MS,
    distancesMs,
    quietRooms: 24,
    busyMs: 1000,
    quietMs: 4000,
    visitMs: 2500,
  };
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
