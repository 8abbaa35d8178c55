/**
 * One connection to a room: a cursor, not a queue. `pump()` writes the room's chunks after the cursor, those
 * in memory at once and those of the store when they are read, until the sink is back-pressured or nothing is
 * left. So backfill, resume, live and slow reading use the same code, and a slow viewer holds at most one
 * chunk beyond what its sink takes.
 */
import type { Init, StreamEnd } from "../protocol/chat.ts";
import type { FactPlace } from "./fact-frames.ts";
import type { Feed } from "./feeds.ts";
import type { Packet } from "./form.ts";
import type { Sink, SinkOwner } from "./sink.ts";
import type { Chunk } from "./tail.ts";

/** What it needs of its room, and says to it; see `Room`. */
interface ViewerRoom {
  readonly videoId: string;
  readonly head: number;
  readonly streamEnd: StreamEnd | undefined;
  chunk(after: number, feed: Feed, last?: number): Chunk | Promise<Chunk> | undefined;
  sent(bytes: number): void;
  leave(viewer: Viewer): void;
  logFailed(viewer: Viewer, error: unknown): void;
}

export class Viewer implements SinkOwner {
  readonly feed: Feed;
  readonly #room: ViewerRoom;
  readonly #sink: Sink;
  /** Its places in the facts that its client asks for; undefined if it asks for none. */
  readonly #facts: readonly FactPlace[] | undefined;
  #cursor: number;
  /** The last cursor that its client has received or came with; undefined if there is none. */
  #clientCursor: number | undefined;
  #isReading = false;
  /** A chunk that was read from the store and is the next to be written, after any back-pressure. */
  #unsent: Chunk | undefined;
  /** The cursor at which it leaves; undefined if it stays to the end. */
  #last: number | undefined;
  #isOpen = true;

  /**
   * A viewer that has everything up to `cursor`. `clientCursor`: the cursor that its client came with, if it
   * is honoured. `facts`: those that it is sent. It writes nothing before `start`.
   */
  constructor(
    room: ViewerRoom,
    sink: Sink,
    feed: Feed,
    cursor: number,
    clientCursor: number | undefined,
    facts?: readonly FactPlace[],
  ) {
    this.feed = feed;
    this.#facts = facts;
    this.#room = room;
    this.#sink = sink;
    this.#cursor = cursor;
    this.#clientCursor = clientCursor;
    sink.attach(this);
  }

  /** The cursor up to which it has everything that its filter lets through. */
  get cursor(): number {
    return this.#cursor;
  }

  get about(): object {
    return { videoId: this.#room.videoId, cursor: this.#cursor };
  }

  /** Whether it waits for a chunk from the store. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /** Begins the stream: the frames before history, then everything after the cursor. */
  start(init: Init): void {
    this.#write(this.feed.form.head(init, this.#room.head));
    this.pump();
  }

  /**
   * Writes the facts that have changed, and the messages after the cursor. Called when there may be more of
   * them, or more space.
   */
  pump(): void {
    try {
      while (this.#isOpen && !this.#isReading && !this.#sink.isBackPressured) {
        if (this.#facts) this.#writeFacts(this.#facts);
        const chunk = this.#nextChunk();
        if (chunk === undefined) {
          this.#endIfOver();
          break;
        }
        if (chunk instanceof Promise) this.#await(chunk);
        else this.#send(chunk);
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #writeFacts(facts: readonly FactPlace[]): void {
    for (const fact of facts) {
      const packet = fact.next(this.feed.form);
      if (packet) this.#write(packet);
    }
  }

  #nextChunk(): Chunk | Promise<Chunk> | undefined {
    if (this.#hasAll) return undefined;
    const unsent = this.#unsent;
    this.#unsent = undefined;
    return unsent ?? this.#room.chunk(this.#cursor, this.feed, this.#last);
  }

  /**
   * Sends the form's keepalive, for idle connections, after the cursor if the filter has moved it. A viewer
   * with unread bytes needs none.
   */
  keepalive(): void {
    if (this.#sink.isBackPressured) return;
    this.#write(this.feed.keepalive(this.#unreported));
    this.#clientCursor = this.#cursor;
  }

  /**
   * The cursor to send on its own: set if the filter has skipped messages since the client last received a
   * cursor. Without a filter, every message carries its cursor.
   */
  get #unreported(): number | undefined {
    return this.feed.isFiltered && this.#clientCursor !== this.#cursor ? this.#cursor : undefined;
  }

  /**
   * Leaves without a terminal frame as soon as it has everything up to this cursor. A chunk from the store
   * may go beyond it.
   */
  endAt(cursor: number): void {
    this.#last = cursor;
    this.pump();
  }

  /** Ends the connection without a terminal frame, so that the client reconnects and resumes. */
  end(): void {
    this.#leave();
    this.#sink.end();
  }

  /** Cuts the connection and discards unread bytes. */
  reset(): void {
    this.#leave();
    this.#sink.reset();
  }

  closed(): void {
    this.#leave();
  }

  #leave(): void {
    this.#isOpen = false;
    this.#room.leave(this);
  }

  drained(): void {
    this.pump();
  }

  #await(read: Promise<Chunk>): void {
    this.#isReading = true;
    read
      .then((chunk) => {
        this.#isReading = false;
        // Under back-pressure, if others come first, the chunk is read again: waiting costs no memory.
        if (!this.#sink.isBackPressured || this.#sink.isNext) this.#unsent = chunk;
        this.pump();
      })
      .catch((error: unknown) => this.#fail(error));
  }

  /** An inconsistency costs only this viewer its connection: it resumes by its cursor. */
  #fail(error: unknown): void {
    if (!this.#isOpen) return; // the viewer has left: its room may have ended the read for that
    this.#room.logFailed(this, error);
    this.reset();
  }

  #send({ packet, last = this.#clientCursor, next }: Chunk): void {
    if (next <= this.#cursor)
      throw new Error(
        `the chunk after cursor ${this.#cursor} ends at ${next}, so the viewer would not advance`,
      );
    this.#cursor = next;
    this.#clientCursor = last;
    if (packet) this.#write(packet);
  }

  #write(packet: Packet): void {
    this.#room.sent(packet.size);
    this.#sink.write(packet, this.#cursor);
  }

  /** Whether it has everything up to the cursor that `endAt` has set. */
  get #hasAll(): boolean {
    return this.#last !== undefined && this.#cursor >= this.#last;
  }

  // [spec] `event: end` | at most once | Terminal; body closes.
  #endIfOver(): void {
    if (this.#hasAll) {
      this.keepalive(); // with the cursor, if the filter has moved it
      this.end();
      return;
    }
    const { streamEnd } = this.#room;
    if (!streamEnd) return;
    this.#write(this.feed.form.end(streamEnd, this.#cursor, this.#unreported));
    this.end();
  }
}
