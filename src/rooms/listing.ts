/** Stored and open rooms as callers see them: a list for operators, and one room with its totals. */
import type { Chat, ChatType, ChatView } from "../protocol/chat.ts";
import { chatOf, typeOfChat } from "../protocol/chat-key.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import { chatForQuery, storedChats } from "../serving/chat-choice.ts";
import { refuseUnavailable } from "../serving/store-refusal.ts";
import type { ObservedStore } from "../store/observed.ts";
import type { RoomAccount, RoomSummary } from "../store/port.ts";
import { notStored } from "../store/store-error.ts";
import { readVideo } from "../store/stored-video.ts";
import { type Sums, sumOf, type Totals } from "../store/totals.ts";
import { type LocalRoom, type RoomState, stateOf } from "./room-states.ts";
import type { Rooms } from "./rooms.ts";

/** The maximum length of a list of rooms. */
export const MAX_LISTED = 1000;

export interface ListedRoom extends VideoFacts {
  videoId: string;
  chatType: ChatType;
  /** The state of the room that is open here; else its final state, or `released` if it has none. */
  state: RoomState;
  /** The number of stored messages. */
  messages: number;
  /**
   * The times at which the first and the last of them were stored, ISO 8601 in UTC; null if there are none.
   */
  firstAt: string | null;
  lastAt: string | null;
  viewers: number;
  /** Milliseconds since the last good answer; null if this instance neither reads nor follows the room. */
  lateMs: number | null;
  /** The number of `gap` messages among the stored ones. */
  gaps: number;
  /** Present if the room was imported, so that only a limit of the store's size deletes it. */
  kept?: true;
  /**
   * The view that this instance reads, or has read of a chat that has ended or is followed now; null if it
   * does not know.
   */
  view: ChatView | null;
  /** The name of the egress through which this instance reads the room; null if it does not. */
  egress: string | null;
  /**
   * The number of full answers since this instance began to read the room, each of which may have left
   * messages out; null if this instance does not read it.
   */
  fullAnswers: number | null;
}

/** One room, with the totals of all its messages that were ever stored. */
export interface ShownRoom extends ListedRoom {
  /** The chats of the video that are stored. */
  chats: Chat[];
  totals: Omit<Totals, "paid" | "deletedPaid" | "deleted" | "firstAt" | "lastAt"> & {
    /** `sum`: a decimal number. */
    paid: { currency: string; count: number; sum: number }[];
    /** Null, at the end: those of unknown value or currency. */
    deletedPaid: { currency: string | null; count: number; sum: number }[];
    /** The times at which the first and the last message were stored, ISO 8601 in UTC. */
    firstAt: string | null;
    lastAt: string | null;
    /** The number of stored messages that are not in the totals yet. */
    uncounted: number;
    /** The totals count all messages up to this cursor. */
    cursor: number;
  };
}

/** The stored rooms, for callers. */
export class RoomList {
  readonly #store: ObservedStore;
  readonly #rooms: Rooms;

  constructor(store: ObservedStore, rooms: Rooms) {
    this.#store = store;
    this.#rooms = rooms;
  }

  /**
   * At most `MAX_LISTED` stored rooms, those read most recently first, with their state on this instance.
   * Rejects with `RelayError` STORE_UNAVAILABLE.
   */
  async all(): Promise<ListedRoom[]> {
    const summaries = await this.#store.listRooms(MAX_LISTED).catch(refuseUnavailable);
    return summaries.map((summary) => listedRoom(summary, this.#rooms.openHere(summary.key)));
  }

  /**
   * One stored chat of a video with its totals, without opening it: by default the live one if it is
   * stored. `showsReading`: whether to show how this instance reads it. Rejects with `RelayError`
   * NOT_STORED or STORE_UNAVAILABLE.
   */
  async show(videoId: string, chat: Chat | undefined, showsReading: boolean): Promise<ShownRoom> {
    const stored = await storedChats(this.#store, videoId).catch(refuseUnavailable);
    const { key } = chatForQuery(stored, videoId, { chat });
    const account = await this.#store.getAccount(key).catch(refuseUnavailable);
    if (!account) throw notStored(videoId, chat);
    const local = this.#rooms.openHere(key);
    const chats = stored.map((room) => chatOf(room.key).chat);
    return shownRoom(account, chats, showsReading ? local : local && { ...local, reading: undefined });
  }
}

function listedRoom(
  { key, floor, head, end, readAgoMs, firstAt, lastAt, gaps, isKept, video }: RoomSummary,
  local: LocalRoom | undefined,
): ListedRoom {
  const state = stateOf(end, local?.state);
  const isRead = state === "polling" || state === "waiting" || state === "lingering";
  const { videoId, chat } = chatOf(key);
  return {
    videoId,
    chatType: typeOfChat(chat),
    state,
    messages: head - floor,
    firstAt: iso(firstAt),
    lastAt: iso(lastAt),
    // While the video's other chat opens, those who wait for that are viewers of none.
    viewers: state === "ended" && local?.state === "bootstrapping" ? 0 : (local?.viewers ?? 0),
    lateMs: isRead ? Math.max(0, Math.round(readAgoMs)) : null,
    gaps,
    ...(isKept && { kept: true }),
    ...readVideo(video),
    view: local?.view ?? null,
    egress: local?.reading?.egress ?? null,
    fullAnswers: local?.reading?.fullAnswers ?? null,
  };
}

function shownRoom(
  { totals, uncounted, ...summary }: RoomAccount,
  chats: Chat[],
  local: LocalRoom | undefined,
): ShownRoom {
  const { types, paid, unreadable, deletedPaid, deleted, firstAt, lastAt, ...counts } = totals;
  const deletedSums = byCurrency(deleted);
  const unknown = deletedPaid - deletedSums.reduce((sum, { count }) => sum + count, 0);
  return {
    ...listedRoom(summary, local),
    chats,
    totals: {
      types,
      paid: byCurrency(paid),
      unreadable,
      deletedPaid: unknown > 0 ? [...deletedSums, { currency: null, count: unknown, sum: 0 }] : deletedSums,
      ...counts,
      firstAt: iso(firstAt),
      lastAt: iso(lastAt),
      uncounted,
      cursor: summary.head - uncounted,
    },
  };
}

function byCurrency(sums: Sums): { currency: string; count: number; sum: number }[] {
  const sorted = Object.entries(sums).sort(([one], [other]) => (one < other ? -1 : 1));
  return sorted.map(([currency, { count, thousandths }]) => ({ currency, count, sum: sumOf(thousandths) }));
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
