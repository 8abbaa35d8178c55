/** The sink of a long poll: its viewer's first write, or the end of the wait, is the whole answer. */
import type { CacheCursors } from "../../serving/cache-cursors.ts";
import type { Form, Packet } from "../../serving/form.ts";
import { ANSWERS } from "../../serving/log-forms.ts";
import type { LogPosition } from "../../serving/log-position.ts";
import type { Room } from "../../serving/room.ts";
import type { Sink, SinkOwner } from "../../serving/sink.ts";
import type { StayLimit } from "../connections/stay-limit.ts";
import { type LogAnswer, pollAnswer } from "./log-answer.ts";

/** What all long polls share. */
export interface PollParts {
  waits: StayLimit<Sink>;
  cursors: CacheCursors;
}

/** What a long poll asks for. */
interface PollAsked {
  form: Form;
  position: LogPosition;
  minCacheCursor: bigint;
}

export class PollSink implements Sink {
  readonly form: Form;
  /** Undefined while it waits. */
  answer: LogAnswer | undefined;
  /** Called once with the answer, if it still waits when this is set. */
  onAnswer: ((answer: LogAnswer) => void) | undefined;
  readonly #room: Room;
  readonly #parts: PollParts;
  readonly #position: LogPosition;
  readonly #minCacheCursor: bigint;
  readonly #start: number;
  #owner: SinkOwner | undefined;

  /** `start`: the cursor after which it waits. */
  constructor({ form, position, minCacheCursor }: PollAsked, start: number, room: Room, parts: PollParts) {
    this.form = form;
    this.#position = position;
    this.#minCacheCursor = minCacheCursor;
    this.#start = start;
    this.#room = room;
    this.#parts = parts;
    parts.waits.add(this);
  }

  write({ bytes }: Packet, cursor = this.#start): void {
    if (bytes.length > 0) this.#give(bytes, cursor); // a keepalive is empty
  }

  get isBackPressured(): boolean {
    return false;
  }

  /** Ends the wait: its time is over, its room is, or its client has gone. */
  end(): void {
    this.#give(undefined, this.#start);
  }

  reset(): void {
    this.end();
  }

  attach(owner: SinkOwner): void {
    this.#owner = owner;
  }

  #give(body: Buffer | undefined, next: number): void {
    if (this.answer) return;
    const { waits, cursors } = this.#parts;
    waits.delete(this);
    const { videoId, tail, closedAt = Number.POSITIVE_INFINITY } = this.#room;
    const isAtEnd = next >= tail.head;
    const current = cursors.current();
    this.answer = pollAnswer({
      videoId,
      position: this.#position,
      start: this.#start,
      next,
      body,
      isUpToDate: body === undefined || isAtEnd,
      isClosed: next >= closedAt,
      cursor: this.#minCacheCursor > current ? this.#minCacheCursor : current,
      isGzip: this.form === ANSWERS.gzip,
    });
    this.onAnswer?.(this.answer);
    this.#owner?.closed();
  }
}
