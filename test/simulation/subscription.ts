/** What a viewer watches: how its client asks for it, and how its frames are judged. */

import { parseObject } from "../../simulator/plain-json.ts";
import type { Random } from "../../simulator/random.ts";
import type { InitFrame } from "../harness/chat-frames.ts";
import type { Frame } from "../harness/frames.ts";
import type { ChatJudge } from "./chat-judge.ts";
import type { RoomJudge } from "./room-judge.ts";

export interface Subscription {
  /** For the journal. */
  readonly name: string;
  /** What its client asks for: the route, with the parameter that names the chats. */
  readonly path: string;
  /** The rooms of the chats that it may be sent, and those in which it is now. */
  readonly rooms: readonly RoomJudge[];
  readonly watching: readonly RoomJudge[];
  /** The id with which its client comes back. */
  readonly lastEventId: string | undefined;
  /** Whether nothing is left to watch for now, as its client knows. */
  readonly hasEnded: boolean;
  /** Whether the service may end the connection although the service itself continues to run. */
  readonly mayEnd: boolean;
  /**
   * Maximum milliseconds until a chat that was refused on an open connection is opened again; 0 if a refusal
   * ends the connection.
   */
  readonly retriedInMs: number;
  /** Whether the client should come back because a chat does not continue here. */
  readonly isBroken: boolean;
  /** An id that this client should not have. */
  forgedId(random: Random): string;
  /** A connection begins. */
  begin(lastEventId: string | undefined): void;
  /** `isHeld`: the frame was written, or held back, while its client did not read. */
  take(frame: Frame, isHeld: boolean): void;
  /** What it lacks, in calm; undefined if it has everything. */
  lag(): { room: RoomJudge; what: string } | undefined;
}

/** One chat, as `/v1/stream?videoId=` serves it. */
export class OneChat implements Subscription {
  readonly name: string;
  readonly mayEnd = true;
  readonly retriedInMs = 0;
  readonly isBroken = false;
  readonly #chat: ChatJudge;
  /** Whether its connection has an init. */
  #isBegun = false;

  constructor(chat: ChatJudge) {
    this.#chat = chat;
    this.name = chat.videoId;
  }

  get rooms(): readonly RoomJudge[] {
    return this.#chat.rooms;
  }

  get path(): string {
    return `/v1/stream?videoId=${this.name}`;
  }

  get lastEventId(): string | undefined {
    return this.#chat.cursor?.toString();
  }

  get watching(): readonly RoomJudge[] {
    return this.#isBegun && !this.hasEnded ? [this.#chat.room] : [];
  }

  get hasEnded(): boolean {
    return this.#chat.hasEnded;
  }

  forgedId(random: Random): string {
    return String(this.#chat.forged(random));
  }

  begin(lastEventId: string | undefined): void {
    this.#isBegun = false;
    this.#chat.asks(lastEventId === undefined ? undefined : Number(lastEventId));
  }

  take({ event, cursor = Number.NaN, data }: Frame): void {
    if (event === "init") {
      this.#isBegun = true;
      this.#chat.begin(parseObject(data) as unknown as InitFrame);
    } else if (event === "message") this.#chat.message(cursor, data);
    else if (event === "cursor") this.#chat.moved(cursor);
    else if (event === "end") this.ended(this.#chat, data);
    else this.#chat.failed(data, true);
  }

  protected ended(chat: ChatJudge, data: string): void {
    chat.end(data);
  }

  lag() {
    return lagOf(this.#chat);
  }
}

/** The same for a viewer that never has a cursor. */
export class Newcomer extends OneChat {
  override get lastEventId(): undefined {
    return undefined;
  }
}

/** Reads the messages of a video's replay that are stored when the viewer comes. */
export class StoredReplay extends Newcomer {
  override get path(): string {
    return `${super.path}&chat=replay&until=now`;
  }

  protected override ended(chat: ChatJudge): void {
    chat.endPart();
  }
}

/** What a viewer of a chat lacks; undefined if it has everything, or the chat is over. */
export function lagOf({
  room,
  isUpToDate,
  cursor,
}: ChatJudge): { room: RoomJudge; what: string } | undefined {
  if (isUpToDate || room.overSince < Number.POSITIVE_INFINITY) return undefined;
  return { room, what: `stands at ${cursor} of ${room.head}` };
}
