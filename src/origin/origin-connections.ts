/**
 * The connections of an edge to its origin, over HTTP. Each stream has one, and so has each answer for a
 * client, which may be slow. The edge's own questions share a few.
 */
import type { Readable } from "node:stream";
import { Agent, cacheStores, interceptors, request as send } from "undici";
import { unlessAborted } from "../base/deadline.ts";

const CONNECT_TIMEOUT_MS = 5000;
/** Time limit for a page of an origin, and for its silence meanwhile. */
export const PAGE_TIMEOUT_MS = 10_000;
/**
 * Time limit for the silence of a slow answer: the origin may read millions of messages that a filter leaves
 * out, wait for its store, or open a room.
 */
const SLOW_TIMEOUT_MS = 300_000;
/** Connections for the edge's own questions. */
const MAX_CONNECTIONS = 32;
/** The cache of answers, in bytes. A page of a thousand messages with their details has about a megabyte. */
const CACHE = { maxSize: 64 * 1024 * 1024, maxCount: 10_000, maxEntrySize: 4 * 1024 * 1024 };

type Headers = Record<string, string | string[] | undefined>;

export interface OriginRequest {
  /** Begins with a slash, and includes the query. */
  path: string;
  headers: Headers;
  /** Whether a client reads the answer, at its own pace. */
  isForClient?: boolean;
  /** Whether the answer may take long: all messages that match, or a room that is opened for it. */
  isSlow?: boolean;
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

const OPTIONS = { connect: { timeout: CONNECT_TIMEOUT_MS }, allowH2: false };

export class HttpOrigin implements OriginConnections {
  readonly #url: string;
  /** For requests of this service's own, and those that it makes for clients; not for those it sends on. */
  readonly #authorization: Headers;
  readonly #streams = new Agent(OPTIONS);
  readonly #own = new Agent({ ...OPTIONS, connections: MAX_CONNECTIONS });
  readonly #clients = new Agent(OPTIONS);
  readonly #cache = interceptors.cache({ store: new cacheStores.MemoryCacheStore(CACHE) });
  readonly #ownCached = this.#own.compose(this.#cache);
  readonly #clientsCached = this.#clients.compose(this.#cache);

  /** `url`: the origin's base URL, without a trailing slash. `token`: "" if the origin needs none. */
  constructor(url: string, token = "") {
    this.#url = url;
    this.#authorization = token === "" ? {} : { authorization: `Bearer ${token}` };
  }

  stream({ path, headers }: OriginRequest, signal: AbortSignal): Promise<OriginAnswer> {
    return send(this.#url + path, {
      ...{ dispatcher: this.#streams, headers: { ...headers, ...this.#authorization }, signal },
      reset: true, // the origin closes the connection after the stream, perhaps just as the next one uses it
      ...{ headersTimeout: 0, bodyTimeout: 0 }, // the caller limits both
    });
  }

  page(request: OriginRequest, signal: AbortSignal): Promise<OriginAnswer> {
    const { path, headers, isForClient, isSlow, method = "GET" } = request;
    const dispatcher = isForClient ? this.#clientsCached : this.#ownCached;
    const limitMs = isSlow ? SLOW_TIMEOUT_MS : PAGE_TIMEOUT_MS;
    const sent = send(this.#url + path, {
      ...{ dispatcher, method, headers: { ...headers, ...this.#authorization }, signal },
      ...{ headersTimeout: limitMs, bodyTimeout: limitMs },
    });
    // While undici's cache asks whether an answer is still valid, it ignores the signal.
    return unlessAborted(sent, signal);
  }

  relay({ path, ...request }: RelayedRequest, signal: AbortSignal): Promise<OriginAnswer> {
    return send(this.#url + path, { ...request, dispatcher: this.#clients, signal });
  }

  async close(): Promise<void> {
    await Promise.all([this.#streams, this.#own, this.#clients].map((agent) => agent.destroy()));
  }
}
