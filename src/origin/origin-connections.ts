/**
 * What an edge needs of the connections to its origin. Each stream has one, and so has each answer for a
 * client, which may be slow. The edge's own questions share a few.
 */
import type { Readable } from "node:stream";

/** Time limit for a page of an origin, and for its silence meanwhile. */
export const PAGE_TIMEOUT_MS = 10_000;
/** Time limit for the beginning of an answer for which the origin may have to open a room. */
export const OPENING_TIMEOUT_MS = 60_000;
/**
 * Time limit for the silence of a download: the origin may read millions of messages that a filter leaves
 * out, or wait for its store.
 */
export const DOWNLOAD_TIMEOUT_MS = 300_000;

/** By this header, the first process of a service knows its workers. */
export const WORKER_HEADER = "x-relay-worker";

type Headers = Record<string, string | string[] | undefined>;

export interface OriginRequest {
  /** Begins with a slash, and includes the query. */
  path: string;
  headers: Headers;
  /** Whether a client reads the answer, at its own pace. */
  isForClient?: boolean;
  /** Whether it needs a connection of its own: a kept one may be dead without a sign. */
  isApart?: boolean;
  /** The time limit of a page for its head, and for its silence meanwhile; by default `PAGE_TIMEOUT_MS`. */
  timeoutMs?: number;
  /** By default GET. */
  method?: "HEAD";
}

/** A client's request that is sent on. */
export interface RelayedRequest extends Omit<OriginRequest, "method"> {
  method: string;
  body: Readable | null;
}

/** An answer whose head has arrived. Its body fails if the connection breaks. */
export interface OriginAnswer {
  statusCode: number;
  headers: Headers;
  body: Readable;
}

/** All requests reject with the connection's error, or with the signal's reason. */
export interface OriginConnections {
  /** Opens a stream, without a time limit. The signal ends it, too. */
  stream(request: OriginRequest, signal: AbortSignal): Promise<OriginAnswer>;
  /** Asks for a page. It may come from a cache, if the headers of an earlier answer allow that. */
  page(request: OriginRequest, signal: AbortSignal): Promise<OriginAnswer>;
  relay(request: RelayedRequest, signal: AbortSignal): Promise<OriginAnswer>;
  close(): Promise<void>;
}
