import type { Form, Packet } from "./form.ts";

/** Where a viewer's bytes go: one open connection. No method throws, whatever has become of the connection. */
export interface Sink {
  /** The form of all that is written to it. */
  readonly form: Form;
  /** Whether more may be written at once; where not, a drain follows. */
  write(packet: Packet): boolean;
  /** All bytes of the connection that were written so far. */
  readonly written: number;
  /** How many of them the other end has taken, as far as the system tells. Never rejects. */
  taken(): Promise<number>;
  /** Ends the stream once the connection has taken what was written. */
  end(): void;
  /** Cuts the connection and discards what it has not taken, in the kernel too. */
  reset(): void;
  /** Names the one who is told what becomes of the connection. */
  attach(owner: SinkOwner): void;
}

export interface SinkOwner {
  drained(): void;
  /** Called however the connection or its stream ends. */
  closed(): void;
}
