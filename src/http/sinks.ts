/** The connections of viewers: through Node's response, or as the socket alone where it could be taken. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { bodyEnd, type Form, type Packet } from "../rooms/form.ts";
import { RunningSum } from "../rooms/gzip.ts";
import type { Sink, SinkOwner } from "../rooms/sink.ts";
import { giveBack } from "./hand-over.ts";
import type { SendQueues } from "./send-queues.ts";

/** A response, its head sent. */
export class ResponseSink implements Sink {
  readonly form: Form;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #queues: SendQueues;

  constructor(response: ServerResponse, form: Form, queues: SendQueues, onClosed: () => void) {
    this.form = form;
    this.#queues = queues;
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
    return this.#queues.taken(this.#socket);
  }

  end(): void {
    this.#response.end();
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
  /** A second request: it could be answered only when the stream ends, and waits for that unseen. */
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
  readonly #server: Server;
  readonly #queues: SendQueues;
  readonly #onClosed: () => void;
  readonly #sum: RunningSum | undefined;
  #owner: SinkOwner | undefined;

  constructor(socket: Socket, server: Server, form: Form, queues: SendQueues, onClosed: () => void) {
    this.form = form;
    this.#socket = socket;
    this.#server = server;
    this.#queues = queues;
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
    return this.#queues.taken(this.#socket);
  }

  end(): void {
    const socket = this.#socket;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    socket.write(bodyEnd(this.#sum));
    for (const [event, listener] of Object.entries(LISTENERS)) socket.off(event, listener);
    delete socket[sinkOf];
    giveBack(socket, this.#server);
    this.closed();
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
