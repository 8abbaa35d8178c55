/**
 * Computers whose clocks are wrong at a start, by much more than a retention: a board without a battery, or a
 * year that was mistyped.
 */
import type { Random } from "../../simulator/random.ts";
import type { Journal } from "../harness/journal.ts";

export const WRONG_CLOCKS = "wrong clocks at starts";

const DAY_MS = 24 * 3_600_000;
const ERRORS_MS = [40, -40, 3652, -3652].map((days) => days * DAY_MS);

/** The error of a clock at a start, in milliseconds; of half of them 0. */
export function drawClock(random: Random, journal: Journal): number {
  const aheadMs = random.chance(0.5) ? 0 : random.pick(ERRORS_MS);
  if (aheadMs !== 0) {
    journal.count(WRONG_CLOCKS);
    journal.note(`a clock is ahead by ${aheadMs / DAY_MS} days`);
  }
  return aheadMs;
}
