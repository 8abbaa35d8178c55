/** The exit codes of all commands; 0 is success. `docs/terminal.md` says what each covers. */
import { constants } from "node:os";

export const EXIT = {
  /** It could not do its work, or not all of it. */
  failed: 1,
  wrongUsage: 2,
  noService: 3,
} as const;

/** What a shell shows for a process that this signal has ended. */
export function exitCodeOf(name: NodeJS.Signals): number {
  return 128 + constants.signals[name];
}
