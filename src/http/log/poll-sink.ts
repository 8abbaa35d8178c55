/** The sink of a long poll: its viewer's first write, or the end of the wait, is the whole answer. */
import type { Form, Packet } from "../../serving/form.ts";
import type { Room } from "../../serving/room.ts";
import type { Sink, SinkOwner } from "../../serving/sink.ts";

/** What a long poll is answered. */
export interface PollAnswer {
  /** The items, as the sink's form has written them; undefined if there are none. */
  body: Buffer | undefined;
  /** The client has everything up to this cursor. */
  next: number;
  isUpToDate: boolean;
  /** Whether the chat is over, and the client has all of it. */
  isClosed: boolean;
}

export class PollSink implements Sink {
  readonly form: Form;
  readonly isPoll = true;
  readonly #room: Room;
  readonly #start: number;
  readonly #answer: (answer: PollAnswer) => void;
  #owner: SinkOwner | undefined;
  #isAnswered = false;

  /** `start`: the cursor after which it waits. `answer` is called once. */
  constructor(form: Form, start: number, room: Room, answer: (answer: PollAnswer) => void) {
    this.form = form;
    this.#start = start;
    this.#room = room;
    this.#answer = answer;
  }

  write({ bytes }: Packet, cursor = this.#start): boolean {
    if (bytes.length > 0) this.#give(bytes, cursor); // a keepalive is empty
    return true;
  }

  /** Ends the wait: its time is over, or its room is. */
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
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    const { tail, streamEnd } = this.#room;
    const isUpToDate = body === undefined || next === tail.head;
    const isClosed = streamEnd?.state === "ended" && next === tail.head;
    this.#answer({ body, next, isUpToDate, isClosed });
    this.#owner?.closed();
  }
}
