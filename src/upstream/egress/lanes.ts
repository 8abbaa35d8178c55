/**
 * Decides which kind of call starts next, and how many of each may be in flight. Polls of live chats go
 * first, because only they lose messages by waiting. But no kind of call starves the others or blocks polls.
 */
import { POLLS_SHARE } from "./chat-load.ts";

/** How many calls in flight a lane may use, of `concurrency` in all. */
type Slots = (concurrency: number) => number;

const atLeastOne = (slots: number) => Math.max(1, Math.floor(slots));
const all: Slots = (concurrency) => concurrency;
const allButOne: Slots = (concurrency) => atLeastOne(concurrency - 1);
const half: Slots = (concurrency) => atLeastOne(concurrency / 2);
/** Pages that are never answered hold their slots for long: these leave one slot of `half`. */
const halfButOne: Slots = (concurrency) => atLeastOne(half(concurrency) - 1);

/**
 * The lanes. `turn`: of the waiting lanes, the one with the lowest number is next; of several, the one that
 * was served longest ago. A poll's turn follows from `maxPolls`. `slots`: lanes with the same limit share it,
 * also with those of a lower limit. So openings and callers have slots that rooms in trouble cannot take, and
 * first recoveries one that retries and looks cannot take. `isDeferrable`: no open live chat waits for its
 * calls, which lose no message by waiting.
 */
const TABLE = {
  /** The next poll of a live chat. */
  poll: { turn: 0, slots: all, isDeferrable: false },
  /** A viewer waits for a chat to be found. */
  opening: { turn: 2, slots: allButOne, isDeferrable: true },
  /** A client polls by itself. */
  caller: { turn: 2, slots: allButOne, isDeferrable: true },
  /** A room loads a page, or retries after one failure. */
  recovery: { turn: 2, slots: half, isDeferrable: false },
  /** It retries after more than one. */
  retry: { turn: 2, slots: halfButOne, isDeferrable: false },
  /** A page of a channel, or of a video whose chat is awaited. */
  look: { turn: 3, slots: halfButOne, isDeferrable: true },
  /** The next poll of a replay. */
  replay: { turn: 4, slots: half, isDeferrable: true },
  /** A diagnosis, the trial of an egress, or what a video is. */
  probe: { turn: 4, slots: half, isDeferrable: true },
} satisfies Record<string, { turn: number; slots: Slots; isDeferrable: boolean }>;

export type Lane = keyof typeof TABLE;
/** The most urgent one first. */
export const LANES = Object.keys(TABLE) as readonly Lane[];

/** Whether no open live chat waits for calls of the lane. */
export function isDeferrable(lane: Lane): boolean {
  return TABLE[lane].isDeferrable;
}

/** The turn of a poll when others are due. */
const AFTER_ALL = 5;
/** The turn of a look after this many calls other than polls since the last look: before these. */
const LOOK_DUE = 1;
const CALLS_BEFORE_LOOK = 4;
/** Three polls in a row, and one other call: the least that give the polls their share. */
const POLLS_IN_TURN = Math.ceil(POLLS_SHARE / (1 - POLLS_SHARE));

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
    const slotsOf = (lane: Lane) => TABLE[lane].slots(concurrency);
    this.#sharing = [...new Set(LANES.map(slotsOf))].map((slots) => ({
      slots,
      lanes: LANES.filter((lane) => slotsOf(lane) <= slots),
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
    const turnOf = (lane: Lane) => {
      if (lane === "poll" && !isPollsTurn) return AFTER_ALL;
      return lane === "look" && isLooksTurn ? LOOK_DUE : TABLE[lane].turn;
    };
    return LANES.filter((lane) => waiting.has(lane) && this.#hasSlot(lane)).sort(
      (one, other) => turnOf(one) - turnOf(other) || this.#lastOf[one] - this.#lastOf[other],
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
  return Object.fromEntries(LANES.map((lane) => [lane, 0])) as Record<Lane, number>;
}
