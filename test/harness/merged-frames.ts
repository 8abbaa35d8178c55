/**
 * The frames of a client of `/v1/merged`, over all its connections: those of each chat go to its judge. An id
 * must be the vector of what the client has of all chats.
 */
import { parseObject } from "../../simulator/plain-json.ts";
import { type ChatFrames, type InitFrame, type Violate, withoutVideo } from "./chat-frames.ts";
import type { Frame } from "./frames.ts";

const NONE = "_";

export class MergedFrames {
  /** The id with which the client comes back. */
  lastEventId: string | undefined;
  readonly #name: string;
  readonly #chats: readonly ChatFrames[];
  readonly #violate: Violate;
  /** The cursors that the client has: those that it sent, then those of the frames. */
  #known: (number | undefined)[] = [];
  /** The chats of which it was sent nothing but an error, or an error last. */
  readonly #failed = new Set<ChatFrames>();
  /** The chats that continue on this connection. */
  readonly #open = new Set<ChatFrames>();

  /** `chats`: in the order of the request. */
  constructor(chats: readonly ChatFrames[], violate: Violate) {
    this.#name = chats.map(({ videoId }) => videoId).join();
    this.#chats = chats;
    this.#violate = violate;
  }

  isOpen(chat: ChatFrames): boolean {
    return this.#open.has(chat);
  }

  hasFailed(chat: ChatFrames): boolean {
    return this.#failed.has(chat);
  }

  /** Whether the service may end the connection: every chat is over, or failed. */
  get mayEnd(): boolean {
    return this.#chats.every((chat) => chat.hasEnded || this.#failed.has(chat));
  }

  /** A connection begins. */
  begin(lastEventId: string | undefined): void {
    this.#failed.clear();
    this.#open.clear();
    this.#known = this.#read(lastEventId);
    for (const [place, chat] of this.#chats.entries()) chat.asks(this.#known[place]);
  }

  take({ event, id, data }: Frame): void {
    if (id !== undefined) this.lastEventId = id;
    const value = parseObject(data);
    const place = this.#chats.findIndex(({ videoId }) => videoId === value?.videoId);
    const chat = this.#chats[place];
    if (event === "cursor") this.#moved(id);
    else if (!chat) this.#violate(String(value?.videoId), `of ${this.#name} is sent ${event}: ${data}`);
    else if (event === "message") this.#message(chat, place, id, data);
    else if (event === "init") this.#begins(chat, place, value as unknown as InitFrame);
    else this.#stops(chat, event, data);
  }

  #stops(chat: ChatFrames, event: string, data: string): void {
    this.#open.delete(chat);
    if (event === "error") this.#failed.add(chat);
    if (event === "error") chat.failed(data);
    else chat.end(data);
  }

  #begins(chat: ChatFrames, place: number, init: InitFrame): void {
    // A chat begins again on its connection only if it cannot continue after its cursor.
    if (this.#open.has(chat)) {
      if (init.cursor === this.#known[place])
        this.#violate(chat.videoId, `of ${this.#name} is sent a second init`);
      chat.asks(this.#known[place]);
    }
    this.#goesOn(chat);
    chat.begin(init);
    this.#known[place] = init.cursor;
  }

  /** The id may also show that other chats have moved: not every client sees ids that come alone. */
  #message(chat: ChatFrames, place: number, id: string | undefined, data: string): void {
    const cursor = this.#read(id)[place] ?? Number.NaN;
    this.#move(id, place);
    this.#goesOn(chat);
    chat.message(cursor, withoutVideo(data));
    this.#known[place] = cursor;
    this.#judgeId(chat.videoId, id);
  }

  #moved(id: string | undefined): void {
    this.#move(id);
    this.#judgeId("", id);
  }

  #move(id: string | undefined, except?: number): void {
    for (const [place, cursor] of this.#read(id).entries()) {
      if (place === except || cursor === undefined || cursor === this.#known[place]) continue;
      this.#chats[place]?.moved(cursor);
      this.#known[place] = cursor;
    }
  }

  #goesOn(chat: ChatFrames): void {
    this.#failed.delete(chat);
    this.#open.add(chat);
  }

  #judgeId(videoId: string, id: string | undefined): void {
    const expected = vectorOf(this.#known);
    if (id !== expected) this.#violate(videoId, `of ${this.#name} is sent the id ${id}, not ${expected}`);
  }

  #read(id: string | undefined): (number | undefined)[] {
    const parts = id?.split(".") ?? [];
    return this.#chats.map((_, place) => {
      const part = parts[place] ?? NONE;
      return part === NONE ? undefined : Number.parseInt(part, 36);
    });
  }
}

/** The id of a client that has these cursors of its chats. */
export function vectorOf(cursors: readonly (number | undefined)[]): string {
  return cursors.map((cursor) => cursor?.toString(36) ?? NONE).join(".");
}
