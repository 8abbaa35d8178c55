/**
 * The viewers' connections: a Node response, or a bare socket if it could be taken. A connection that has
 * been full for `stallMs` without a drain is cut. Until it is full, that costs it nothing.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import { type BodyForm, bodyEnd, type Packet } from "../../serving/form.ts";
import { RunningSum } from "../../serving/gzip.ts";
import type { Sink, SinkOwner } from "../../serving/sink.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { Deadlines } from "../deadlines.ts";

interface Cuttable {
  cut(): void;
}

interface ConnectionParts {
  clock: Clock;
  telemetry: Telemetry;
  /** How long a connection may be full without a drain, in milliseconds; also at the end of its stream. */
  stallMs: number;
  stopped: AbortSignal;
}

/** State shared by the streams of a server. */
export class StreamConnections {
  readonly telemetry: Telemetry;
  /** Those that are full, and those that must take the rest of a stream that has ended. */
  readonly full: Deadlines<Cuttable>;
  /** Sockets whose stream has ended while bytes are still to be sent. */
  readonly #ending = new Set<Socket>();

  constructor({ clock, telemetry, stallMs, stopped }: ConnectionParts) {
    this.telemetry = telemetry;
    this.full = new Deadlines(clock, stallMs, stopped, (sink) => sink.cut());
  }

  /**
   * Closes the sink's connection after the written bytes are sent: a stream's connection is never reused.
   * Another request behind the stream gets no answer.
   */
  closeSoon(socket: Socket, sink: Cuttable): void {
    this.#ending.add(socket);
    socket.once("close", () => this.#ending.delete(socket));
    this.full.add(sink);
    socket.destroySoon();
  }

  /** Cuts a connection that has been full for too long. It counts as a viewer until its stream is over. */
  cut(socket: Socket, owner: SinkOwner | undefined): void {
    if (!socket.writableEnded) this.telemetry.viewers.cut(owner?.place);
    // After an orderly close the kernel would keep retransmitting its queue: megabytes per viewer, for
    // minutes.
    socket.resetAndDestroy();
  }

  /** Closes those whose stream has ended, whatever they have not taken. */
  close(): void {
    for (const socket of this.#ending) socket.destroy();
  }
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
    response.once("close", () => {
      shared.full.delete(this);
      onClosed();
    });
  }

  write({ bytes }: Packet): void {
    if (!this.#response.write(bytes)) this.#shared.full.add(this);
  }

  get isFull(): boolean {
    return this.#response.destroyed || this.#response.writableNeedDrain;
  }

  end(): void {
    this.#response.end();
    this.#shared.closeSoon(this.#socket, this);
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }

  cut(): void {
    this.#shared.cut(this.#socket, this.#owner);
  }

  attach(owner: SinkOwner): void {
    this.#owner = owner;
    this.#response.on("drain", () => {
      this.#shared.full.delete(this);
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

  write({ bytes, sum }: Packet): void {
    if (sum) this.#sum?.add(sum);
    if (this.#socket.writable && !this.#socket.write(bytes)) this.#shared.full.add(this);
  }

  get isFull(): boolean {
    return !this.#socket.writable || this.#socket.writableNeedDrain;
  }

  end(): void {
    const socket = this.#socket;
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    socket.write(bodyEnd(this.#sum));
    this.#shared.closeSoon(socket, this);
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }

  attach(owner: SinkOwner): void {
    this.#owner = owner;
  }

  drained(): void {
    this.#shared.full.delete(this);
    this.#owner?.drained();
  }

  cut(): void {
    this.#shared.cut(this.#socket, this.#owner);
  }

  closed(): void {
    this.#shared.full.delete(this);
    this.#onClosed();
    this.#owner?.closed();
  }
}
