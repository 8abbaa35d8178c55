/** The properties of a run, drawn by its seed: clocks, egresses, and the numbers and intervals of rooms. */
import { Random } from "../../../simulator/random.ts";
import { canShiftClocks } from "./clocks.ts";

/** Scaled down, so that minutes contain hundreds of take-overs. */
export const LEASE_MS = 1000;
/** Longer than the take-up of a room without viewers elsewhere, so that none is released before. */
export const GRACE_MS = 6000;
const SHARED_SHARE = 1 / 3;
const SPACING_MS = 50;
/**
 * More than half the spacing: distinguishes counting from an answer's arrival from counting from its request.
 */
const FAR_MS = 30;

export interface Setup {
  /** The error of each instance's clock; empty if the clock is right. */
  clocks: readonly string[];
  /** The time between two calls of all instances, if they share an address. */
  sharedSpacingMs: number | undefined;
  /** The one-way latency of each instance's line to the database. */
  distancesMs: readonly number[];
  quietRooms: number;
  /** The intervals that the upstream asks for. */
  busyMs: number;
  quietMs: number;
  /** The time between two visits. */
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
  // A shared address carries 20 calls per second: fewer rooms, with longer intervals. With 24 quiet ones, it
  // is full after a hand-over, and the last rooms are read too late.
  const distancesMs = [0, 0, 0].with(random.below(3), FAR_MS);
  return {
    clocks,
    sharedSpacingMs: SPACING_MS,
    distancesMs,
    quietRooms: 16,
    busyMs: 1000,
    quietMs: 4000,
    visitMs: 2500,
  };
}

/** The settings of every instance. */
export function settingsOf({ sharedSpacingMs }: Setup): Record<string, string> {
  return {
    RELAY_LEASE_MS: String(LEASE_MS),
    RELAY_GRACE_MS: String(GRACE_MS),
    RELAY_DRAIN_MS: "200",
    RELAY_GATE_SPACING_MS: String(sharedSpacingMs ?? 1),
    ...(sharedSpacingMs && { RELAY_EGRESS: "nat=direct" }),
    RELAY_GATE_CONCURRENCY: "16",
    RELAY_MAX_LATENESS_MS: "60000",
    RELAY_CHANNEL_MS: "3000",
    RELAY_POLL_MIN_MS: "5",
    RELAY_POLL_MAX_MS: "5000",
    RELAY_FAILING_MS: "3600000",
    RELAY_LOG_LEVEL: "info",
  };
}
