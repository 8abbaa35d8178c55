/**
 * Whose calls go first where calls are too late already: those of recorded rooms, then of watched ones, then of lingering
 * ones, and of two alike those of the livelier chat. A priority is bounded, so none starves.
 */

const RECORDED_MS = 2000;
const WATCHED_MS = 2000;
const LIVELY_MS = 1000;

interface Ranked {
  isRecorded: boolean;
  isWatched: boolean;
  /** Whether nothing new has come for minutes. */
  isQuiet: boolean;
}

/** How much more overdue a room's late calls count than those of a quiet room that lingers, in milliseconds. */
export function priorityMs({ isRecorded, isWatched, isQuiet }: Ranked): number {
  const rankMs = isRecorded ? RECORDED_MS + WATCHED_MS : isWatched ? WATCHED_MS : 0;
  return rankMs + (isQuiet ? 0 : LIVELY_MS);
}
