/**
 * One connection to a room: a cursor, not a queue. `pump()` writes what follows the cursor, from the store below
 * the tail's floor and from the tail above it, until the socket is full or nothing is left; so backfill,
 * resume, live and slow reading are the same code, and a slow viewer holds one chunk at most.
 */
import type { ServerResponse } from "node:http";
import type { Init, RoomEnd } from "../protocol/chat.ts";
import { endFrame, initFrame, KEEPALIVE_FRAME, RETRY_FRAME } from "../protocol/frame.ts";
import type { Chunk, Tail } from "./tail.ts";

/** What a viewer needs of its room. */
export interface Watched {
  readonly videoId: string;
  readonly tail: Tail;
  /** Set once the room is over: viewers that have everything are told, and closed. */
  readonly end: RoomEnd | undefined;
  /** Messages after a cursor below the tail's floor. */
  page(after: number, withDetails: boolean): Promise<Chunk>;
  /** Milliseconds on a clock that never jumps. */
  now(): number;
  leave(viewer: Viewer): void;
  sent(bytes: number): void;
  /** A read that broke the store's contract: the viewer cannot go on. */
  broken(error: unknown): void;
}

const KEEPALIVE = Buffer.from(KEEPALIVE_FRAME);

export class Viewer {
  readonly #room: Watched;
  readonly #withDetails: boolean;
  #cursor = 0;
  #sink: ServerResponse | undefined;
  /** What it waits for before it may write again; undefined while it is up to date or writing. */
  #waitsFor: "drain" | "page" | undefined;
  #stalledSince: number | undefined;
  #hasLeft = false;

  constructor(room: Watched, withDetails: boolean) {
    this.#room = room;
    this.#withDetails = withDetails;
  }

  /** The cursor of the last message written. */
  get cursor(): number {
    return this.#cursor;
  }

  /** Begins the stream on an open response: the frames before history, then everything after the init cursor. */
  start(sink: ServerResponse, init: Init): void {
    if (this.#hasLeft) {
      sink.end(); // its room was let go of while it entered: it comes back, to the room's next owner
      return;
    }
    this.#sink = sink;
    this.#cursor = init.cursor;
    sink.on("drain", () => {
      this.#stalledSince = undefined;
      if (this.#waitsFor !== "drain") return;
      this.#waitsFor = undefined;
      this.pump();
    });
    sink.on("error", () => sink.destroy()); // a connection that breaks is a viewer that leaves
    sink.on("close", () => this.leave());
    this.#write(Buffer.from(RETRY_FRAME + initFrame(init)));
    this.pump();
  }

  /** Writes what there is to write; called whenever there may be more, or room for more. */
  pump(): void {
    try {
      while (this.#sink && !this.#waitsFor) {
        const next = this.#following();
        if (!next) break;
        this.#send(next);
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  /** The next chunk from memory. Undefined where it has to be read first, or where there is none: then the room may be over. */
  #following(): Chunk | undefined {
    const { tail } = this.#room;
    if (this.#cursor < tail.floor) {
      this.#readPage();
      return undefined;
    }
    const chunk = tail.chunk(this.#cursor, this.#withDetails);
    if (!chunk) this.#finishIfOver();
    return chunk;
  }

  /** A comment that keeps idle connections from being reaped; a viewer that still has bytes to take needs none. */
  keepalive(): void {
    if (this.#sink && this.#stalledSince === undefined) this.#write(KEEPALIVE);
  }

  /** For how long it has not taken what was written, in milliseconds. */
  get stalledMs(): number {
    return this.#stalledSince === undefined ? 0 : this.#room.now() - this.#stalledSince;
  }

  /** Ends the stream without an `end` frame: the client is to reconnect and resume. */
  hangUp(): void {
    const sink = this.#detach();
    sink?.end();
  }

  /**
   * Cuts the connection, whatever it still had to take. A reset, for after an orderly close the kernel would keep
   * offering what it holds, megabytes for each viewer and for minutes.
   */
  drop(): void {
    const sink = this.#detach();
    sink?.socket?.resetAndDestroy();
  }

  leave(): void {
    this.#detach();
  }

  #detach(): ServerResponse | undefined {
    const sink = this.#sink;
    this.#sink = undefined;
    this.#hasLeft = true;
    this.#room.leave(this);
    return sink;
  }

  #readPage(): void {
    this.#waitsFor = "page";
    this.#room
      .page(this.#cursor, this.#withDetails)
      .then((chunk) => {
        this.#waitsFor = undefined;
        if (this.#sink) this.#send(chunk);
        this.pump();
      })
      .catch((error: unknown) => this.#fail(error));
  }

  /** What cannot be right costs this viewer its connection and nobody else: it resumes by its cursor. */
  #fail(error: unknown): void {
    this.#room.broken(error);
    this.drop();
  }

  #send({ bytes, next }: Chunk): void {
    if (next <= this.#cursor) throw new Error(`a chunk after ${this.#cursor} that leads to ${next}`);
    this.#cursor = next;
    this.#write(bytes);
  }

  #write(bytes: Buffer): void {
    this.#room.sent(bytes.length);
    if (this.#sink?.write(bytes) !== false) return;
    if (this.#waitsFor !== "page") this.#waitsFor = "drain"; // the page that is being read may still follow
    this.#stalledSince ??= this.#room.now();
  }

  // [spec] `event: end` | at most once | Terminal; body closes.
  #finishIfOver(): void {
    const { end } = this.#room;
    if (!end) return;
    const sink = this.#detach();
    sink?.end(endFrame(end));
  }
}
