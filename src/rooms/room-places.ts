/**
 * The places of an instance's rooms: the limit of rooms counts for live chats, and again for replays. A chat
 * takes its place once it is found, before its room is open, and has none after its end.
 */
import { atCapacity } from "../protocol/capacity.ts";
import type { ChatType } from "../protocol/chat.ts";
import type { Reserve } from "../upstream/egress/pool.ts";

export class RoomPlaces {
  readonly #max: number;
  /** By type, the videos whose chats are read or followed. */
  readonly #taken = { liveChatRenderer: new Set<string>(), liveChatReplayRenderer: new Set<string>() };
  #reserve: Reserve | undefined;

  /** `max`: the maximum number of chats of one type. */
  constructor(max: number) {
    this.#max = max;
  }

  /**
   * From now on, other chats leave these places free for recordings. So a recording is refused only if
   * recordings alone fill the limit.
   */
  setReserve(reserve: Reserve): void {
    this.#reserve = reserve;
  }

  /** The number of places that are kept for recordings whose chats are not open. */
  get kept(): number {
    return this.#reserve?.places() ?? 0;
  }

  /** Throws `RelayError` CAPACITY if no place of this type is left for the video. */
  assertFree(videoId: string, chatType: ChatType): void {
    const taken = this.#taken[chatType];
    const others = this.#isKeptFor(videoId)
      ? [...taken].filter((other) => other !== videoId && this.#isKeptFor(other)).length
      : taken.size - Number(taken.has(videoId)) + this.kept;
    if (others >= this.#max) throw atCapacity("rooms");
  }

  /**
   * The chat is found, and will now be read: it has its place from here on. Throws as `assertFree` does; then
   * it has the place until its opening is over.
   */
  take(videoId: string, chatType: ChatType): void {
    this.set(videoId, chatType);
    this.assertFree(videoId, chatType);
  }

  /** The chat of the video that is read or followed has this type; undefined: there is none. */
  set(videoId: string, chatType: ChatType | undefined): void {
    for (const videos of Object.values(this.#taken)) videos.delete(videoId);
    if (chatType) this.#taken[chatType].add(videoId);
  }

  #isKeptFor(videoId: string): boolean {
    return this.#reserve?.isFor(videoId) ?? false;
  }
}
