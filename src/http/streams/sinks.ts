/** The viewers' connections: a Node response, or a bare socket if it could be taken. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type BodyForm, bodyEnd, type Packet } from "../../serving/form.ts";
import { RunningSum } from "../../serving/gzip.ts";
import type { Sink, SinkOwner } from "../../serving/sink.ts";
import type { SendQueues } from "./send-queues.ts";

/** Time limit without progress for a client that receives the rest of an ended stream, in milliseconds. */
const ENDING_MS = 300_000;

/** State shared by the streams of a server. */
export interface StreamConnections {
  queues: SendQueues;
  /** Sockets whose stream has ended while bytes are still to be sent. */
  ending: Set<Socket>;
}

/**
 * Closes the connection after the written bytes are sent: a stream's connection is never reused. Another
 * request behind the stream gets no answer.
 */
function closeSoon(socket: Socket, { ending }: StreamConnections): void {
  ending.add(socket);
  socket.once("close", () => ending.delete(socket));
  socket.setTimeout(ENDING_MS, () => socket.resetAndDestroy());
  socket.destroySoon();
}

/** A response whose head was sent. */
export class ResponseSink implements Sink {
  readonly form: BodyForm;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #shared: StreamConnections;

  constructor(response: ServerResponse, form: BodyForm, shared: StreamConnections, onClosed: () => void) {
    this.form = form;
    this.#shared = shared;
    this.#response = response;
    this.#socket = response.req.socket;
    response.on("error", () => this.#socket.destroy()); // treats a broken connection as a viewer that leaves
    response.once("close", onClosed);
  }

  write({ bytes }: Packet): boolean {
    return this.#response.write(bytes);
  }

  get written(): number {
    return this.#socket.bytesWritten;
  }

  taken(): Promise<number> {
    return this.#shared.queues.taken(this.#socket);
  }

  end(): void {
    this.#response.end();
    closeSoon(this.#socket, this.#shared);
  }

  reset(): void {
    // After an orderly close the kernel would keep retransmitting its queue: megabytes per viewer, for
    // minutes.
    this.#socket.resetAndDestroy();
  }

  attach(owner: SinkOwner): void {
    this.#response.on("drain", () => owner.drained());
    this.#response.on("close", () => owner.closed());
  }
}

const sinkOf = Symbol("sink");

interface SinkSocket extends Socket {
  [sinkOf]?: SocketSink;
}

/** The socket events passed to the sink. All sockets share these functions. */
const LISTENERS: Record<string, (this: SinkSocket) => void> = {
  /** A second request could never be answered, because the connection closes after the stream. */
  data() {
    this.destroy();
  },
  end() {
    this.end();
  },
  error() {}, // `close` follows
  drain() {
    this[sinkOf]?.drained();
  },
  close() {
    this[sinkOf]?.closed();
  },
};

/** A socket taken from the server, in the middle of a chunked body. */
export class SocketSink implements Sink {
  readonly form: BodyForm;
  readonly #socket: SinkSocket;
  readonly #shared: StreamConnections;
  readonly #onClosed: () => void;
  readonly #sum: RunningSum | undefined;
  #owner: SinkOwner | undefined;

  constructor(socket: Socket, form: BodyForm, shared: StreamConnections, onClosed: () => void) {
    this.form = form;
    this.#socket = socket;
    this.#shared = shared;
    this.#onClosed = onClosed;
    this.#sum = form.transferCoding === "gzip" ? new RunningSum() : undefined;
    this.#socket[sinkOf] = this;
    for (const [event, listener] of Object.entries(LISTENERS)) socket.on(event, listener);
    socket.resume();
  }

  write({ bytes, sum }: Packet): boolean {
    if (sum) this.#sum?.add(sum);
    return this.#socket.writable && this.#socket.write(bytes);
  }

  get written(): number {
    return this.#socket.bytesWritten;
  }

  taken(): Promise<number> {
    return this.#shared.queues.taken(this.#socket);
  }

  end(): void {
    const socket = this.#socket;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    socket.write(bodyEnd(this.#sum));
    closeSoon(socket, this.#shared);
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }

  attach(owner: SinkOwner): void {
    this.#owner = owner;
  }

  drained(): void {
    this.#owner?.drained();
  }

  closed(): void {
    this.#onClosed();
    this.#owner?.closed();
  }
}
