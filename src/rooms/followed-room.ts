/**
 * A room that another instance reads: its log is followed for the viewers here. Once that instance is gone, by a crash
 * or by a stop, this one claims the room and goes on reading from the checkpoint, for the same viewers.
 */

import { readCheckpoint } from "../reading/log/checkpoint.ts";
import { Room } from "../serving/room.ts";
import type { Peers } from "../store/peers.ts";
import { isUnavailable, type RoomRecord } from "../store/port.ts";
import { OwnedRoom, type OwnedRoomParts } from "./owned-room.ts";

/** Instances that follow one room try for it one after the other, in no order. */
const SPREAD_MS = 100;
/** Between two tries while the store fails. */
const RETRY_MS = 500;

export class FollowedRoom {
  readonly room: Room;
  readonly #parts: OwnedRoomParts;
  readonly #peers: Peers;
  readonly #left = new AbortController();

  /** `room`: the one that viewers are attached to, where this instance has read it so far. */
  constructor(room: Room, parts: OwnedRoomParts, peers: Peers) {
    this.room = room;
    this.#parts = parts;
    this.#peers = peers;
  }

  /** A room to follow from its head on; undefined where its checkpoint cannot be read here. */
  static join(record: RoomRecord, parts: OwnedRoomParts, peers: Peers): FollowedRoom | undefined {
    const position = readCheckpoint(record, parts.telemetry);
    if (!position) return undefined;
    return new FollowedRoom(new Room(record.videoId, position.chatType, record.head, parts), parts, peers);
  }

  /** Resolves when the room is over or closed here; rejects where it cannot be followed on. */
  over(): Promise<void> {
    return this.room.follow();
  }

  /** Resolves once this instance reads the room itself, and to undefined where that is no longer wanted. */
  async takenOver(stopped: AbortSignal): Promise<OwnedRoom | undefined> {
    const { clock } = this.#parts;
    const over = AbortSignal.any([this.#left.signal, stopped]);
    while (!over.aborted) {
      try {
        await this.#peers.freed(this.room.videoId, over);
        await clock.sleep(clock.random() * SPREAD_MS, over);
        const owned = await this.#tryToTakeOver(over);
        if (owned) return owned;
      } catch (error) {
        if (over.aborted) return undefined;
        if (!isUnavailable(error)) throw error;
        await clock.sleep(RETRY_MS, over).catch(() => {});
      }
    }
    return undefined;
  }

  async #tryToTakeOver(over: AbortSignal): Promise<OwnedRoom | undefined> {
    const { store, telemetry } = this.#parts;
    const claim = await this.#peers.takeOver(this.room.videoId);
    if (!claim) return undefined;
    const position = readCheckpoint(claim, telemetry);
    if (position && !over.aborted) {
      telemetry.roomTakenOver(claim.videoId, claim.head);
      return OwnedRoom.resume(claim, position, this.#parts, this.room);
    }
    await store.abandon(claim).catch(() => {}); // its lease runs out
    if (!position) throw new Error("its checkpoint is of another version of the program");
    return undefined;
  }

  /** Nobody wants it taken over any more. */
  leave(): void {
    this.#left.abort();
  }
}
