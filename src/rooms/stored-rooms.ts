/** The rooms of an instance with a store: it reads their chats, or follows the instances that do. */
import { closedAt } from "../reading/batch/checkpoint.ts";
import type { Room } from "../serving/room.ts";
import type { OpeningTurn, Reserve } from "../upstream/egress/pool.ts";
import { acquireRoom } from "./acquire-room.ts";
import { type ArchivedRoom, archivedRoom, excerptOf } from "./archive.ts";
import { FollowedRoom } from "./followed-room.ts";
import { isUnfinished, type OwnedRoomParts } from "./owned-room.ts";
import { RoomExchange } from "./room-exchange.ts";
import type { Rooms } from "./rooms.ts";
import type { Followed, RoomApplicant, RoomSource, RoomSources, StoredLog } from "./sources.ts";

export class StoredRooms implements RoomSources {
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

  open(videoId: string, applicant: RoomApplicant, stopped: AbortSignal): Promise<RoomSource> {
    return acquireRoom(videoId, applicant, this.#parts, stopped);
  }

  follow(room: Room, restMs: number): Followed {
    return new FollowedRoom(room, this.#parts, restMs);
  }

  excerpt(videoId: string, closedAt?: number): Promise<Room> {
    return excerptOf(videoId, this.#parts, closedAt);
  }

  async log(videoId: string): Promise<StoredLog | undefined> {
    const record = await this.#parts.store.getRoom(videoId);
    return record && { closedAt: closedAt(record), range: record };
  }

  async archived(videoId: string): Promise<ArchivedRoom | "unfinished" | undefined> {
    const record = await this.#parts.store.getRoom(videoId);
    if (isUnfinished(record)) return "unfinished";
    return record && { range: record, room: archivedRoom(record, this.#parts) };
  }

  async head(videoId: string): Promise<number> {
    return (await this.#parts.store.getRoom(videoId))?.head ?? 0;
  }

  async unreadiness(): Promise<string[]> {
    const { store } = this.#parts;
    return (await store.isReady()) ? [] : [`the store does not work: ${store.health.trouble}`];
  }

  takeOpening(onFree: () => void): OpeningTurn | undefined {
    return this.#parts.egresses.takeOpening(onFree);
  }

  keepFor(reserve: Reserve): void {
    this.#parts.egresses.keepFor(reserve);
  }

  share(rooms: Rooms, stopped: AbortSignal): void {
    new RoomExchange(rooms, this.#parts, stopped).start();
  }
}
