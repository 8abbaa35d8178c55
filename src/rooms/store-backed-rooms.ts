/** The rooms of an instance with a store: it reads their chats, or follows the instances that do. */
import { isOver } from "../protocol/chat.ts";
import { longestIntervalMs } from "../reading/interval-rules.ts";
import { type StoredChat, storedChats } from "../serving/chat-choice.ts";
import { Room } from "../serving/room.ts";
import type { OpeningTurn } from "../upstream/egress/pool.ts";
import { FollowedRoom } from "./followed-room.ts";
import { acquireRoom } from "./opening/acquire-room.ts";
import { isResumable, type OwnedRoomParts } from "./owned-room.ts";
import type { Acquired, Followed, RoomApplicant, RoomSources } from "./sources.ts";

export class StoreBackedRooms implements RoomSources {
  readonly census = { viewers: 0 };
  readonly #parts: OwnedRoomParts;

  constructor(parts: Omit<OwnedRoomParts, "census">) {
    this.#parts = { ...parts, census: this.census };
  }

  get ownership() {
    return this.#parts.store.ownership;
  }

  get isBlocked(): boolean {
    return this.#parts.store.health.isBlocked;
  }

  get longestIntervalMs(): number {
    return longestIntervalMs(this.#parts.settings);
  }

  acquire(videoId: string, applicant: RoomApplicant, signal: AbortSignal): Promise<Acquired> {
    return acquireRoom(videoId, applicant, this.#parts, signal);
  }

  follow(room: Room, restMs: number): Followed {
    return new FollowedRoom(room, this.#parts, restMs);
  }

  async stored(videoId: string): Promise<StoredChat[]> {
    const stored = await storedChats(this.#parts.store, videoId);
    return stored.map((room) => ({
      ...room,
      is: isOver(room.end) ? "ended" : isResumable(room, this.#parts) ? "resumable" : "left",
    }));
  }

  serve({ key, head }: StoredChat): Room {
    return new Room(key, head, this.#parts);
  }

  async unreadiness(): Promise<string[]> {
    const { store } = this.#parts;
    return (await store.isReady()) ? [] : [`the store does not work: ${store.health.trouble}`];
  }

  takeOpening(): OpeningTurn | undefined {
    return this.#parts.egresses.takeOpening();
  }
}
