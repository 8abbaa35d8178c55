/**
 * Writes one chat to a connection that carries several. Each event names the video; messages and cursors also
 * have the id from which the whole connection resumes.
 */
import type { Init, StreamEnd } from "../../protocol/chat.ts";
import { initEvent } from "./events.ts";
import type { Multiplex } from "./multiplex.ts";
import { type ChatPart, CURSOR_END } from "./parts.ts";

export class ChatWriter {
  readonly videoId: string;
  readonly #line: Multiplex;
  readonly #id: () => string;
  /** The cursor up to which the client has everything; before the chat is open, the one it has sent. */
  cursor: number | undefined;
  /** Whether the client was sent an `init` of this chat. */
  #isBegun = false;

  /** `id`: the id from which the connection resumes after the next frame. */
  constructor(videoId: string, cursor: number | undefined, line: Multiplex, id: () => string) {
    this.videoId = videoId;
    this.cursor = cursor;
    this.#line = line;
    this.#id = id;
  }

  get isBegun(): boolean {
    return this.#isBegun;
  }

  /** Writes what a part says, except the end of the chat, which it returns. */
  write(part: ChatPart): StreamEnd | undefined {
    switch (part.kind) {
      case "init":
        this.#begin(part.init);
        return undefined;
      case "messages":
        this.#line.write(...part.frames.flatMap((frame) => this.#completed(frame)));
        return undefined;
      case "cursor":
        this.#report(part.cursor);
        return undefined;
      case "end":
        if (part.unreported !== undefined) this.#report(part.unreported);
        return part.end;
      case "idle": // the connection has keepalives of its own
        return undefined;
    }
  }

  /** A room that another instance has released continues without another `init`, if no message is missing. */
  #begin(init: Init): void {
    const isContinued = this.#isBegun && init.cursor === this.cursor;
    this.cursor = init.cursor;
    this.#isBegun = true;
    if (!isContinued) this.#line.write(initEvent(this.#line.events, init));
  }

  #report(cursor: number): void {
    this.cursor = cursor;
    this.#line.write(this.#line.events.cursor({ videoId: this.videoId, cursor, id: this.#id() }));
  }

  #completed(frame: Buffer): [string, Buffer] {
    const end = frame.indexOf(CURSOR_END);
    this.cursor = Number(frame.toString("latin1", 0, end));
    const place = { videoId: this.videoId, cursor: this.cursor, id: this.#id() };
    return [this.#line.events.message(place), frame.subarray(end + 1)];
  }
}
