/** What an entry gets from the registry of rooms, and what it shows in return. Entries know no others. */

import type { Clock } from "../base/clock.ts";
import type { ChatType } from "../protocol/chat.ts";
import type { StoredChat } from "../serving/chat-choice.ts";
import type { Room, StreamRequest } from "../serving/room.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { OpeningQueue } from "./opening/opening-queue.ts";
import type { RoomSources } from "./sources.ts";

export interface EntrySettings {
  /**
   * How long a room without viewers lingers, and how long an ended one is still served, in milliseconds.
   */
  graceMs: number;
  /** How long the service remembers that a video has no chat, in milliseconds. */
  noChatMs: number;
}

/** What an entry shows to the others. */
export interface EntryFacts {
  readonly videoId: string;
  /** The chat that is read or followed: known once it is found, even before the opening ends. */
  readonly chatType: ChatType | undefined;
  readonly isVacant: boolean;
}

export interface EntryHost {
  readonly sources: RoomSources;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly settings: EntrySettings;
  /** The videos that wait to be opened. */
  readonly openings: OpeningQueue;
  /** Aborts when the service stops. */
  readonly stopped: AbortSignal;

  /** The number of rooms that this instance reads. */
  roomsRead(): number;
  /** Throws `RelayError` CAPACITY if the other chats of this type already reach the limit. */
  assertRoomPlace(entry: EntryFacts, chatType: ChatType): void;
  /** The entry's state has changed; a vacant one is dropped. `before`: its `chatType` until then. */
  changed(entry: EntryFacts, before: ChatType | undefined): void;
  /** As `VideoEntry.admit`, for a video whose entry has been dropped. */
  admit(request: StreamRequest, signal: AbortSignal): Promise<void>;
  /**
   * The room that serves a viewer whose chat has ended, else its request, with the `replay` that it names;
   * undefined if it is clear at once that the open chat is the viewer's. Rejects with `RelayError`
   * OFFSET_GONE and with `StoreError`.
   */
  resolveChat(request: StreamRequest): Promise<Room | StreamRequest> | undefined;
  /** The stored chats of a video, in a read that all who ask share. Rejects with `StoreError`. */
  stored(videoId: string): Promise<StoredChat[]>;
  /** Keeps ticking a room that takes no new viewers, and closes it after its last viewer has left. */
  retire(room: Room): void;
}
