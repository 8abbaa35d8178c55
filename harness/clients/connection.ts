/** What a client knows of its connections, whatever library makes them. */
import type { CheckedStream } from "./checked-stream.ts";

/** One connection of a client, or all of a library that reconnects by itself. */
export interface Connection {
  stall(ms: number): void;
  trickle(ms: number): void;
  /** Ends it for good: `over` is called, at once or later. May be called again. */
  cut(): void;
}

/** What a connection is made from. */
export interface ConnectionContext {
  url: URL;
  /** What the next connection resumes from. */
  lastEventId(): number | undefined;
  /** To be called for each request, with what it carries. */
  begin(lastEventId: number | undefined): CheckedStream;
  /** To be called once, when there is no connection and there will be none. */
  over(): void;
}
