/** A connection as its viewer sees it: back-pressured or not, drained, closed. It never throws. */
import type { Form, Packet } from "./form.ts";

/** One open connection, to which a viewer's bytes go. */
export interface Sink {
  /** The form of everything written to it. */
  readonly form: Form;
  /** `cursor`: with this packet, the client of a single chat has everything up to it. */
  write(packet: Packet, cursor?: number): void;
  /** Whether it takes no more for now, and a drain or its end follows. */
  readonly isBackPressured: boolean;
  /** Whether its viewer is the first to write after the next drain, of those that share the connection. */
  readonly isNext?: boolean;
  /** Ends the stream once the connection has taken everything written. */
  end(): void;
  /** Cuts the connection and discards the bytes it has not taken, including those in the kernel. */
  reset(): void;
  /** Sets the owner, which is notified of drains and of the end. */
  attach(owner: SinkOwner): void;
}

export interface SinkOwner {
  /** What the log says about it: its room, or rooms. */
  readonly about?: object;
  drained(): void;
  /** Called when the connection or its stream ends for any reason. */
  closed(): void;
}
