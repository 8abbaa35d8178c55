/** The cursors that one viewer is sent over all its connections: each follows the last one by one. */
export class Sequence {
  /** Of the last message, or of the init frame before it; undefined before the first init. */
  cursor: number | undefined;
  #hasMessages = false;

  /**
   * A connection begins after `cursor`. Returns what is wrong with that, if anything: a client that has messages
   * must have sent its last cursor, and one that sent a cursor must be resumed there.
   */
  begin(cursor: number, lastEventId: number | undefined): string | undefined {
    const before = this.cursor;
    this.cursor = cursor;
    if (this.#hasMessages && lastEventId !== before)
      return `its client came back with ${lastEventId}, having seen ${before}`;
    if (lastEventId && cursor !== lastEventId)
      return `resumed from ${lastEventId}, it begins after ${cursor}`;
    return undefined;
  }

  /** A message comes. Returns what is wrong with its cursor, if anything. */
  next(cursor: number): string | undefined {
    const before = this.cursor;
    this.cursor = cursor;
    this.#hasMessages = true;
    return cursor === (before ?? Number.NaN) + 1 ? undefined : `${cursor} follows ${before}`;
  }
}
