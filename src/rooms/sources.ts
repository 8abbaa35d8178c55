/**
 * Where the rooms of an instance come from: chats that it reads into its store (`store-backed-rooms.ts`), or
 * the rooms of another instance. Entries, rooms and viewers are the same in both.
 */
import type { Absence } from "../protocol/chat-standing.ts";
import type { StoredChat } from "../serving/chat-choice.ts";
import type { Census, Room } from "../serving/room.ts";
import type { Ownership } from "../store/ownership.ts";
import type { OpeningTurn } from "../upstream/egress/pool.ts";
import type { QueuedOpening } from "./opening/opening-queue.ts";
import type { WaitingViewers } from "./opening/waiting-viewers.ts";
import type { OwnedRoom } from "./owned-room.ts";
import type { EndedRoom } from "./remembered-chats.ts";
import type { RoomPlaces } from "./room-places.ts";

/** A room that another instance reads, for the viewers here. */
export interface Followed {
  readonly room: Room;
  /** Whether it stays for the grace time after its last viewer; otherwise it closes at once. */
  readonly lingers: boolean;
  /**
   * Resolves to the owned room if this instance, which reads `roomsRead` rooms, takes it over; or to
   * undefined if `leave` or the stop of the service came first. Absent if it can never take it over.
   */
  takenOver?(roomsRead: () => number, stopped: AbortSignal): Promise<OwnedRoom | undefined>;
  /** Ends the attempts to take the room over. */
  leave?(): void;
}

/** A room that an opening acquires: one that is read here, that another instance reads, or an ended one. */
export type AcquiredRoom =
  | { is: "owned"; owned: OwnedRoom }
  | { is: "followed"; followed: Followed }
  | { is: "ended"; ended: EndedRoom };

/**
 * What an opening acquires: a room, or none, as the chat is absent. `rememberedMs`: how long another instance
 * remembers that, in milliseconds.
 */
export type Acquired = AcquiredRoom | { is: "absent"; absence: Absence; rememberedMs?: number | undefined };

/** The request for a room that is not open. */
export interface RoomApplicant {
  /** Its place in the queue, until it needs no turn or has had it. */
  queued: QueuedOpening;
  /** Whether a page of its channel has shown the video. */
  isShown: boolean;
  /** The viewers that wait for the room; the set changes while it opens. */
  waiting: WaitingViewers;
  /** One must be free before the chat is looked for. The chat takes it when found, before it is read. */
  places: RoomPlaces;
}

export interface RoomSources {
  /** Counts the viewers in all rooms from here. */
  readonly census: Census;
  readonly ownership: Pick<Ownership, "setViewers" | "watchedForMs">;
  /** Whether new viewers must be refused with STORE_UNAVAILABLE. */
  readonly isBlocked: boolean;
  /** The longest time between two polls of a live chat that can be read, in milliseconds. */
  readonly longestIntervalMs: number;
  /**
   * Acquires the room of a video that is not open here, if its chat is there or ended recently; or if it may
   * come back, and a recording or a viewer with its cursor waits. Rejects with `RelayError`, `UpstreamError`
   * or `StoreError`, and with the reason of `signal`.
   */
  acquire(videoId: string, applicant: RoomApplicant, signal: AbortSignal): Promise<Acquired>;
  /**
   * Follows a room that this instance has read until now, and leaves the reading to others for `restMs`.
   * Absent if no room is read here.
   */
  follow?(room: Room, restMs: number): Followed;
  /** The chats of a video that are stored, the live one first. Rejects with `StoreError`. */
  stored(videoId: string): Promise<StoredChat[]>;
  /** A room that serves the stored messages of a chat, and follows nothing. */
  serve(chat: StoredChat): Room;
  /** The reasons why it serves no new viewers; empty if there are none. */
  unreadiness(): Promise<string[]>;
  /**
   * Takes a place among the openings that go on; undefined if none is free. Disposing frees it. Absent if no
   * chat is searched for here.
   */
  takeOpening?(): OpeningTurn | undefined;
}
