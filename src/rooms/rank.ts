/**
 * Whose calls go first where calls are too late already: those of recorded rooms, then of watched ones, then of lingering
 * ones, and of two alike those of the livelier chat. A call waits longer by a bounded time only, so none starves.
 */

const UNRECORDED_PENALTY_MS = 2000;
const UNWATCHED_PENALTY_MS = 2000;
const QUIET_PENALTY_MS = 1000;

interface Ranked {
  isRecorded: boolean;
  isWatched: boolean;
  /** Whether nothing new has come for minutes. */
  isQuiet: boolean;
}

/** By how much a room's late calls stand behind those of a recorded, lively room, in milliseconds. */
export function priorityDelayMs({ isRecorded, isWatched, isQuiet }: Ranked): number {
  const rankMs = isRecorded ? 0 : UNRECORDED_PENALTY_MS + (isWatched ? 0 : UNWATCHED_PENALTY_MS);
  return rankMs + (isQuiet ? QUIET_PENALTY_MS : 0);
}
