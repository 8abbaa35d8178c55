/** A client's connection on `node:http`. */
import type { CheckedStream } from "./checked-stream.ts";
import type { Connection, ConnectionContext } from "./connection.ts";
import { SLOW_READ_BYTES, SLOW_READ_MS } from "./slow-reader.ts";
import { SseConnection } from "./sse.ts";

export class HttpConnection implements Connection {
  readonly #connection: SseConnection;
  /** Ends a stall or trickle. */
  #recovery: NodeJS.Timeout | undefined;
  #reads: NodeJS.Timeout | undefined;

  constructor(context: ConnectionContext) {
    const lastEventId = context.lastEventId();
    const stream: CheckedStream = context.begin(lastEventId);
    this.#connection = new SseConnection(context.url, lastEventId, {
      head: (...head) => stream.head(...head),
      frame: (frame) => stream.frame(frame),
      cursor: (id) => stream.cursor(id),
      retry: (ms) => stream.retry(ms),
      comment: (text) => stream.comment(text),
      body: (text) => stream.body(text),
      malformed: (what) => stream.malformed(what),
      closed: () => {
        this.#stopSlowness();
        context.over();
      },
    });
  }

  stall(ms: number): void {
    this.#stopSlowness();
    this.#connection.pause();
    this.#recovery = setTimeout(() => this.#recover(), ms);
  }

  trickle(ms: number): void {
    this.stall(ms);
    this.#reads = setInterval(() => this.#connection.readSlowly(SLOW_READ_BYTES), SLOW_READ_MS);
  }

  cut(): void {
    this.#connection.destroy();
  }

  #recover(): void {
    this.#stopSlowness();
    this.#connection.resume();
  }

  #stopSlowness(): void {
    clearTimeout(this.#recovery);
    clearInterval(this.#reads);
  }
}
