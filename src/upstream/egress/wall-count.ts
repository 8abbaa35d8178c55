/**
 * The walls that an egress meets in searches for chats and looks at channels, and what they concern. YouTube
 * may show a sign-in for one video alone, because of its age limit. But if it shows walls for several within
 * minutes, and answers no search in between, it distrusts the address. Only a metric reports this: no room
 * moves for it.
 */
import type { Clock } from "../../base/clock.ts";
import { isRefusal } from "../../protocol/errors.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { wallBehind } from "../upstream-error.ts";

/** This many videos and channels that meet walls in this time, in milliseconds, are not a coincidence. */
const MIN_WALLED = 3;
const ROW_MS = 15 * 60_000;

export class WallCount {
  readonly #egress: string;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** The videos and channels that met a wall since a search was last answered, the latest last, and when. */
  readonly #walled = new Map<string, number>();

  constructor(egress: string, { clock, telemetry }: { clock: Clock; telemetry: Telemetry }) {
    this.#egress = egress;
    this.#clock = clock;
    this.#telemetry = telemetry;
  }

  /** Settles like the search for the chat of a video, or for the streams of a channel; counts its walls. */
  async observe<T extends object>(subject: string, search: Promise<T>): Promise<T> {
    try {
      const found = await search;
      if ("wallOf" in found && found.wallOf) this.#met(subject, found.wallOf === "address");
      else this.#walled.clear();
      return found;
    } catch (error) {
      const wallOf = wallBehind(error);
      if (wallOf) this.#met(subject, wallOf === "address");
      else if (isRefusal(error, "NO_LIVE_CHAT")) this.#walled.clear();
      throw error;
    }
  }

  #met(subject: string, isOfAddress: boolean): void {
    const now = this.#clock.monotonic();
    this.#walled.delete(subject);
    this.#walled.set(subject, now);
    for (const [walled, at] of this.#walled) {
      if (at < now - ROW_MS || this.#walled.size > MIN_WALLED) this.#walled.delete(walled);
    }
    const concerns = isOfAddress || this.#walled.size >= MIN_WALLED ? "address" : "video";
    this.#telemetry.upstream.walled(this.#egress, concerns);
  }
}
