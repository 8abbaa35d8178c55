/**
 * The times of messages that are stored one after another. Each of the three never falls within a room, so a
 * binary search finds the place of a time.
 */
import { type EncodedMessage, type SaidTimes, saidTimes } from "./stored-message.ts";

/** In milliseconds. Null: no message up to this one has such a time. */
export interface LastTimes {
  /** When it was stored, by the wall clock. */
  at: number;
  /** When the last of all messages up to this one was said, by the wall clock. */
  said: number | null;
  /** The furthest place in the video of all messages up to this one. */
  offset: number | null;
}

const NEVER: LastTimes = { at: 0, said: null, offset: null };

export class MessageTimes {
  readonly #now: number;
  #last: LastTimes;

  /** `last`: the times of the message before. */
  constructor(now: number, last: LastTimes = NEVER) {
    this.#now = now;
    this.#last = last;
  }

  /**
   * The times of the next message. The clock may be in the past, so no message is stored at a time before it
   * was said, or before the message before it. What another store has kept has not been kept in the future.
   */
  of(message: EncodedMessage): LastTimes {
    const own = saidTimes(message);
    const { at, said, offset } = this.#last;
    this.#last = {
      at: Math.max(at, Math.min(message.storedAt ?? this.#now, this.#now), own.said ?? 0),
      said: latest(said, own.said),
      offset: latest(offset, own.offset),
    };
    return this.#last;
  }
}

function latest(before: number | null, own: SaidTimes["said"]): number | null {
  if (before === null || own === undefined) return own ?? before;
  return Math.max(before, own);
}
