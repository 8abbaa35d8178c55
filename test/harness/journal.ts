/**
 * The journal of a run: its log line by line, a count of each kind of event, and the first violation. The
 * same seed writes the same journal.
 */
import type { Reported } from "./promises.ts";

/** A broken promise; it ends the run. */
export interface Violation {
  promise: Reported;
  /** Virtual time since the run began, in milliseconds. */
  atMs: number;
  /** The video of the room in question, or "". */
  videoId: string;
  what: string;
}

export class Journal {
  readonly lines: string[] = [];
  readonly counts = new Map<string, number>();
  violation: Violation | undefined;
  readonly #elapsedMs: () => number;

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs;
  }

  note(what: string): void {
    this.lines.push(`${this.#elapsedMs().toFixed(3)} ${what}`);
  }

  count(name: string, times = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + times);
  }

  /** A branch was taken. */
  mark(mark: string): void {
    this.note(`mark ${mark}`);
    this.count(mark);
  }

  /** Only the first violation is kept: later ones may follow from it. */
  violate(promise: Reported, videoId: string, what: string): void {
    if (this.violation) return;
    this.note(`VIOLATION ${promise}: ${videoId} ${what}`);
    this.violation = { promise, atMs: this.#elapsedMs(), videoId, what };
  }

  /** The last lines that name the room, or the last of all if `videoId` is "". */
  lastAbout(videoId: string, lines: number): string[] {
    return this.lines.filter((line) => line.includes(videoId)).slice(-lines);
  }
}
