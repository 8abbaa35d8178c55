/**
 * The standing of a video's chat, as one value: whatever remembers, refuses, ends or waits for a chat reads
 * it alone. It crosses from an origin to its edges in its own words.
 */
import type { VideoFacts } from "./video-facts.ts";

/**
 * The standing of a chat that is not there to be read:
 * - `over`: its stream has ended, or its replay was read to its end. Final.
 * - `off`: it is switched off, and its stream is live or scheduled.
 * - `hidden`: its video is private, for members, behind a sign-in or a confirmation of age, or cannot be
 *   played, and may still be live.
 * - `none`: the video does not exist, or was never a stream.
 * - `unknown`: a wall, another video's page, a failed load: its standing is not known.
 */
const ABSENCES = ["over", "off", "hidden", "none", "unknown"] as const;

/**
 * What a wall concerns: the whole address if no video can be the reason, as with a consent form; else perhaps
 * one video alone, as with a sign-in because of an age limit.
 */
export type WallOf = "address" | "video";

export interface Absence {
  is: (typeof ABSENCES)[number];
  /** What the page of the video said; a sentence without a full stop. */
  why: string;
  /** Set if the upstream showed a wall. */
  wallOf?: WallOf | undefined;
  /** What pages have said of the video meanwhile. */
  video?: VideoFacts | undefined;
}

/** A video's chat: there, with what a search has found, or not. */
export type Standing<Found> = ({ is: "there" } & Found) | Absence;

/**
 * The standing of a chat by its stored record alone:
 * - `ended`: it was read to its end, so that nothing follows.
 * - `resumable`: it was read within the grace time, so it continues from its checkpoint.
 * - `left`: nobody has read it for the grace time, or only an origin knows; its page says whether it goes on.
 */
export type StoredStanding = "ended" | "resumable" | "left";

/** A chat that may come back at any time, so that its room waits for it. */
export type AwaitedAbsence = Absence & { is: "off" | "hidden" };

export function mayReturn(absence: Absence): absence is AwaitedAbsence {
  return absence.is === "off" || absence.is === "hidden";
}

/** Whether it is certain that the chat has ended, or that there never was one. */
export function isFinal({ is }: Pick<Absence, "is">): boolean {
  return is === "over" || is === "none";
}

const FOUND_NONE = "No live chat found: ";
const FOUND_NOT_SURELY_NONE = "No live chat found, but there may be one: ";

/** The absence in the words of the error NO_LIVE_CHAT. */
export function sentenceOf({ is, why }: Absence): string {
  return `${is === "unknown" ? FOUND_NOT_SURELY_NONE : FOUND_NONE}${why}`;
}

/** The header of the error NO_LIVE_CHAT with the standing of the chat. */
export const STANDING_HEADER = "chat-standing";

/** The absence in an error of another instance: the value of its header, and its words. */
export function absenceIn(header: unknown, words: string): Absence {
  const is = ABSENCES.find((known) => known === header) ?? "unknown";
  const begins = is === "unknown" ? FOUND_NOT_SURELY_NONE : FOUND_NONE;
  return { is, why: words.startsWith(begins) ? words.slice(begins.length) : words };
}

/** A viewer cannot enter: its chat is not there. The routes turn it into NO_LIVE_CHAT. */
export class ChatAbsent extends Error {
  override readonly name = "ChatAbsent";
  readonly absence: Absence;
  /** How long the service remembers it, in milliseconds; undefined if it does not. */
  readonly retryAfterMs: number | undefined;

  constructor(absence: Absence, retryAfterMs?: number) {
    super(sentenceOf(absence));
    this.absence = absence;
    this.retryAfterMs = retryAfterMs;
  }
}
