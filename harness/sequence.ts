/**
 * The rules for the frames of one viewer, across all its connections: each connection begins at the requested
 * cursor, or anywhere without one; each message's cursor is one more than the last; and nothing follows a
 * terminal frame. Every judge of a viewer uses this class. Each method returns the violation, if there is
 * one.
 */
export class Sequence {
  /** The cursor of the last message, or of the init frame before it; undefined before the first init. */
  cursor: number | undefined;
  /** The connection's terminal frame has arrived. */
  hasEnded = false;

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
    return cursor === (before ?? Number.NaN) + 1 ? undefined : `is sent ${cursor} after ${before}`;
  }

  end(event: string): string | undefined {
    const fault = this.hasEnded ? `is sent ${event} after its end` : undefined;
    this.hasEnded = true;
    return fault;
  }
}
