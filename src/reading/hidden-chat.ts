/**
 * How long a chat has been hidden. A chat that is hidden for too long is over for good, so the upstream's
 * clock decides: that of the service or its store may be wrong by years at any start.
 */
import type { ClockWitness } from "../base/clock-witness.ts";
import type { Absence } from "../protocol/chat-standing.ts";

export interface HiddenSettings {
  /** A chat counts as over if it was hidden for this long, in milliseconds. */
  hiddenMs: number;
}

/** The witness of the upstream's wall clock, in milliseconds since 1970. */
interface WitnessParts {
  egresses: { witness: Pick<ClockWitness, "now"> };
}

/**
 * When the chat was last seen not to be hidden, once a page has said this. One that is off is not hidden.
 * `known`: the same before the page; if it is undefined, the time begins now.
 */
export function notHiddenAfter({ is }: Absence, known: number | undefined, parts: WitnessParts): number {
  const { now } = parts.egresses.witness;
  return is === "off" ? now : (known ?? now);
}

/**
 * The absence that a page shows, or `over` in its place if the chat has been hidden for too long.
 * `notHiddenAt`: when it was last seen not to be hidden; undefined if not known.
 */
export function overIfLongHidden(
  absence: Absence,
  notHiddenAt: number | undefined,
  { egresses, settings }: WitnessParts & { settings: HiddenSettings },
): Absence {
  if (absence.is !== "hidden" || notHiddenAt === undefined) return absence;
  const isTooLong = egresses.witness.now - notHiddenAt >= settings.hiddenMs;
  return isTooLong ? { ...absence, is: "over" } : absence;
}
