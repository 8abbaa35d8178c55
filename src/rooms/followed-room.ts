/**
 * A room that another instance reads. This instance follows the room's log in the shared store and serves it
 * to its own viewers. If the owner crashes, stops or hands the room on, this instance tries to take it over,
 * and continues from the checkpoint, with the same viewers.
 */
import { pause } from "../base/clock.ts";
import { Room } from "../serving/room.ts";
import type { RoomRecord } from "../store/port.ts";
import { isUnavailable } from "../store/store-error.ts";
import { OwnedRoom, type OwnedRoomParts } from "./owned-room.ts";
import type { Followed } from "./sources.ts";

/**
 * Instances that follow the same room try to take it over one after the other, each after a random delay of
 * up to this.
 */
const SPREAD_MS = 100;
/** The further delay for each room that the instance reads, so that the least loaded one tries first. */
const SPREAD_PER_ROOM_MS = 10;
/** How much longer than the rest a room is left to the others: its last poll may take as long as the rest. */
const HEAD_START_MS = 500;
/** The wait between two tries while the store fails. */
const RETRY_MS = 500;

export class FollowedRoom implements Followed {
  readonly room: Room;
  /** Its owner decides when to release it. */
  readonly lingers = false;
  readonly #parts: OwnedRoomParts;
  readonly #left = new AbortController();
  readonly #restMs: number;

  /** `room`: serves the viewers here. `restMs`: how long this instance leaves the reading to others. */
  constructor(room: Room, parts: OwnedRoomParts, restMs = 0) {
    this.room = room;
    this.#parts = parts;
    this.#restMs = restMs;
  }

  /** Follows a room from its head on. */
  static join(record: RoomRecord, parts: OwnedRoomParts): FollowedRoom {
    return new FollowedRoom(new Room(record.key, record.head, parts), parts);
  }

  /** Rejects with `UnreadablePosition`. */
  async takenOver(roomsRead: () => number, stopped: AbortSignal): Promise<OwnedRoom | undefined> {
    const { clock, egresses, store, telemetry } = this.#parts;
    const { key } = this.room;
    const over = AbortSignal.any([this.#left.signal, stopped]);
    const restsUntil = clock.monotonic() + this.#restMs + (this.#restMs > 0 ? HEAD_START_MS : 0);
    await pause(clock, this.#restMs, over);
    while (!over.aborted) {
      try {
        await store.ownership.freed(key, over);
        await clock.sleep(Math.max(0, restsUntil - clock.monotonic()), over);
        await egresses.reachable(over); // else the room is left to others
        await clock.sleep(clock.random() * SPREAD_MS + roomsRead() * SPREAD_PER_ROOM_MS, over);
        const owned = await OwnedRoom.resume(key, this.#parts, this.room);
        if (owned) return owned;
        telemetry.mark("take-over: another one was first");
      } catch (error) {
        if (over.aborted) return undefined;
        if (!isUnavailable(error)) throw error;
        telemetry.mark("take-over: store fails");
        await pause(clock, RETRY_MS, over);
      }
    }
    return undefined;
  }

  leave(): void {
    this.#left.abort();
  }
}
