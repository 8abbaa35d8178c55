/** The connections of viewers: through Node's response, or as the socket alone where it could be taken. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { bodyEnd, type Form, type Packet } from "../serving/form.ts";
import { RunningSum } from "../serving/gzip.ts";
import type { Sink, SinkOwner } from "../serving/sink.ts";
import type { SendQueues } from "./send-queues.ts";

/** How long a client may take nothing of what its stream ended with, in milliseconds: as long as a viewer is waited for. */
const ENDING_MS = 300_000;

/** What the streams of a server share. */
export interface StreamConnections {
  queues: SendQueues;
  /** Those whose stream has ended, and whose client has not taken all of it yet. */
  ending: Set<Socket>;
}

/**
 * Closes the connection once what was written is taken: a stream's connection is not used again. Where another request
 * stands behind the stream, it is dropped.
 */
function closeSoon(socket: Socket, { ending }: StreamConnections): void {
  ending.add(socket);
  socket.once("close", () => ending.delete(socket));
  socket.setTimeout(ENDING_MS, () => socket.resetAndDestroy());
  socket.destroySoon();
}

/** A response, its head sent. */
export class ResponseSink implements Sink {
  readonly form: Form;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #shared: StreamConnections;

  constructor(response: ServerResponse, form: Form, shared: StreamConnections, onClosed: () => void) {
    this.form = form;
    this.#shared = shared;
    this.#response = response;
    this.#socket = response.req.socket;
    response.on("error", () => this.#socket.destroy()); // a connection that breaks is a viewer that leaves
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
    // After an orderly close the kernel would keep offering what it holds: megabytes per viewer, for minutes.
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

/** What a socket tells its sink: the same functions for all sockets. */
const LISTENERS: Record<string, (this: SinkSocket) => void> = {
  /** A second request: the connection is closed when the stream ends, so it could never be answered. */
  data() {
    this.destroy();
  },
  end() {
    this.end();
  },
  error() {}, // it closes
  drain() {
    this[sinkOf]?.drained();
  },
  close() {
    this[sinkOf]?.closed();
  },
};

/** A socket that was taken from the server, in the middle of a body in chunks. */
export class SocketSink implements Sink {
  readonly form: Form;
  readonly #socket: SinkSocket;
  readonly #shared: StreamConnections;
  readonly #onClosed: () => void;
  readonly #sum: RunningSum | undefined;
  #owner: SinkOwner | undefined;

  constructor(socket: Socket, form: Form, shared: StreamConnections, onClosed: () => void) {
    this.form = form;
    this.#socket = socket;
    this.#shared = shared;
    this.#onClosed = onClosed;
    this.#sum = form.packing === "gzip" ? new RunningSum() : undefined;
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
