/**
 * The streams' connections under back-pressure: one that has been so for `stallMs` without a drain is cut.
 * The end of its stream starts the same time for the rest, unless that time runs already. Until then, this
 * costs a connection nothing.
 *
 * A viewer may be far behind: it costs one chunk, and loses nothing, because the rest is in the store. Test:
 * "a viewer that takes nothing costs one chunk". But it must keep a minimum pace: a client that takes less
 * than about a third of its send buffer within `stallMs` is cut, although it reads.
 */
import type { Socket } from "node:net";
import type { SinkOwner } from "../../serving/sink.ts";
import type { LoopParts } from "../../telemetry/background.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { StayLimit } from "./stay-limit.ts";

/**
 * The `stallMs` of a service. Linux reports the space in a send buffer by thirds, so a client that reads
 * 5 KB/s drains one of 4 MiB, the usual size, every 280 s. Test: "drains before its client has taken half of
 * what the system buffers".
 */
export const STALL_MS = 300_000;

/** A stream's connection, and its viewer as soon as it has one. */
interface Connection {
  readonly socket: Socket;
  readonly owner: SinkOwner | undefined;
}

export class Backpressure {
  readonly #telemetry: Telemetry;
  /** The back-pressured ones, and those whose clients must take the rest of a stream that has ended. */
  readonly #undrained: StayLimit<Connection>;
  /** Sockets whose stream has ended while bytes are still to be sent. */
  readonly #ending = new Set<Socket>();

  /**
   * `stallMs`: how long a connection may be under back-pressure without a drain, in milliseconds; also at the
   * end of its stream.
   */
  constructor(parts: LoopParts, stallMs: number, stopped: AbortSignal) {
    this.#telemetry = parts.telemetry;
    this.#undrained = new StayLimit(parts, stallMs, stopped, (connection) => this.#cut(connection));
  }

  /** The connection is under back-pressure. If it already was, its time limit keeps running. */
  filled(connection: Connection): void {
    this.#undrained.add(connection);
  }

  /** The connection has drained, or is closed. */
  emptied(connection: Connection): void {
    this.#undrained.delete(connection);
  }

  /**
   * Closes the connection after the written bytes are sent: a stream's connection is never reused. Another
   * request behind the stream gets no answer.
   */
  closeSoon(connection: Connection): void {
    const { socket } = connection;
    this.#ending.add(socket);
    socket.once("close", () => this.#ending.delete(socket));
    this.#undrained.add(connection);
    socket.destroySoon();
  }

  #cut({ socket, owner }: Connection): void {
    const reason = socket.writableEnded ? "rest" : "full";
    this.#telemetry.viewers.cut(reason, { ...owner?.about, unsentBytes: socket.writableLength });
    // After an orderly close the kernel would keep retransmitting its queue: megabytes per viewer, for
    // minutes.
    socket.resetAndDestroy();
  }

  /** Closes the connections whose stream has ended, even with unread bytes. */
  close(): void {
    for (const socket of this.#ending) socket.destroy();
  }
}
