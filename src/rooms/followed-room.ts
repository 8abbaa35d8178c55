/**
 * A room that another instance reads: its log is followed for the viewers here. Once that instance is gone, by a crash
 * or by a stop, this one takes the room and goes on reading from the checkpoint, for the same viewers.
 */
import { positionOf } from "../reading/log/checkpoint.ts";
import { Room } from "../serving/room.ts";
import { isUnavailable, type RoomRecord } from "../store/port.ts";
import type { EntryHost } from "./entry-host.ts";
import { OwnedRoom, type OwnedRoomParts } from "./owned-room.ts";

/** Instances that follow one room try for it one after the other: in no order, but that... */
const SPREAD_MS = 100;
/** ... who reads fewer rooms is first. */
const SPREAD_PER_ROOM_MS = 10;
/** Between two tries while the store fails. */
const RETRY_MS = 500;

export class FollowedRoom {
  readonly room: Room;
  readonly #parts: OwnedRoomParts;
  readonly #left = new AbortController();

  readonly #restMs: number;

  /** `room`: the one that viewers are attached to. `restMs`: for how long this instance leaves it to others. */
  constructor(room: Room, parts: OwnedRoomParts, restMs = 0) {
    this.room = room;
    this.#parts = parts;
    this.#restMs = restMs;
  }

  /** A room to follow from its head on. Throws `UnreadablePosition` where its checkpoint is of another version. */
  static join(record: RoomRecord, parts: OwnedRoomParts): FollowedRoom {
    const { chatType } = positionOf(record);
    return new FollowedRoom(new Room(record.videoId, chatType, record.head, parts), parts);
  }

  /** Resolves when the room is over or closed here; rejects where it cannot be followed on. */
  over(): Promise<void> {
    return this.room.follow();
  }

  /**
   * Resolves once this instance reads the room itself, and to undefined where that is no longer wanted. Rejects with
   * `UnreadablePosition`.
   */
  async takenOver(host: Pick<EntryHost, "roomsRead" | "stopped">): Promise<OwnedRoom | undefined> {
    const { clock, egresses, store, telemetry } = this.#parts;
    const { videoId } = this.room;
    const over = AbortSignal.any([this.#left.signal, host.stopped]);
    await clock.sleep(this.#restMs, over).catch(() => {});
    while (!over.aborted) {
      try {
        await egresses.reachable(over);
        await store.ownership.freed(videoId, over);
        await clock.sleep(clock.random() * SPREAD_MS + host.roomsRead() * SPREAD_PER_ROOM_MS, over);
        const owned = await OwnedRoom.takeUp(videoId, this.#parts, this.room);
        if (owned) return owned;
        telemetry.mark("take-over: another one was first");
      } catch (error) {
        if (over.aborted) return undefined;
        if (!isUnavailable(error)) throw error;
        telemetry.mark("take-over: store fails");
        await clock.sleep(RETRY_MS, over).catch(() => {});
      }
    }
    return undefined;
  }

  /** Nobody wants it taken over any more. */
  leave(): void {
    this.#left.abort();
  }
}
