/**
 * How long a chat has been hidden. A chat that is hidden for too long is over for good, so the upstream's
 * clock decides: that of the service or its store may be wrong by years at any start.
 */
import type { ClockWitness } from "../base/clock-witness.ts";
import type { Absence } from "../protocol/chat-standing.ts";

export class HiddenTime {
  readonly #witness: Pick<ClockWitness, "now">;
  readonly #hiddenMs: number;

  /** `hiddenMs`: how long a chat may be hidden before it counts as over, in milliseconds. */
  constructor(parts: { egresses: { witness: Pick<ClockWitness, "now"> }; settings: { hiddenMs: number } }) {
    this.#witness = parts.egresses.witness;
    this.#hiddenMs = parts.settings.hiddenMs;
  }

  /** The upstream's wall milliseconds; those of the service if the upstream does not send its own. */
  get upstreamNow(): number {
    return this.#witness.now;
  }

  /**
   * When the chat was last seen not to be hidden, once a page has said this. One that is off is not hidden.
   * `known`: the same before the page; if it is undefined, the time begins now.
   */
  notHiddenAfter({ is }: Absence, known: number | undefined): number {
    return is === "off" ? this.upstreamNow : (known ?? this.upstreamNow);
  }

  /**
   * The standing of a chat of which a page says this: over if it was hidden for too long. `notHiddenAt`: when
   * it was last seen not to be hidden; undefined if not known.
   */
  settled(absence: Absence, notHiddenAt: number | undefined): Absence {
    if (absence.is !== "hidden" || notHiddenAt === undefined) return absence;
    const isTooLong = this.upstreamNow - notHiddenAt >= this.#hiddenMs;
    return isTooLong ? { ...absence, is: "over" } : absence;
  }
}
