/**
 * The times of messages that are stored one after another. Each of the three never falls within a room, so a
 * binary search finds the place of a time.
 */
import { type EncodedMessage, type SaidTimes, saidTimes } from "./stored-message.ts";

/** In milliseconds. */
export interface LastTimes {
  /** When it was stored, by the wall clock. */
  at: number;
  /** When the last of all messages up to this one was said, by the wall clock; 0 if none has such a time. */
  said: number;
  /** The furthest place in the video of all messages up to this one; null if none has one. */
  offset: number | null;
}

/** The times by which a place in a room is found. */
export type TimeKind = keyof LastTimes;

const NEVER: LastTimes = { at: 0, said: 0, offset: null };

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
   * was said, or before the message before it. A copied message keeps its time, but never one after now.
   */
  of(message: EncodedMessage): LastTimes {
    const own = saidTimes(message);
    const { at, said, offset } = this.#last;
    this.#last = {
      at: Math.max(at, Math.min(message.storedAt ?? this.#now, this.#now), own.said ?? 0),
      said: Math.max(said, own.said ?? 0),
      offset: latest(offset, own.offset),
    };
    return this.#last;
  }
}

function latest(before: number | null, own: SaidTimes["offset"]): number | null {
  if (before === null || own === undefined) return own ?? before;
  return Math.max(before, own);
}
