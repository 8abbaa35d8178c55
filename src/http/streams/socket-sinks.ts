/**
 * The viewers' connections: a Node response, or a bare socket if it could be taken. A connection that has
 * been full for `stallMs` without a drain is cut. Until it is full, that costs it no timer.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type BodyForm, bodyEnd, type Packet } from "../../serving/form.ts";
import { RunningSum } from "../../serving/gzip.ts";
import type { Sink, SinkOwner } from "../../serving/sink.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";

/** State shared by the streams of a server. */
export interface StreamConnections {
  /** How long a connection may be full without a drain, in milliseconds; also at the end of its stream. */
  stallMs: number;
  telemetry: Telemetry;
  /** Sockets whose stream has ended while bytes are still to be sent. */
  ending: Set<Socket>;
}

/**
 * Closes the connection after the written bytes are sent: a stream's connection is never reused. Another
 * request behind the stream gets no answer.
 */
function closeSoon(socket: Socket, { ending, stallMs }: StreamConnections): void {
  ending.add(socket);
  socket.once("close", () => ending.delete(socket));
  socket.setTimeout(stallMs);
  socket.destroySoon();
}

/** Ends a connection that has been full for too long. It counts as a viewer until its stream is over. */
function cut(socket: Socket, { telemetry }: StreamConnections, owner: SinkOwner | undefined): void {
  if (!socket.writableEnded) telemetry.viewers.cut(owner?.place);
  // After an orderly close the kernel would keep retransmitting its queue: megabytes per viewer, for minutes.
  socket.resetAndDestroy();
}

/** A response whose head was sent. */
export class ResponseSink implements Sink {
  readonly form: BodyForm;
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #shared: StreamConnections;
  #owner: SinkOwner | undefined;

  constructor(response: ServerResponse, form: BodyForm, shared: StreamConnections, onClosed: () => void) {
    this.form = form;
    this.#shared = shared;
    this.#response = response;
    this.#socket = response.req.socket;
    response.on("error", () => this.#socket.destroy()); // treats a broken connection as a viewer that leaves
    response.once("close", onClosed);
    response.on("timeout", () => cut(this.#socket, shared, this.#owner));
  }

  write({ bytes }: Packet): boolean {
    if (this.#response.write(bytes)) return true;
    this.#socket.setTimeout(this.#shared.stallMs);
    return false;
  }

  end(): void {
    this.#response.end();
    closeSoon(this.#socket, this.#shared);
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }

  attach(owner: SinkOwner): void {
    this.#owner = owner;
    this.#response.on("drain", () => {
      this.#socket.setTimeout(0);
      owner.drained();
    });
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
    this.setTimeout(0);
    this[sinkOf]?.drained();
  },
  timeout() {
    this[sinkOf]?.timedOut();
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
    if (!this.#socket.writable) return false;
    if (this.#socket.write(bytes)) return true;
    this.#socket.setTimeout(this.#shared.stallMs);
    return false;
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

  timedOut(): void {
    cut(this.#socket, this.#shared, this.#owner);
  }

  closed(): void {
    this.#onClosed();
    this.#owner?.closed();
  }
}
