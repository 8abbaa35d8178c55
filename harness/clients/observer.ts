/** What a client asks for, and who hears what it receives. */

import type { StreamQuery } from "./sse.ts";

export interface ClientOptions extends StreamQuery {
  backfill?: number;
  /** Sent with the very first connection; 0 asks for everything that is kept. */
  lastEventId?: number;
}

/** Hears everything one client receives, over all of its connections, in order. */
export interface Observer {
  /** A stream has begun; `lastEventId` is what the request carried, if anything. */
  opened(init: { videoId: string; chatType: string; cursor: number }, lastEventId: number | undefined): void;
  message(cursor: number, data: string): void;
  /** A terminal frame: `end` with its reason, `error` with its code. */
  terminal(event: "end" | "error", reason: string): void;
  /** The answer was not a stream; `code` is the error body's. */
  refused(status: number, code: string): void;
  /** The connection is over, or was never made. `asked`: the client itself ended it. */
  closed(asked: boolean): void;
  /** Bytes that break the rules of HTTP, of event streams or of this API. */
  malformed(what: string): void;
}
