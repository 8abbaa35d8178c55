/**
 * What an entry gets from the registry of rooms, what it shows in return, and the states of a room. An entry
 * knows no other entry.
 */

import type { Clock } from "../base/clock.ts";
import type { ChatType, ChatView, RoomEnd } from "../protocol/chat.ts";
import type { StoredChat } from "../serving/chat-choice.ts";
import type { Room, StreamRequest } from "../serving/room.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { OpeningTurn } from "../upstream/egress/pool.ts";
import type { OpeningQueue } from "./opening/opening-queue.ts";
import type { RoomSources, RoomTaker } from "./sources.ts";

export const ROOM_STATES = [
  "bootstrapping",
  "polling",
  "waiting",
  "lingering",
  "ended",
  "released",
  "failed",
] as const;
/**
 * As in metrics and logs. `bootstrapping`: the room is being opened, from its page or a checkpoint, or to be
 * followed. `waiting`: the chat is off or hidden, and is looked for again. `ended`, `released`
 * and `failed` are final.
 */
export type RoomState = (typeof ROOM_STATES)[number];

/**
 * Handing a room on: the maximum time for its current poll, and how long this instance then leaves the room
 * to others.
 */
export const HAND_ON = { limitMs: 2000, restMs: 2000 } as const;

/** Options of an opening. All are absent if the room is adopted. */
export interface OpenOptions {
  /** Resolves when this instance has given back an earlier room of this video. */
  released?: Promise<void> | undefined;
  /** The address, or network, of the first viewer; absent or empty if the service itself opens the room. */
  address?: string;
  /** Whether a page of its channel has shown the video. */
  isShown?: boolean | undefined;
}

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

export interface EntryHost extends RoomTaker {
  readonly sources: RoomSources;
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly settings: EntrySettings;
  /** The videos that wait to be opened. */
  readonly openings: OpeningQueue<OpeningTurn>;

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

/** A chat's room that is open on this instance. */
export interface LocalRoom {
  state: RoomState;
  viewers: number;
  /** Undefined if this instance has not read the chat. */
  view: ChatView | undefined;
  /** Undefined if this instance does not read the room. */
  reading: { egress: string; fullAnswers: number } | undefined;
}

/**
 * The state of the open room on this instance (`local`); if it is not open here, its last state. If the
 * record says that the chat has ended, an opening or a release concerns the video's other chat. If the chat
 * ended after the record was read, the record decides, because its head may be too low.
 */
export function stateOf(end: RoomEnd | null, local: RoomState | undefined): RoomState {
  const isOfOther = local === "bootstrapping" || local === "released";
  if (end?.state === "ended" && isOfOther) return "ended";
  if (local === "ended") return end?.state ?? "polling";
  return local ?? end?.state ?? "released";
}
