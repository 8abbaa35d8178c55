/** The rooms of an instance with a store: it reads their chats, or follows the instances that do. */
import type { ChatType } from "../protocol/chat.ts";
import { type Absence, mayReturn, type Standing } from "../protocol/chat-standing.ts";
import { closedAt } from "../reading/batch/checkpoint.ts";
import type { Room } from "../serving/room.ts";
import type { OpeningTurn, Reserve } from "../upstream/egress/pool.ts";
import { acquireRoom } from "./acquire-room.ts";
import { archivedRoom, excerptOf, type StoredPart } from "./archive.ts";
import { FollowedRoom } from "./followed-room.ts";
import { isUnfinished, type OwnedRoomParts } from "./owned-room.ts";
import { RoomExchange } from "./room-exchange.ts";
import type { Rooms } from "./rooms.ts";
import type { Followed, NoRoom, RoomApplicant, RoomSource, RoomSources, StoredLog } from "./sources.ts";

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

  open(videoId: string, applicant: RoomApplicant, stopped: AbortSignal): Promise<RoomSource | NoRoom> {
    return acquireRoom(videoId, applicant, this.#parts, stopped);
  }

  standing(videoId: string, signal: AbortSignal): Promise<Standing<{ chatType: ChatType }>> {
    return this.#parts.egresses.call(signal, (egress) => egress.standingOf(videoId, signal));
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

  async archived(videoId: string, absence: Absence): Promise<StoredPart | undefined> {
    const record = await this.#parts.store.getRoom(videoId);
    if (!record) return undefined;
    const mayGoOn = mayReturn(absence) || isUnfinished(record);
    return { range: record, room: mayGoOn ? undefined : archivedRoom(record, this.#parts) };
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
