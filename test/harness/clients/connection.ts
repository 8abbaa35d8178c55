/** The interface between a client and its connections, for any library. */
import type { CheckedStream } from "./checked-stream.ts";

/** One connection of a client, or all connections of a library that reconnects by itself. */
export interface Connection {
  stall(ms: number): void;
  trickle(ms: number): void;
  /** Ends it for good: `over` is called, at once or later. May be called again. */
  cut(): void;
}

/** The parameters of a connection. */
export interface ConnectionContext {
  url: URL;
  /** The id from which the next connection resumes. */
  lastEventId(): string | undefined;
  /** Call it for each request, with the request's `Last-Event-ID`. */
  begin(lastEventId: string | undefined): CheckedStream;
  /** Call it once, after the last connection. */
  over(): void;
}
