/**
 * Whose calls go first where calls wait: those of recorded rooms, then of watched ones, then of lingering ones, and of
 * two rooms alike those of the livelier; newcomers from another egress come last. A call stands back by a bounded time and then has its turn, so none starves.
 */

const UNRECORDED_MS = 2000;
const UNWATCHED_MS = 2000;
const QUIET_MS = 1000;
/** What it missed is missed; those that are there already are on time. */
const NEWCOMER_MS = 3000;

interface Ranked {
  isRecorded: boolean;
  isWatched: boolean;
  /** Whether nothing new has come for minutes. */
  isQuiet: boolean;
  /** Whether it comes from another egress, and has not been read by this one yet. */
  isNewcomer: boolean;
}

/** How much later than due the calls of a room count among those that wait, in milliseconds. */
export function standsBack({ isRecorded, isWatched, isQuiet, isNewcomer }: Ranked): number {
  const rankMs = isRecorded ? 0 : UNRECORDED_MS + (isWatched ? 0 : UNWATCHED_MS);
  return rankMs + (isQuiet ? QUIET_MS : 0) + (isNewcomer ? NEWCOMER_MS : 0);
}
