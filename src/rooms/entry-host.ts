/** What an entry gets from the registry of rooms. Entries know no others. */

import type { Clock } from "../base/clock.ts";
import type { StoredChat } from "../serving/chat-choice.ts";
import type { Room, StreamRequest } from "../serving/room.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { OpeningQueue } from "./opening/opening-queue.ts";
import type { RoomPlaces } from "./room-places.ts";
import type { RoomSources } from "./sources.ts";

export interface EntrySettings {
  /**
   * How long a room without viewers lingers, and how long an ended one is still served, in milliseconds.
   */
  graceMs: number;
  /** How long the service remembers that a video has no chat, in milliseconds. */
  noChatMs: number;
}

export interface EntryHost {
  readonly sources: RoomSources;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly settings: EntrySettings;
  /** The videos that wait to be opened. */
  readonly openings: OpeningQueue;
  /** The places of the rooms, which openings take. */
  readonly places: RoomPlaces;
  /** Aborts when the service stops. */
  readonly stopped: AbortSignal;

  /** The number of rooms that this instance reads. */
  roomsRead(): number;
  /** The state of the video's entry has changed; a vacant one is dropped. */
  changed(videoId: string): void;
  /** As `VideoEntry.admit`, for a video whose entry has been dropped. */
  admit(request: StreamRequest, signal: AbortSignal): Promise<void>;
  /**
   * The room that serves a viewer whose chat has ended, else its request, with the `replay` that it names;
   * undefined if it is clear at once that the open chat is the viewer's. Rejects with `RelayError`
   * OFFSET_GONE and with `StoreError`.
   */
  resolveChat(request: StreamRequest): Promise<Room | StreamRequest> | undefined;
  /**
   * The stored chats of a video, for viewers: they come in waves, and share a read, which may have begun
   * before the call. An opening has `sources.stored`, as it needs those that are stored now. Rejects with
   * `StoreError`.
   */
  stored(videoId: string): Promise<StoredChat[]>;
  /** Keeps ticking a room that takes no new viewers, and closes it after its last viewer has left. */
  retire(room: Room): void;
}
