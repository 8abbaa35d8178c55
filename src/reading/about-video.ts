/**
 * Keeps with a video's rooms what pages say of it. No page is loaded for that, with one exception: a popout
 * page says nothing of it, so a room whose video is still unknown once it has been read for a moment asks
 * `next`, once, in the lane `probe`. The answer is kept, even if it says nothing; without one, it asks again
 * after a minute, and then after twice the last wait.
 */

import type { Clock } from "../base/clock.ts";
import { backoffMs } from "../base/retry.ts";
import { type ChatKey, chatKey, chatKeys, chatNamed } from "../protocol/chat-key.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import type { Store } from "../store/port.ts";
import { ifUnavailable } from "../store/store-error.ts";
import { readVideo, videoText } from "../store/stored-video.ts";
import { background } from "../telemetry/background.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { RoomEgress } from "../upstream/egress/room-egress.ts";
import type { Credentials } from "../upstream/page/credentials.ts";
import { mergedFacts } from "../upstream/page/told-video.ts";
import type { Position } from "../upstream/position.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";

/** The calls of the opening, and the first polls, come before. */
const ASK_AFTER_MS = 2000;
/** The waits after calls that failed. */
const RETRY_WAITS = { firstMs: 60_000, maxMs: Number.POSITIVE_INFINITY };

type VideoStore = Pick<Store, "getRoom" | "setVideo">;

interface AboutVideoParts {
  store: VideoStore;
  egress: Pick<RoomEgress, "liveChat">;
  clock: Clock;
  telemetry: Telemetry;
}

/**
 * Keeps what a page has said with the rooms of the video, if there are any. While the store is unavailable,
 * nothing is kept: the next page, if any, says it again.
 */
export async function keepVideo(
  videoId: string,
  told: VideoFacts | undefined,
  store: VideoStore,
): Promise<void> {
  if (!told) return;
  for (const key of chatKeys(videoId)) {
    const room = await store.getRoom(key).catch(ifUnavailable(undefined));
    if (!room) continue;
    const text = videoText(mergedFacts(readVideo(room.video), told));
    if (text !== room.video) await store.setVideo(key, text).catch(ifUnavailable(undefined));
  }
}

export class AboutVideo {
  readonly #videoId: string;
  readonly #parts: AboutVideoParts;
  /** On the monotonic clock; infinite while it is asked, and once that is done. */
  #askAt: number;
  #failures = 0;

  constructor(videoId: string, parts: AboutVideoParts) {
    this.#videoId = videoId;
    this.#parts = parts;
    this.#askAt = parts.clock.monotonic() + ASK_AFTER_MS;
  }

  /** A page was loaded. */
  told(video: VideoFacts | undefined): Promise<void> {
    return keepVideo(this.#videoId, video, this.#parts.store);
  }

  /** The room was read up to this position. When it is time, and no page has said anything, asks. */
  read({ chatType, credentials }: Position, signal: AbortSignal): void {
    if (this.#parts.clock.monotonic() < this.#askAt) return;
    this.#askAt = Number.POSITIVE_INFINITY;
    const key = chatKey(this.#videoId, chatNamed(chatType));
    void background("what a video is", this.#parts, signal, () => this.#ask(key, credentials, signal));
  }

  async #ask(key: ChatKey, credentials: Credentials, signal: AbortSignal): Promise<void> {
    const { store, egress } = this.#parts;
    const room = await store.getRoom(key).catch(ifUnavailable(undefined));
    if (room && room.video !== null) return;
    try {
      const options = { lane: "probe", maxCooldownMs: 0, signal } as const;
      if (room)
        return await this.told((await egress.liveChat.about(this.#videoId, credentials, options)) ?? {});
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
    }
    this.#askAt = this.#parts.clock.monotonic() + backoffMs(RETRY_WAITS, this.#failures++);
  }
}
