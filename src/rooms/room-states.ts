/**
 * The states of a room, as lists, metrics and logs show them, and which of two states counts: that of the
 * open room or that of the stored one.
 */
import { type ChatView, isOver, type RoomEnd } from "../protocol/chat.ts";

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
 * `bootstrapping`: the room is being opened, from its page or a checkpoint, or to be followed. `waiting`: the
 * chat is off or hidden, and is looked for again. `ended`, `released` and `failed` are final.
 */
export type RoomState = (typeof ROOM_STATES)[number];

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
 * The state of the open room on this instance (`local`); if it is not open here, its final state, or
 * "released" if it has none. If the record says that the chat has ended, an opening or a release concerns the
 * video's other chat. If the chat ended after the record was read, the record decides, because its head may
 * be too low.
 */
export function stateOf(end: RoomEnd | null, local: RoomState | undefined): RoomState {
  const isOfOther = local === "bootstrapping" || local === "released";
  if (isOver(end) && isOfOther) return "ended";
  if (local === "ended") return end?.state ?? "polling";
  return local ?? end?.state ?? "released";
}
