/**
 * Decides which kind of call starts next, and how many of each may be in flight. Polls of live chats go
 * first, because only they lose messages by waiting. But after a few polls in a row another call starts, and
 * others never hold all of several slots, so that no kind of call starves the others or blocks polls.
 */

/**
 * `poll`: the next poll of a live chat. `opening`: a viewer waits for a chat to be found. `caller`: a client
 * polls by itself. `recovery`: a room loads a page, or retries after one failure. `retry`: it retries after
 * more than one. `look`: a page of a channel, or of a video whose chat is awaited. `replay`: the next poll of
 * a replay. `probe`: a diagnosis, or what a video is.
 */
export const LANES = ["poll", "opening", "caller", "recovery", "retry", "look", "replay", "probe"] as const;
export type Lane = (typeof LANES)[number];

/** Maximum polls in a row while others wait. That is 3/4 of all calls; `ChatLoad` plans fewer for polls. */
const POLLS_IN_A_ROW = 3;
/** The maximum while the next poll is about to be too late; not once it is much too late (see `open`). */
const URGENT_POLLS_IN_A_ROW = 12;
/** After this many calls of the four lanes that take turns, a waiting look goes before them. */
const TURNS_IN_A_ROW = 4;
/** A poll that can wait for this many calls takes turns with openings, callers and recoveries. */
const RELAXED_CALLS = 4;

export class Lanes {
  readonly #concurrency: number;
  readonly #inFlight: Record<Lane, number> = {
    poll: 0,
    opening: 0,
    caller: 0,
    recovery: 0,
    retry: 0,
    look: 0,
    replay: 0,
    probe: 0,
  };
  /**
   * In each list, the lane that was served last is at the end. The second list gets the calls that the first
   * does not use.
   */
  #turns: readonly Lane[] = ["opening", "caller", "recovery", "retry"];
  #leftovers: readonly Lane[] = ["replay", "probe"];
  #pollsInARow = 0;
  #turnsInARow = 0;

  /** `concurrency`: maximum number of calls in flight. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /** Whether no call at all may start now. */
  get areFull(): boolean {
    return !this.#hasSlot("poll");
  }

  /**
   * The lanes that may start a call now, the next one first. `slack`: the number of calls that can start
   * before the waiting poll is too late. Below -1 it is much too late, and others must not wait for it.
   */
  open(slack: number): readonly Lane[] {
    const polls = this.#pollsInARow;
    const isLooksTurn = this.#turnsInARow >= TURNS_IN_A_ROW;
    const turns: readonly Lane[] = isLooksTurn ? ["look", ...this.#turns] : [...this.#turns, "look"];
    const isUrgent = slack < 1 && slack > -1 && polls < URGENT_POLLS_IN_A_ROW;
    const order: readonly Lane[] =
      isUrgent || polls === 0 || (polls < POLLS_IN_A_ROW && slack < RELAXED_CALLS)
        ? ["poll", ...turns, ...this.#leftovers]
        : polls < POLLS_IN_A_ROW
          ? [...turns, "poll", ...this.#leftovers]
          : [...turns, ...this.#leftovers, "poll"];
    return order.filter((lane) => this.#hasSlot(lane));
  }

  started(lane: Lane): void {
    this.#inFlight[lane] += 1;
    this.#pollsInARow = lane === "poll" ? this.#pollsInARow + 1 : 0;
    if (this.#turns.includes(lane)) this.#turnsInARow += 1;
    else if (lane === "look") this.#turnsInARow = 0;
    this.#turns = lastInTurn(this.#turns, lane);
    this.#leftovers = lastInTurn(this.#leftovers, lane);
  }

  landed(lane: Lane): void {
    this.#inFlight[lane] -= 1;
  }

  #hasSlot(lane: Lane): boolean {
    const { poll, opening, caller, recovery, retry, look, replay, probe } = this.#inFlight;
    const leftover = look + replay + probe;
    const others = opening + caller + recovery + retry + leftover;
    const half = Math.max(1, Math.floor(this.#concurrency / 2));
    if (poll + others >= this.#concurrency) return false;
    if (lane !== "poll" && others >= Math.max(1, this.#concurrency - 1)) return false;
    // Pages that are never answered hold their slots for long: one is left for openings and callers, and
    // retries and looks leave one for recoveries, too.
    const again = retry + look;
    const mayTryAgain = recovery + again < half && again < Math.max(1, half - 1);
    switch (lane) {
      case "recovery":
        return recovery < half && recovery + again < Math.max(1, this.#concurrency - 2);
      case "retry":
        return mayTryAgain;
      case "look":
        return mayTryAgain && leftover < half && look === 0;
      case "replay":
        return leftover < half;
      case "probe":
        // A bootstrap makes its calls one after another: a probe must not take the slot of the next one.
        return leftover < half && opening + caller === 0;
      default:
        return true;
    }
  }
}

function lastInTurn(turns: readonly Lane[], lane: Lane): readonly Lane[] {
  return turns.includes(lane) ? [...turns.filter((other) => other !== lane), lane] : turns;
}
