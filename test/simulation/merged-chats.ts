/** Several chats on one connection. */

import type { Random } from "../../src/simulator/random.ts";
import type { Violate } from "../harness/chat-frames.ts";
import type { Frame } from "../harness/frames.ts";
import { MergedFrames, vectorOf } from "../harness/merged-frames.ts";
import { openMerged, type Served } from "../harness/several-chats.ts";
import type { SimulatedSink } from "../harness/sink.ts";
import type { ChatJudge } from "./chat-judge.ts";
import type { RoomJudge } from "./room-judge.ts";
import { type Asked, lagOf, type Subscription } from "./subscription.ts";

export class MergedChats implements Subscription {
  readonly name: string;
  readonly rooms: readonly RoomJudge[];
  readonly #chats: readonly ChatJudge[];
  readonly #frames: MergedFrames;

  constructor(chats: readonly ChatJudge[], violate: Violate) {
    this.#chats = chats;
    this.rooms = chats.map(({ room }) => room);
    this.name = this.#videoIds.join();
    this.#frames = new MergedFrames(chats, violate);
  }

  get watching(): readonly RoomJudge[] {
    return this.#chats.filter((chat) => this.#frames.isOpen(chat)).map(({ room }) => room);
  }

  get lastEventId(): string | undefined {
    return this.#frames.lastEventId;
  }

  get hasEnded(): boolean {
    return this.#chats.every(({ hasEnded }) => hasEnded);
  }

  get mayEnd(): boolean {
    return this.#frames.mayEnd;
  }

  get isBroken(): boolean {
    const isOpen = ({ room }: ChatJudge) => room.overSince === Number.POSITIVE_INFINITY;
    return this.#chats.some((chat) => isOpen(chat) && this.#frames.hasFailed(chat));
  }

  /** One of its parts is forged. */
  forgedId(random: Random): string {
    const place = random.below(this.#chats.length);
    return vectorOf(this.#chats.map((chat, other) => (other === place ? chat.forged(random) : chat.cursor)));
  }

  begin(lastEventId: string | undefined): void {
    this.#frames.begin(lastEventId);
  }

  async open(service: Served, asked: Asked, open: () => SimulatedSink): Promise<void> {
    openMerged(service, this.#videoIds, asked, open());
  }

  take(frame: Frame): void {
    this.#frames.take(frame);
  }

  lag() {
    return this.#chats.map(lagOf).find(Boolean);
  }

  get #videoIds(): string[] {
    return this.rooms.map(({ videoId }) => videoId);
  }
}
