/**
 * Writes one chat to a connection that carries several. Each event names the video; messages and cursors also
 * have the id from which the whole connection resumes.
 */
import type { Init, StreamEnd } from "../protocol/chat.ts";
import { type FramePlace, terminal } from "../serving/framing.ts";
import type { Fact } from "../store/port.ts";
import type { ChatEvent } from "./chat-events.ts";
import type { Multiplex } from "./multiplex.ts";

/** The channel that a chat is written for, which goes on after the chat's end. */
interface ChannelOfChat {
  /** What `init` has beside the video. */
  readonly names: object;
  /** Whether the client is sent the fact. */
  takes(fact: Fact): boolean;
}

export class ChatWriter {
  readonly videoId: string;
  readonly #multiplex: Multiplex;
  readonly #id: () => string;
  readonly #channel: ChannelOfChat | undefined;
  /** The cursor up to which the client has everything; before the chat is open, the one it has sent. */
  cursor: number | undefined;
  /** Whether the client was sent an `init` of this chat. */
  #isBegun = false;

  /** `id`: the id from which the connection resumes after the next frame. */
  constructor(
    videoId: string,
    cursor: number | undefined,
    multiplex: Multiplex,
    id: () => string,
    channel?: ChannelOfChat,
  ) {
    this.videoId = videoId;
    this.cursor = cursor;
    this.#multiplex = multiplex;
    this.#id = id;
    this.#channel = channel;
  }

  get isBegun(): boolean {
    return this.#isBegun;
  }

  /** Writes an event. Returns the end of the chat, which it writes unless a channel goes on after it. */
  write(event: ChatEvent): StreamEnd | undefined {
    switch (event.kind) {
      case "init":
        this.#begin(event.init);
        return undefined;
      case "messages":
        this.#multiplex.write(...event.frames.flatMap(({ cursor, rest }) => [this.#beginning(cursor), rest]));
        return undefined;
      case "fact":
        if (this.#channel?.takes(event.fact) ?? true) this.#multiplex.write(event.frame);
        return undefined;
      case "cursor":
        this.#report(event.cursor);
        return undefined;
      case "end":
        if (event.unreported !== undefined) this.#report(event.unreported);
        if (!this.#channel) this.#end(event.end);
        return event.end;
      case "idle": // the connection has keepalives of its own
        return undefined;
    }
  }

  /** A chat that is entered again continues without another `init`, if no message is missing. */
  #begin(init: Init): void {
    const isContinued = this.#isBegun && init.cursor === this.cursor;
    this.cursor = init.cursor;
    this.#isBegun = true;
    const { videoId, ...rest } = init;
    const event = { videoId, ...this.#channel?.names, ...rest };
    if (!isContinued) this.#multiplex.write(this.#multiplex.events.event("init", event));
  }

  #end(end: StreamEnd): void {
    const [name, data] = terminal(end);
    this.#multiplex.write(this.#multiplex.events.event(name, { videoId: this.videoId, ...data }));
  }

  #beginning(cursor: number): string {
    return this.#multiplex.events.message(this.#movedTo(cursor));
  }

  #report(cursor: number): void {
    this.#multiplex.write(this.#multiplex.events.cursor(this.#movedTo(cursor)));
  }

  /** The place of a frame after which the client has everything up to the cursor. */
  #movedTo(cursor: number): FramePlace {
    this.cursor = cursor;
    return { videoId: this.videoId, cursor, id: this.#id() };
  }
}
