/**
 * The rules for the frames of one viewer, across all its connections: each connection begins at the requested
 * cursor, or anywhere without one; each message's cursor is one more than the last; and nothing follows a
 * terminal frame. Cursors may skip only messages that the viewer's filter leaves out. Every judge of a viewer
 * uses this class. Each method returns the violation, if there is one.
 */
export class Sequence {
  /** The last cursor of a message, a cursor frame or init; undefined before the first init. */
  cursor: number | undefined;
  /** The connection's terminal frame has arrived. */
  hasEnded = false;
  readonly #isDue: (cursor: number) => boolean;

  /** `isDue`: whether the viewer must be sent the message under a cursor; by default every one. */
  constructor(isDue: (cursor: number) => boolean = () => true) {
    this.#isDue = isDue;
  }

  /**
   * A connection begins after `cursor`; if it asked for the messages after `asked`, it must begin there. 0
   * asks for all.
   */
  begin(cursor: number, asked: number | undefined): string | undefined {
    this.cursor = cursor;
    this.hasEnded = false;
    return asked && cursor !== asked
      ? `asked for what follows ${asked}, it begins after ${cursor}`
      : undefined;
  }

  next(cursor: number): string | undefined {
    const before = this.cursor;
    this.cursor = cursor;
    if (this.hasEnded) return `is sent ${cursor} after its end`;
    return this.#leads(before, cursor - 1) ? undefined : `is sent ${cursor} after ${before}`;
  }

  /** A cursor frame: a cursor without a message. */
  moved(cursor: number): string | undefined {
    const before = this.cursor;
    this.cursor = cursor;
    if (this.hasEnded) return `is told ${cursor} after its end`;
    return this.#leads(before, cursor) ? undefined : `is told ${cursor} after ${before}`;
  }

  /** Whether no message is due after `from` up to `to`, which must not be before `from`. */
  #leads(from = Number.NaN, to: number): boolean {
    for (let cursor = from + 1; cursor <= to; cursor++) if (this.#isDue(cursor)) return false;
    return to >= from;
  }

  /** Whether a message up to the cursor is due that it has not received. */
  lacks(upTo: number): boolean {
    const { cursor = Number.NaN } = this;
    return !(cursor >= upTo) && !this.#leads(cursor, upTo);
  }

  end(event: string): string | undefined {
    const fault = this.hasEnded ? `is sent ${event} after its end` : undefined;
    this.hasEnded = true;
    return fault;
  }
}
