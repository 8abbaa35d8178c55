/** When a chat's actions are said: work in the background, at a rate, or by the wall clock. */
import type { Clock } from "../src/base/clock.ts";
import type { Spoken } from "./banners.ts";
import type { Generator, Species } from "./generator.ts";

/** Starts work that ends with the signal. */
export function inBackground(signal: AbortSignal, work: (signal: AbortSignal) => Promise<void>): void {
  work(signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** The bounds of a wait: a timer fires at once if it is given more than the longest delay. */
const [SHORTEST_MS, LONGEST_MS] = [50, 2 ** 31 - 1];

/** Calls `say` about `perSecond` times a second, within these bounds, until the signal aborts. */
export async function speakAt(
  perSecond: number,
  clock: Clock,
  stopped: AbortSignal,
  say: () => void,
): Promise<void> {
  while (!stopped.aborted) {
    await clock.sleep(Math.min(Math.max(1000 / perSecond, SHORTEST_MS), LONGEST_MS), stopped);
    say();
  }
}

/**
 * The number of actions that one generator makes: a chat is joined at the beginning of such a block. The demo
 * waits for the actions of a whole one at most, and the authors of a chat are new in each.
 */
const BLOCK = 1000;

/**
 * A chat that has always been going on: which action is said at a time depends only on the wall clock, the
 * rate and the generators. So a simulator that starts later says the same, as if it had never stopped.
 */
export class EndlessTalk {
  readonly #perSecond: number;
  readonly #generatorOf: (block: number) => Generator;
  #generator: Generator | undefined;
  /** The number of actions said since 1970. */
  #said = 0;

  constructor(perSecond: number, generatorOf: (block: number) => Generator) {
    this.#perSecond = perSecond;
    this.#generatorOf = generatorOf;
  }

  /**
   * The actions since the last call, up to `nowMs` (wall time); in the first call, the last `before` ones.
   */
  until(nowMs: number, before: number, kinds: readonly Species[] | undefined): Spoken[] {
    const head = Math.floor((nowMs * this.#perSecond) / 1000);
    const first = this.#generator ? this.#said : head - before;
    if (!this.#generator) this.#said = first - (first % BLOCK);
    const spoken: Spoken[] = [];
    for (; this.#said < head; this.#said++) {
      if (this.#said % BLOCK === 0) this.#generator = this.#generatorOf(this.#said / BLOCK);
      const action = this.#generator?.next((this.#said * 1000) / this.#perSecond, kinds);
      if (action && this.#said >= first) spoken.push(action);
    }
    return spoken;
  }
}
