/**
 * The viewers' connections as sinks: a Node response, a bare socket if it could be taken, or a head alone.
 * The first two report to `Backpressure` when they are back-pressured, drained or ending. A broken connection
 * counts as a viewer that leaves.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type BodyForm, bodyEnd, type Packet } from "../../serving/form.ts";
import { RunningSum } from "../../serving/gzip.ts";
import type { Sink, SinkOwner } from "../../serving/sink.ts";
import type { Backpressure } from "../connections/backpressure.ts";

/** A response whose head was sent. */
export class ResponseSink implements Sink {
  readonly form: BodyForm;
  readonly #response: ServerResponse;
  readonly socket: Socket;
  readonly #backpressure: Backpressure;
  owner: SinkOwner | undefined;

  constructor(response: ServerResponse, form: BodyForm, backpressure: Backpressure, onClosed: () => void) {
    this.form = form;
    this.#backpressure = backpressure;
    this.#response = response;
    this.socket = response.req.socket;
    response.on("error", () => this.socket.destroy()); // treats a broken connection as a viewer that leaves
    response.once("close", () => {
      backpressure.emptied(this);
      onClosed();
    });
  }

  write({ bytes }: Packet): void {
    if (!this.#response.writableEnded && !this.#response.write(bytes)) this.#backpressure.filled(this);
  }

  get isBackPressured(): boolean {
    const { destroyed, writableEnded, writableNeedDrain } = this.#response;
    return destroyed || writableEnded || writableNeedDrain;
  }

  end(): void {
    this.#response.end();
    this.#backpressure.closeSoon(this);
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  attach(owner: SinkOwner): void {
    this.owner = owner;
    this.#response.on("drain", () => {
      this.#backpressure.emptied(this);
      owner.drained();
    });
    this.#response.on("close", () => owner.closed());
  }
}

/** A response that is over with its head: its viewer leaves without a byte. */
export class HeadSink implements Sink {
  readonly form: BodyForm;
  readonly isBackPressured = true; // so the store is not read for it

  constructor(response: ServerResponse, form: BodyForm, onClosed: () => void) {
    this.form = form;
    response.once("close", onClosed);
    response.end();
  }

  write(): void {}

  end(): void {}

  reset(): void {}

  attach(owner: SinkOwner): void {
    queueMicrotask(() => owner.closed()); // once the owner is in its room
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
  error() {}, // `close` follows
  drain() {
    this[sinkOf]?.drained();
  },
  close() {
    this[sinkOf]?.closed();
  },
};

function endWithClient(this: Socket): void {
  this.end();
}

/** A socket taken from the server, in the middle of a chunked body. */
export class SocketSink implements Sink {
  readonly form: BodyForm;
  readonly socket: SinkSocket;
  readonly #backpressure: Backpressure;
  readonly #onClosed: () => void;
  readonly #sum: RunningSum | undefined;
  owner: SinkOwner | undefined;

  /** `endsByItself`: whether a client that has closed its writing side gets the rest. */
  constructor(
    socket: Socket,
    form: BodyForm,
    backpressure: Backpressure,
    onClosed: () => void,
    endsByItself = false,
  ) {
    this.form = form;
    this.socket = socket;
    this.#backpressure = backpressure;
    this.#onClosed = onClosed;
    this.#sum = form.transferCoding === "gzip" ? new RunningSum() : undefined;
    this.socket[sinkOf] = this;
    for (const [event, listener] of Object.entries(LISTENERS)) socket.on(event, listener);
    if (!endsByItself) socket.on("end", endWithClient);
    socket.resume();
  }

  write({ bytes, sum }: Packet): void {
    if (sum) this.#sum?.add(sum);
    if (this.socket.writable && !this.socket.write(bytes)) this.#backpressure.filled(this);
  }

  get isBackPressured(): boolean {
    return !this.socket.writable || this.socket.writableNeedDrain;
  }

  end(): void {
    const socket = this.socket;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    socket.write(bodyEnd(this.#sum));
    this.#backpressure.closeSoon(this);
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  attach(owner: SinkOwner): void {
    this.owner = owner;
  }

  drained(): void {
    this.#backpressure.emptied(this);
    this.owner?.drained();
  }

  closed(): void {
    this.#backpressure.emptied(this);
    this.#onClosed();
    this.owner?.closed();
  }
}
