/**
 * The connections of an edge to its origin, over HTTP: one for each stream, a bounded number for the edge's
 * own questions, and others for its clients. Answers that the origin lets caches keep are kept in memory, up
 * to 64 MiB.
 */
import { Agent, cacheStores, interceptors, request as send } from "undici";
import { unlessAborted } from "../base/deadline.ts";
import {
  type OriginAnswer,
  type OriginConnections,
  type OriginRequest,
  PAGE_TIMEOUT_MS,
  type RelayedRequest,
  WORKER_HEADER,
} from "./origin-connections.ts";

const CONNECT_TIMEOUT_MS = 5000;
/** Connections for the edge's own questions. */
const MAX_CONNECTIONS = 32;
/** The cache of answers, in bytes. A page of a thousand messages with their details has about a megabyte. */
const CACHE = { maxSize: 64 * 1024 * 1024, maxCount: 10_000, maxEntrySize: 4 * 1024 * 1024 };

const OPTIONS = { connect: { timeout: CONNECT_TIMEOUT_MS }, allowH2: false };

export class OriginHttpConnections implements OriginConnections {
  readonly #url: string;
  /** For requests of this service's own, and those that it makes for clients; not for those it sends on. */
  readonly #authorization: Record<string, string>;
  /** For all requests. */
  readonly #ofWorker: Record<string, string>;
  readonly #streams = new Agent(OPTIONS);
  readonly #own = new Agent({ ...OPTIONS, connections: MAX_CONNECTIONS });
  readonly #clients = new Agent(OPTIONS);
  /** Keeps no connection. */
  readonly #apart = new Agent({ ...OPTIONS, pipelining: 0 });
  readonly #cache = interceptors.cache({ store: new cacheStores.MemoryCacheStore(CACHE) });
  readonly #ownCached = this.#own.compose(this.#cache);
  readonly #clientsCached = this.#clients.compose(this.#cache);

  /**
   * `url`: the origin's base URL, without a trailing slash. `token`: "" if the origin needs none. `isWorker`:
   * whether the origin is the first process of this service.
   */
  constructor(url: string, token = "", isWorker = false) {
    this.#url = url;
    this.#ofWorker = isWorker ? { [WORKER_HEADER]: token } : {};
    this.#authorization = token === "" ? {} : { authorization: `Bearer ${token}` };
  }

  stream({ path, headers }: OriginRequest, signal: AbortSignal): Promise<OriginAnswer> {
    return send(this.#url + path, {
      dispatcher: this.#streams,
      headers: this.#ownHeaders(headers),
      signal,
      reset: true, // the origin closes the connection after the stream, perhaps just as the next one uses it
      headersTimeout: 0,
      bodyTimeout: 0, // the caller limits both
    });
  }

  page(request: OriginRequest, signal: AbortSignal): Promise<OriginAnswer> {
    const { path, headers, isForClient, isApart, timeoutMs = PAGE_TIMEOUT_MS, method = "GET" } = request;
    const kept = isForClient ? this.#clientsCached : this.#ownCached;
    const dispatcher = isApart ? this.#apart : kept;
    const sent = send(this.#url + path, {
      dispatcher,
      method,
      headers: this.#ownHeaders(headers),
      signal,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    // While undici's cache asks whether an answer is still valid, it ignores the signal.
    return unlessAborted(sent, signal);
  }

  relay({ path, headers, ...request }: RelayedRequest, signal: AbortSignal): Promise<OriginAnswer> {
    const sent = { ...headers, ...this.#ofWorker };
    return send(this.#url + path, { ...request, headers: sent, dispatcher: this.#clients, signal });
  }

  #ownHeaders(headers: OriginRequest["headers"]): OriginRequest["headers"] {
    return { ...headers, ...this.#authorization, ...this.#ofWorker };
  }

  async close(): Promise<void> {
    await Promise.all([this.#streams, this.#own, this.#clients, this.#apart].map((agent) => agent.destroy()));
  }
}
