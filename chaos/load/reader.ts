/**
 * One viewer over all its connections: it keeps its cursor, asks for what follows when it comes back, and judges
 * that each message comes once and in order. A stuck one asks for the same and takes nothing.
 */
import { type SseFrame, SseSocket } from "../sse-socket.ts";
import type { Tally } from "./tally.ts";

export interface ReaderWish {
  videoId: string;
  /** Asks for details, which tell when a message was said: its delays are measured. */
  details: boolean;
  stuck: boolean;
  /** Where it calls from. */
  localAddress: string;
}

/** How a connection that had begun came to its end. */
export interface Closing {
  /** Wall time, milliseconds since 1970. */
  at: number;
  /** The response came to its orderly end. */
  complete: boolean;
}

export class Reader {
  readonly wish: ReaderWish;
  /** Of the last message, or of the init frame before it; before the first connection, what it is to send. */
  cursor: number | undefined;
  /** The last end of a stream that the reader itself did not want. */
  closing: Closing | undefined;
  readonly #tally: Tally;
  #connection: SseSocket | undefined;
  #hasInit = false;

  constructor(wish: ReaderWish, lastEventId: number | undefined, tally: Tally) {
    this.wish = wish;
    this.cursor = lastEventId;
    this.#tally = tally;
  }

  /** A stream is open, as far as the reader can know. */
  get isOpen(): boolean {
    return this.#hasInit;
  }

  /** Calls the service; resolves once the stream has begun or has failed to. */
  connect(service: string): Promise<void> {
    const { videoId, details, stuck, localAddress } = this.wish;
    const { promise, resolve } = Promise.withResolvers<void>();
    const from = performance.now();
    const asked = this.cursor;
    let trouble = "closed before its init frame";
    const url = new URL(`/v1/stream?videoId=${videoId}&backfill=0${details ? "&details=true" : ""}`, service);
    const headers: Record<string, string> = asked === undefined ? {} : { "last-event-id": String(asked) };
    const begun = () => {
      this.#hasInit = true;
      this.#tally.openings.add(performance.now() - from);
      resolve();
    };
    const listener = {
      head: (status: number) => {
        if (status !== 200) trouble = `answered with ${status}`;
      },
      frame: (frame: SseFrame) => {
        if (this.#connection !== connection) return;
        if (frame.event === "init") {
          this.#begin(JSON.parse(frame.data).cursor, asked);
          begun();
        } else this.#take(frame);
      },
      closed: (complete: boolean) => {
        if (this.#connection !== connection) return;
        if (this.#hasInit) this.closing = { at: Date.now(), complete };
        else this.#tally.fault(`no stream: ${trouble}`);
        this.#hasInit = false;
        this.#connection = undefined;
        resolve();
      },
    };
    const connection = new SseSocket(url, headers, listener, localAddress);
    this.#connection = connection;
    connection.socket.once("error", ({ message }) => {
      trouble = message.replace(/ [\d.:-]+.*$/, "");
    });
    if (stuck) {
      connection.pause();
      connection.socket.once("connect", begun);
    }
    return promise;
  }

  /** Ends its connection by itself, if it has one. */
  cut(): void {
    this.#connection?.destroy();
    this.#connection = undefined;
    this.#hasInit = false;
  }

  #begin(cursor: number, asked: number | undefined): void {
    if (asked !== undefined && asked > 0 && cursor !== asked)
      this.#tally.fault("resumed elsewhere than asked");
    this.cursor = cursor;
  }

  #take({ event, id, data }: SseFrame): void {
    if (event !== "message") {
      this.#tally.fault(`a frame: ${event}`);
      return;
    }
    const cursor = Number(id);
    const expected = (this.cursor ?? Number.NaN) + 1;
    if (cursor !== expected) this.#tally.fault(cursor > expected ? "messages missed" : "messages repeated");
    this.cursor = cursor;
    if (!this.wish.details) return;
    const { publishedAt } = JSON.parse(data).details;
    this.#tally.deliveries.add(Date.now() - Date.parse(publishedAt));
  }
}
