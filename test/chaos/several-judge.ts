/**
 * Judges a viewer whose connections carry several chats: the frames of each go to the judge of a viewer of
 * that chat alone.
 */

import { ChannelFrames } from "../harness/channel-frames.ts";
import type { Violate } from "../harness/chat-frames.ts";
import type { ClientOptions } from "../harness/clients/observer.ts";
import type { Filter } from "../harness/filters.ts";
import type { Frame } from "../harness/frames.ts";
import { MergedFrames } from "../harness/merged-frames.ts";
import { ObservedChat, ObservedChats } from "../harness/observed-chats.ts";
import type { AudienceJudge } from "./audience-judge.ts";
import { ConnectionTally } from "./connection-tally.ts";
import type { RoomTruth } from "./room-truth.ts";
import type { Verdict } from "./verdict.ts";
import { ViewerJudge } from "./viewer-judge.ts";

export interface SeveralParts {
  name: string;
  asked: ClientOptions;
  filter: Filter;
  verdict: Verdict;
  /** Called when a chat does not continue for now, so that the client should come back. */
  onTrouble(): void;
}

/** One of the chats. */
class OneOfSeveral extends ObservedChat<ViewerJudge> {
  readonly room: RoomTruth;
  #seenWhenAsked = 0;

  constructor(room: RoomTruth, { name, asked, filter, verdict }: SeveralParts, seenAtFirst: number) {
    super(room.videoId, new ViewerJudge(name, room, asked, verdict, filter, seenAtFirst));
    this.room = room;
  }

  override get lacksOld(): boolean {
    return this.asked !== undefined && !this.observer.hasReached(this.#seenWhenAsked);
  }

  override get isUpToDate(): boolean {
    const { chat, seenHead } = this.room;
    return this.observer.hasReached(this.room.cursorOf(chat.ledger.length) ?? seenHead);
  }

  override asks(cursor: number | undefined): void {
    super.asks(cursor);
    this.#seenWhenAsked = this.room.seenHead;
  }
}

abstract class SeveralJudge extends ObservedChats implements AudienceJudge {
  protected readonly parts: SeveralParts;
  readonly #tally: ConnectionTally;
  readonly hasEnded = false;

  constructor(parts: SeveralParts) {
    super(parts.onTrouble);
    this.parts = parts;
    this.#tally = new ConnectionTally(parts.verdict);
  }

  protected abstract readonly chats: readonly OneOfSeveral[];
  abstract readonly rooms: readonly RoomTruth[];
  abstract readonly place: string;
  abstract lacks(due: (room: RoomTruth) => number): boolean;

  get messages(): number {
    return this.chats.reduce((sum, { observer }) => sum + observer.messages, 0);
  }

  get closeReason(): string {
    return this.#tally.closeReason;
  }

  judgeSkipped(): void {
    for (const { observer } of this.chats) observer.judgeSkipped();
  }

  override take(frame: Frame): void {
    this.#tally.opened();
    super.take(frame);
  }

  refused(status: number, code: string): void {
    this.#tally.refused(status, code);
  }

  override closed(asked: boolean): void {
    this.#tally.closed(asked, false);
  }

  malformed(what: string): void {
    this.violate("", `malformed: ${what}`);
  }

  protected readonly violate: Violate = (videoId, what) => {
    this.parts.verdict.violate("stream", `viewer ${this.parts.name} ${videoId} ${what}`);
  };
}

/** A viewer of `/v1/merged`. Its chats continue for the whole run. */
export class MergedJudge extends SeveralJudge {
  readonly rooms: readonly RoomTruth[];
  protected readonly chats: readonly OneOfSeveral[];
  protected readonly frames: MergedFrames;

  /** `seenHead`: the cursor of a room that this viewer cannot be behind. */
  constructor(rooms: readonly RoomTruth[], seenHead: (room: RoomTruth) => number, parts: SeveralParts) {
    super(parts);
    this.rooms = rooms;
    this.chats = rooms.map((room) => new OneOfSeveral(room, parts, seenHead(room)));
    this.frames = new MergedFrames(this.chats, this.violate);
  }

  get place(): string {
    return this.chats.map(({ videoId, cursor }) => `${videoId} at ${cursor}`).join();
  }

  lacks(due: (room: RoomTruth) => number): boolean {
    return this.chats.some(({ room, observer }) => !observer.hasReached(due(room)));
  }
}

/** A viewer of a channel. */
export class ChannelJudge extends SeveralJudge {
  readonly #streams: readonly RoomTruth[];
  readonly #chats = new Map<RoomTruth, OneOfSeveral>();
  protected readonly frames: ChannelFrames;

  /** `streams`: the rooms of the channel's streams so far; the last one is live. */
  constructor(name: string, streams: readonly RoomTruth[], parts: SeveralParts) {
    super(parts);
    this.#streams = streams;
    this.frames = new ChannelFrames(name, (videoId) => this.#chat(videoId), this.violate);
  }

  get rooms(): readonly RoomTruth[] {
    return this.#streams.slice(-1);
  }

  protected get chats(): readonly OneOfSeveral[] {
    return [...this.#chats.values()];
  }

  get place(): string {
    const { current } = this.frames;
    return current ? `${current.videoId} at ${current.cursor}` : "no stream";
  }

  lacks(due: (room: RoomTruth) => number): boolean {
    const chat = this.#chat(this.frames.current?.videoId);
    return !chat || !this.rooms.includes(chat.room) || !chat.observer.hasReached(due(chat.room));
  }

  /** Others may have seen more of a stream before this viewer comes to it. */
  #chat(videoId: string | undefined): OneOfSeveral | undefined {
    const room = this.#streams.find((stream) => stream.videoId === videoId);
    return room && this.#chats.getOrInsertComputed(room, () => new OneOfSeveral(room, this.parts, 0));
  }
}
