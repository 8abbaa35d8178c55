/**
 * Keeps with a video's rooms what pages tell of it. No page is loaded for that, with one exception: a popout
 * page tells nothing, so a room whose video is still untold a moment after its opening asks `next`, once, and
 * after all other calls. What that tells, even if it is nothing, is kept.
 */
import type { Clock } from "../base/clock.ts";
import { CHATS, type ChatKey, chatKey } from "../protocol/chat-key.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import { ifUnavailable, type Store } from "../store/port.ts";
import { mergedVideo } from "../store/stored-video.ts";
import type { RoomEgress } from "../upstream/egress/room-egress.ts";
import type { Credentials } from "../upstream/page/credentials.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";

/** The calls of the opening, and the first polls, come before. */
const ASK_AFTER_MS = 2000;

interface AboutVideoParts {
  store: Pick<Store, "getRoom" | "setVideo">;
  egress: Pick<RoomEgress, "liveChat">;
  clock: Clock;
}

export class AboutVideo {
  readonly #videoId: string;
  readonly #parts: AboutVideoParts;

  constructor(videoId: string, parts: AboutVideoParts) {
    this.#videoId = videoId;
    this.#parts = parts;
  }

  /** A page was loaded. While the store is unavailable, nothing is kept: the next page tells it again. */
  async told(video: VideoFacts | undefined): Promise<void> {
    if (!video) return;
    const { store } = this.#parts;
    for (const key of CHATS.map((chat) => chatKey(this.#videoId, chat))) {
      const room = await store.getRoom(key).catch(ifUnavailable(undefined));
      const text = room && mergedVideo(room.video, video);
      if (text !== undefined) await store.setVideo(key, text).catch(ifUnavailable(undefined));
    }
  }

  /**
   * Asks for the room that has just been opened, if no page has told anything. Resolves when that is done, or
   * the signal aborts.
   */
  async ask(key: ChatKey, credentials: () => Credentials, signal: AbortSignal): Promise<void> {
    const { store, egress, clock } = this.#parts;
    try {
      await clock.sleep(ASK_AFTER_MS, signal);
      const room = await store.getRoom(key).catch(ifUnavailable(undefined));
      if (room?.video !== null) return;
      const options = { lane: "probe", maxCooldownMs: 0, signal } as const;
      await this.told((await egress.liveChat.about(this.#videoId, credentials(), options)) ?? {});
    } catch (error) {
      if (!signal.aborted && !(error instanceof UpstreamError)) throw error;
    }
  }
}
