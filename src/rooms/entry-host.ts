/** What an entry is given: its settings, and what it needs of the rooms around it. */

import type { Room } from "../serving/room.ts";
import type { OwnedRoomParts } from "./owned-room.ts";

export const ROOM_STATES = ["bootstrapping", "polling", "lingering", "ended", "released", "failed"] as const;
/** As metrics and logs name it. `ended`, `released` and `failed` are final. */
export type RoomState = (typeof ROOM_STATES)[number];

/** How long the poll in hand of a room that is handed on may take, and how long others have it to themselves then. */
export const HAND_ON = { limitMs: 2000, restMs: 2000 } as const;

interface EntrySettings {
  /** How long a video is remembered to have no chat, in milliseconds. */
  noChatMs: number;
}

export interface EntryParts extends OwnedRoomParts {
  settings: OwnedRoomParts["settings"] & EntrySettings;
}

export interface EntryHost {
  /** Throws `RelayError` CAPACITY where no room of this video may be open beside the others. */
  assertPlace(videoId: string): void;
  /** Nobody enters this room any more. It is closed once its last viewer has been served. */
  retire(room: Room): void;
  /** How many rooms this instance reads. */
  roomsRead(): number;
  /** Aborts when the service stops. */
  stopped: AbortSignal;
}
