/** What a run did, line by line, how often each thing happened, and what was wrong: the same seed writes the same. */

/** A promise that was broken: it ends the run. */
export interface Violation {
  /** Virtual time since the run began, in milliseconds. */
  atMs: number;
  /** The room that it is about, or "". */
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
  mark(mark: string): undefined {
    this.note(`mark ${mark}`);
    this.count(mark);
  }

  /** The first one stands: what follows it may follow from it. */
  violate(videoId: string, what: string): void {
    if (this.violation) return;
    this.note(`VIOLATION ${videoId} ${what}`);
    this.violation = { atMs: this.#elapsedMs(), videoId, what };
  }

  /** The last lines that name the room, or the last of all where `videoId` is "". */
  lastAbout(videoId: string, lines: number): string[] {
    return this.lines.filter((line) => line.includes(videoId)).slice(-lines);
  }
}
