/**
 * Decides which kind of call starts next, and how many of each may be in flight. Polls of live chats go
 * first, because only they lose messages by waiting. But no kind of call starves the others or blocks polls.
 */
import { POLLS_SHARE } from "./chat-load.ts";

/**
 * `poll`: the next poll of a live chat. `opening`: a viewer waits for a chat to be found. `caller`: a client
 * polls by itself. `recovery`: a room loads a page, or retries after one failure. `retry`: it retries after
 * more than one. `look`: a page of a channel, or of a video whose chat is awaited. `replay`: the next poll of
 * a replay. `probe`: a diagnosis, or what a video is.
 */
export const LANES = ["poll", "opening", "caller", "recovery", "retry", "look", "replay", "probe"] as const;
export type Lane = (typeof LANES)[number];

/** Whether no open live chat waits for calls of the lane: these lose no message by waiting. */
export function isDeferrable(lane: Lane): boolean {
  return lane !== "poll" && lane !== "recovery" && lane !== "retry";
}

/** The waiting lane with the lowest number is next; of several, the one that was served longest ago. */
const TURNS = { opening: 2, caller: 2, recovery: 2, retry: 2, look: 3, replay: 4, probe: 4 } as const;
/** Three polls in a row, and one other call: the least that give the polls their share. */
const POLLS_IN_TURN = Math.ceil(POLLS_SHARE / (1 - POLLS_SHARE));
/** A look that waits while this many calls other than polls start goes before them. */
const CALLS_BEFORE_LOOK = 4;

/**
 * Maximum polls in a row while others wait, by the `slack` of the polls: the number of other calls that can
 * start before a poll is too late. At 4 or more, polls can wait, so they alternate with others. Below 2, a
 * poll is nearly too late, and polls that become due meanwhile may be more urgent: others get one call in
 * thirteen, so that none starves. Polls that are much too late (-1 or less) have lost their time already:
 * they get no more than usual. Test: "starts no other call if a poll behind others would be too late".
 */
function maxPolls(slack: number): number {
  if (slack >= 4) return 1;
  return slack < 2 && slack > -1 ? 4 * POLLS_IN_TURN : POLLS_IN_TURN;
}

export class Lanes {
  /** Groups of lanes: all calls in flight of the `lanes` together use at most `slots`. */
  readonly #sharing: readonly { slots: number; lanes: readonly Lane[] }[];
  readonly #inFlight = zeros();
  /** The number of calls other than polls, and which of them was the last one of each lane. */
  #others = 0;
  readonly #lastOf = zeros();
  #pollsInARow = 0;

  /** `concurrency`: maximum number of calls in flight. */
  constructor(concurrency: number) {
    const least = (slots: number) => Math.max(1, Math.floor(slots));
    const [withoutPoll, half] = [least(concurrency - 1), least(concurrency / 2)];
    // Pages that are never answered hold their slots for long. So openings and callers have a slot that rooms
    // in trouble cannot take, and a first recovery one that retries and looks cannot take.
    const again = least(half - 1);
    const slotsOf: Record<Lane, number> = {
      poll: concurrency,
      opening: withoutPoll,
      caller: withoutPoll,
      recovery: half,
      replay: half,
      probe: half,
      retry: again,
      look: again,
    };
    this.#sharing = [...new Set(Object.values(slotsOf))].map((slots) => ({
      slots,
      lanes: LANES.filter((lane) => slotsOf[lane] <= slots),
    }));
  }

  /** Whether no call at all may start now. */
  get areFull(): boolean {
    return !this.#hasSlot("poll");
  }

  /** The waiting lane that may start a call now. `slack`: as in `maxPolls`. */
  next(waiting: ReadonlyMap<Lane, unknown>, slack: number): Lane | undefined {
    const isPollsTurn = this.#pollsInARow < maxPolls(slack);
    const isLooksTurn = this.#others - this.#lastOf.look >= CALLS_BEFORE_LOOK;
    const turns = { ...TURNS, poll: isPollsTurn ? 0 : 5, ...(isLooksTurn && { look: 1 }) };
    return LANES.filter((lane) => waiting.has(lane) && this.#hasSlot(lane)).sort(
      (one, other) => turns[one] - turns[other] || this.#lastOf[one] - this.#lastOf[other],
    )[0];
  }

  started(lane: Lane): void {
    this.#inFlight[lane] += 1;
    this.#pollsInARow = lane === "poll" ? this.#pollsInARow + 1 : 0;
    if (lane !== "poll") this.#lastOf[lane] = ++this.#others;
  }

  landed(lane: Lane): void {
    this.#inFlight[lane] -= 1;
  }

  #hasSlot(lane: Lane): boolean {
    for (const { slots, lanes } of this.#sharing) {
      if (!lanes.includes(lane)) continue;
      const inFlight = lanes.reduce((sum, other) => sum + this.#inFlight[other], 0);
      if (inFlight >= slots) return false;
    }
    // A bootstrap makes its calls one after another: a probe must not take the slot of the next one.
    return lane !== "probe" || this.#inFlight.opening + this.#inFlight.caller === 0;
  }
}

function zeros(): Record<Lane, number> {
  return { poll: 0, opening: 0, caller: 0, recovery: 0, retry: 0, look: 0, replay: 0, probe: 0 };
}
