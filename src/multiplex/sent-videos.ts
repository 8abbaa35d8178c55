/**
 * What the client of a connection with several chats has of each video. Each is sent once, by the first that
 * names it. When the chat of a requested video ends, a channel of the connection may send the video on.
 */
import { type ChannelPlace, laterOf } from "../protocol/merged-id.ts";
import type { ChatWriter } from "./chat-writer.ts";
import type { VisitOutcome } from "./multiplex-viewer.ts";

export class SentVideos {
  readonly #owners = new Map<string, unknown>();
  /** For the videos of the request and of its places: the cursor up to which the client has everything. */
  readonly #cursors = new Map<string, number | undefined>();
  readonly #outcomes = new Map<string, VisitOutcome>();
  readonly #listeners = new Set<() => void>();

  /** `videoIds`: those that the request names. `places`: where its channels resume. */
  constructor(videoIds: readonly string[], places: readonly (ChannelPlace | undefined)[]) {
    for (const videoId of videoIds) {
      this.#owners.set(videoId, this);
      this.#cursors.set(videoId, undefined);
    }
    for (const place of places.filter((each) => each !== undefined))
      this.#cursors.set(place.videoId, laterOf(this.#cursors.get(place.videoId), place.cursor));
  }

  /** Whether the video is the owner's to send: from now on, if it has been nobody's. */
  isOf(owner: object, videoId: string): boolean {
    return this.#owners.getOrInsert(videoId, owner) === owner;
  }

  /** The cursor up to which the client has the video, whichever chat has sent it. */
  cursorOf(videoId: string): number | undefined {
    return this.#cursors.get(videoId);
  }

  /** The client has the video up to this cursor. */
  moved(videoId: string, cursor: number | undefined): void {
    if (this.#cursors.has(videoId)) this.#cursors.set(videoId, laterOf(this.#cursors.get(videoId), cursor));
  }

  /** How the chat of a video that the request names ended for the connection; undefined if it has not. */
  outcomeOf(videoId: string): VisitOutcome | undefined {
    return this.#outcomes.get(videoId);
  }

  /** The chat of a video that the request names, which this has written, is over for the connection. */
  release({ videoId, cursor }: ChatWriter, outcome: VisitOutcome): void {
    this.moved(videoId, cursor);
    this.#outcomes.set(videoId, outcome);
    this.#owners.delete(videoId);
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls the listener at each release, until it is disposed of. */
  onRelease(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
