/**
 * The streams' connections under back-pressure: one that has been full for `stallMs` without a drain is cut,
 * and one whose stream has ended has as long for the rest. Until a connection is full, this costs it nothing.
 */
import type { Socket } from "node:net";
import type { Clock } from "../../base/clock.ts";
import type { SinkOwner } from "../../serving/sink.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { StayLimit } from "../connections/stay-limit.ts";

interface Cuttable {
  cut(): void;
}

export class Backpressure {
  readonly #telemetry: Telemetry;
  /** Those that are full, and those that must take the rest of a stream that has ended. */
  readonly #full: StayLimit<Cuttable>;
  /** Sockets whose stream has ended while bytes are still to be sent. */
  readonly #ending = new Set<Socket>();

  /**
   * `stallMs`: how long a connection may be full without a drain, in milliseconds; also at the end of its
   * stream.
   */
  constructor(clock: Clock, telemetry: Telemetry, stallMs: number, stopped: AbortSignal) {
    this.#telemetry = telemetry;
    this.#full = new StayLimit(clock, stallMs, stopped, (sink) => sink.cut());
  }

  /** The connection is full. If it already was, its time limit keeps running. */
  filled(sink: Cuttable): void {
    this.#full.add(sink);
  }

  /** The sink's connection has drained, or is closed. */
  emptied(sink: Cuttable): void {
    this.#full.delete(sink);
  }

  /**
   * Closes the sink's connection after the written bytes are sent: a stream's connection is never reused.
   * Another request behind the stream gets no answer.
   */
  closeSoon(socket: Socket, sink: Cuttable): void {
    this.#ending.add(socket);
    socket.once("close", () => this.#ending.delete(socket));
    this.#full.add(sink);
    socket.destroySoon();
  }

  /** Cuts a connection that has been full for too long. It counts as a viewer until its stream is over. */
  cut(socket: Socket, owner: SinkOwner | undefined): void {
    if (!socket.writableEnded) this.#telemetry.viewers.cut(owner?.about);
    // After an orderly close the kernel would keep retransmitting its queue: megabytes per viewer, for
    // minutes.
    socket.resetAndDestroy();
  }

  /** Closes the connections whose stream has ended, even with unread bytes. */
  close(): void {
    for (const socket of this.#ending) socket.destroy();
  }
}
