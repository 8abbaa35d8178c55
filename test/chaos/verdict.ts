/** The results of a run: a count of each kind of event, and the violations. */
import type { Reported } from "../harness/promises.ts";

/** Further ones say nothing new. */
const MAX_VIOLATIONS = 1000;
const MAX_LOG_LINES = 30;
/** Maximum length of a violation; wrong messages may be long. */
const MAX_CHARACTERS = 600;

export class Verdict {
  readonly violations: string[] = [];
  readonly counts = new Map<string, number>();
  /** How long each kind of thing took, in milliseconds. */
  readonly times = new Map<string, number[]>();
  /**
   * How often the service was started: a slow viewer may notice late that the one it was connected to is
   * gone.
   */
  lives = 0;
  /** The latest actions, with the second of the run. */
  readonly log: string[] = [];
  readonly #beganAt = performance.now();
  readonly #over = new AbortController();
  readonly #goesOn: boolean;

  /** `goesOn`: whether the run goes on behind a violation. */
  constructor({ goesOn = false } = {}) {
    this.#goesOn = goesOn;
  }

  /** Aborts at the first violation. */
  get over(): AbortSignal {
    return this.#over.signal;
  }

  count(what: string, times = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + times);
  }

  time(what: string, ms: number): void {
    const times = this.times.get(what);
    if (times) times.push(ms);
    else this.times.set(what, [ms]);
  }

  /** Notes the current action: a violation is reported with the actions before it. */
  note(what: string): void {
    this.log.push(`${((performance.now() - this.#beganAt) / 1000).toFixed(1)} ${what}`);
    if (this.log.length > MAX_LOG_LINES) this.log.shift();
  }

  violate(promise: Reported, what: string): void {
    const text = `${promise}: ${what}`.slice(0, MAX_CHARACTERS);
    if (this.violations.length < MAX_VIOLATIONS) this.violations.push(text);
    if (!this.#goesOn) this.#over.abort(new Error(text));
  }

  /** The counts whose names begin so, together. */
  total(prefix: string): number {
    let sum = 0;
    for (const [name, count] of this.counts) if (name.startsWith(prefix)) sum += count;
    return sum;
  }
}
