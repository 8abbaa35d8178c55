/** Several chats on one connection. */

import type { Random } from "../../simulator/random.ts";
import type { Violate } from "../harness/chat-frames.ts";
import type { Frame } from "../harness/frames.ts";
import { MergedFrames, vectorOf } from "../harness/merged-frames.ts";
import type { ChatJudge } from "./chat-judge.ts";
import type { RoomJudge } from "./room-judge.ts";
import { lagOf, type Subscription } from "./subscription.ts";

export class MergedChats implements Subscription {
  readonly retriedInMs = 45_000;
  readonly name: string;
  readonly rooms: readonly RoomJudge[];
  readonly #chats: readonly ChatJudge[];
  readonly #frames: MergedFrames;

  constructor(chats: readonly ChatJudge[], violate: Violate) {
    this.#chats = chats;
    this.rooms = chats.map(({ room }) => room);
    this.name = this.rooms.map(({ videoId }) => videoId).join();
    this.#frames = new MergedFrames(chats, violate);
  }

  get watching(): readonly RoomJudge[] {
    return this.#chats.filter((chat) => this.#frames.isOpen(chat)).map(({ room }) => room);
  }

  get path(): string {
    return `/v1/merged?videoIds=${this.name}`;
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

  take(frame: Frame): void {
    this.#frames.take(frame);
  }

  lag() {
    return this.#chats.map(lagOf).find(Boolean);
  }
}
