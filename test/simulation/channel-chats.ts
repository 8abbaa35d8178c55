/** The chats of a channel's streams, one after the other on one connection. */

import { parseObject } from "../../simulator/plain-json.ts";
import type { Random } from "../../simulator/random.ts";
import { ChannelFrames } from "../harness/channel-frames.ts";
import type { Violate } from "../harness/chat-frames.ts";
import type { Frame } from "../harness/frames.ts";
import type { ChatJudge } from "./chat-judge.ts";
import type { RoomJudge } from "./room-judge.ts";
import { lagOf, type Subscription } from "./subscription.ts";

/** The channel as its viewers' judge knows it. */
export interface WatchedChannel {
  readonly handle: string;
  /** The rooms of its streams so far. */
  readonly rooms: readonly RoomJudge[];
  /** The room of the only stream that is left in calm. */
  readonly last: RoomJudge | undefined;
  /** The id of a message of another channel. */
  foreignId(random: Random): string;
}

export class ChannelChats implements Subscription {
  readonly name: string;
  /** Only a connection that is refused. */
  mayEnd = false;
  readonly retriedInMs = 0;
  readonly isBroken = false;
  readonly hasEnded = false;
  readonly #channel: WatchedChannel;
  /** Whether everything that rooms share works. */
  readonly #isSharedWell: boolean;
  readonly #judge: (room: RoomJudge) => ChatJudge;
  readonly #chats = new Map<string, ChatJudge>();
  readonly #frames: ChannelFrames;

  constructor(
    channel: WatchedChannel,
    judge: (room: RoomJudge) => ChatJudge,
    violate: Violate,
    isSharedWell: boolean,
  ) {
    this.#channel = channel;
    this.#isSharedWell = isSharedWell;
    this.name = channel.handle;
    this.#judge = judge;
    this.#frames = new ChannelFrames(channel.handle, (videoId) => this.#chat(videoId), violate);
  }

  get rooms(): readonly RoomJudge[] {
    return this.#channel.rooms;
  }

  get watching(): readonly RoomJudge[] {
    const { isReading, current } = this.#frames;
    if (!isReading) return [];
    return this.rooms.filter(({ videoId }) => videoId === current?.videoId);
  }

  get path(): string {
    return `/v1/stream?channel=${this.name}`;
  }

  get lastEventId(): string | undefined {
    return this.#frames.lastEventId;
  }

  forgedId(random: Random): string {
    const chat = random.chance(0.5) && this.#chat(this.#frames.current?.videoId);
    return chat ? `${chat.videoId}.${chat.forged(random)}` : this.#channel.foreignId(random);
  }

  begin(lastEventId: string | undefined): void {
    this.mayEnd = false;
    this.#frames.begin(lastEventId);
  }

  take(frame: Frame, isHeld: boolean): void {
    this.mayEnd = this.#isRefusal(frame);
    if (!this.mayEnd) this.#frames.take(frame, isHeld);
  }

  /** A look at an unknown channel waits in the queue for 30 s at most; its viewers wait meanwhile. */
  #isRefusal({ event, data }: Frame): boolean {
    const isFull = event === "error" && parseObject(data)?.code === "CAPACITY";
    return isFull && !this.#isSharedWell && !this.#frames.hasSeen;
  }

  lag() {
    const { last: room } = this.#channel;
    const chat = this.#chat(this.#frames.current?.videoId);
    if (room && chat?.room !== room) return { room, what: `watches ${chat?.videoId ?? "nothing"}` };
    return chat && lagOf(chat);
  }

  #chat(videoId: string | undefined): ChatJudge | undefined {
    const room = this.#channel.rooms.find((each) => each.videoId === videoId);
    return room && this.#chats.getOrInsertComputed(room.videoId, () => this.#judge(room));
  }
}
