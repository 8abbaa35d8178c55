/**
 * A viewer as the outside sees one: somebody with a client that was not written by us, which connects, loses its
 * connection, and comes back with the last cursor that it has. What it sees it tells its witness, who judges.
 */

/** What the clients are told to watch. */
export interface Wish {
  videoId: string;
  backfill?: number;
  details?: boolean;
  /** Sent with the very first connection; 0 asks for all that is kept. */
  lastEventId?: number;
}

/** Hears everything one viewer sees, over all of its connections, in the order in which it is seen. */
export interface Witness {
  /** A stream has begun; `lastEventId` is what the request carried, if anything. */
  opened(init: { videoId: string; chatType: string; cursor: number }, lastEventId: number | undefined): void;
  message(cursor: number, data: string): void;
  /** A terminal frame: `end` with its reason, `error` with its code. */
  terminal(event: "end" | "error", reason: string): void;
  /** The request was answered, but not with a stream; `code` is the error body's. */
  refused(status: number, code: string): void;
  /** The connection is over, or never came about. `asked`: the client itself has ended it. */
  closed(asked: boolean): void;
  /** Bytes that are no part of a stream as it must be. */
  malformed(what: string): void;
}

/** One viewer over all its connections. It reconnects by itself after whatever ends one, until it leaves. */
export interface Client {
  readonly kind: "raw" | "curl" | "eventsource";
  /** Whether a stream is open, its init seen. */
  readonly isOpen: boolean;
  /** Breaks the connection and stays away for `awayMs`; where that is infinite, until `comeBack`. */
  drop(awayMs: number): void;
  /** Ends an absence at once; a client that is not away does nothing. */
  comeBack(): void;
  /** Takes nothing from its present connection for so long; the latest of this and `trickle` counts. */
  stall(ms: number): void;
  /** Takes a few bytes at a time for so long; a client that cannot do that stalls in small steps. */
  trickle(ms: number): void;
  /** Goes for good. Resolves when its connection is closed and its processes are gone. */
  leave(): Promise<void>;
}
