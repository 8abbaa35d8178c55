/**
 * Which kind of call starts next, and how many of each may be in flight. Polls of live chats go first, for only they
 * lose messages by waiting; but after a few of them in a row another call goes, and others never hold all slots, so that
 * no kind of call can starve the others or stand in the way of polls.
 */

/**
 * `poll`: a live chat is read on. `opening`: a viewer waits for a chat to be found. `caller`: a client polls by itself.
 * `recovery`: a room loads a page, or tries again after a failure. `retry`: it does so after more than one. `replay`: a
 * replay is read on. `probe`: a diagnosis.
 */
export const LANES = ["poll", "opening", "caller", "recovery", "retry", "replay", "probe"] as const;
export type Lane = (typeof LANES)[number];

/** So many polls go before another call that waits: three of four calls are more than capacity plans for polls. */
const POLLS_IN_A_ROW = 3;
/** And so many where the next poll would be too late otherwise: where there are too many polls, that is so again and again. */
const URGENT_POLLS_IN_A_ROW = 12;
/** A poll that can wait for so many calls takes turns with openings, callers and recoveries. */
const RELAXED_CALLS = 4;

export class Lanes {
  readonly #concurrency: number;
  readonly #inFlight: Record<Lane, number> = {
    poll: 0,
    opening: 0,
    caller: 0,
    recovery: 0,
    retry: 0,
    replay: 0,
    probe: 0,
  };
  /** In each of these the lane that was served last stands last; the second takes what the first leaves. */
  #turns: readonly Lane[] = ["opening", "caller", "recovery", "retry"];
  #leftovers: readonly Lane[] = ["replay", "probe"];
  #pollsInARow = 0;

  /** `concurrency`: maximum number of calls in flight. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /**
   * The lanes that may start a call now, the next one first. `slack`: how many calls may go before the poll that waits
   * until it is too late; below -1 it is much too late, and others must not wait for that.
   */
  open(slack: number): readonly Lane[] {
    const polls = this.#pollsInARow;
    const isUrgent = slack < 1 && slack > -1 && polls < URGENT_POLLS_IN_A_ROW;
    const order: readonly Lane[] =
      isUrgent || polls === 0 || (polls < POLLS_IN_A_ROW && slack < RELAXED_CALLS)
        ? ["poll", ...this.#turns, ...this.#leftovers]
        : polls < POLLS_IN_A_ROW
          ? [...this.#turns, "poll", ...this.#leftovers]
          : [...this.#turns, ...this.#leftovers, "poll"];
    return order.filter((lane) => this.#hasSlot(lane));
  }

  started(lane: Lane): void {
    this.#inFlight[lane] += 1;
    this.#pollsInARow = lane === "poll" ? this.#pollsInARow + 1 : 0;
    this.#turns = lastInTurn(this.#turns, lane);
    this.#leftovers = lastInTurn(this.#leftovers, lane);
  }

  landed(lane: Lane): void {
    this.#inFlight[lane] -= 1;
  }

  #hasSlot(lane: Lane): boolean {
    const { poll, opening, caller, recovery, retry, replay, probe } = this.#inFlight;
    const others = opening + caller + recovery + retry + replay + probe;
    const half = Math.max(1, Math.floor(this.#concurrency / 2));
    if (poll + others >= this.#concurrency) return false;
    if (lane !== "poll" && others >= Math.max(1, this.#concurrency - 1)) return false;
    switch (lane) {
      case "recovery":
        return recovery < half;
      case "retry":
        return recovery + retry < half && retry < Math.max(1, half - 1);
      case "replay":
        return replay + probe < half;
      case "probe":
        // A bootstrap makes its calls one after another: the next one must not find the slot taken.
        return replay + probe < half && opening + caller === 0;
      default:
        return true;
    }
  }
}

function lastInTurn(turns: readonly Lane[], lane: Lane): readonly Lane[] {
  return turns.includes(lane) ? [...turns.filter((other) => other !== lane), lane] : turns;
}
