/**
 * What one viewer may be sent, over all its connections: each begins where it was asked to, or anywhere if it was not;
 * each message's cursor is one more than the last; and nothing comes after a terminal frame. Every judge of a viewer
 * uses this one; each method returns what is wrong, if anything.
 */
export class Sequence {
  /** Of the last message, or of the init frame before it; undefined before the first init. */
  cursor: number | undefined;
  /** The connection's terminal frame has come. */
  hasEnded = false;

  /** A connection begins after `cursor`; one that asked for what follows `asked` begins there. 0 asks for all. */
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
