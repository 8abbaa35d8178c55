/**
 * Sends requests to the upstream over HTTP, with one pool per host, from the address or through the proxy of
 * a spec. A spec without either uses the environment's proxy, if any, but never for loopback addresses.
 */
import { isIP } from "node:net";
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool, ProxyAgent, Socks5ProxyAgent } from "undici";
import { Exchange } from "./exchange.ts";
import type { EgressSpec } from "./spec.ts";

const CONNECT_TIMEOUT_MS = 5000;
const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export interface OutgoingRequest {
  method: "GET" | "POST";
  url: string;
  headers: Record<string, string>;
  body?: string;
}

/** An answer whose head has arrived. */
export interface IncomingAnswer {
  status: number;
  /** Header names in lower case. */
  header(name: string): string | undefined;
  /**
   * The complete body, decompressed. Rejects like `Connections.request`, and with `UpstreamError` if it is
   * larger than an answer may be.
   */
  body(): Promise<Buffer>;
}

export interface Connections {
  /** Rejects with the connection's error (it, or a cause, has the system's code), or the signal's reason. */
  request(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingAnswer>;
  close(): Promise<void>;
}

// HTTP/1.1: aborting a call closes only its own connection. With HTTP/2 all calls share one connection: if
// it goes silent, all of them fail until it is closed.
const OPTIONS = { connect: { timeout: CONNECT_TIMEOUT_MS }, allowH2: false };
/** Connections to an HTTP proxy for tunnels: undici would wait five minutes for the answer to CONNECT. */
const TUNNELS = {
  clientFactory: (proxy: URL, options: object) =>
    new Pool(proxy, { ...options, headersTimeout: CONNECT_TIMEOUT_MS }),
};

/**
 * The headers that `fetch` sends by default. `fetch` itself would take twice the CPU time for the same call.
 */
const FETCH_HEADERS = {
  accept: "*/*",
  "accept-language": "*",
  "sec-fetch-mode": "cors",
  "accept-encoding": "gzip, deflate, br",
};

export class HttpConnections implements Connections {
  /** For loopback addresses, and for all others. */
  readonly #inner: Dispatcher;
  readonly #outer: Dispatcher;

  /** Throws an error that says which proxy settings of the environment are valid. */
  constructor(spec: EgressSpec) {
    this.#outer = dispatcherOf(spec);
    this.#inner = spec.kind === "direct" ? new Agent(OPTIONS) : this.#outer;
  }

  async request(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingAnswer> {
    const { hostname, origin, pathname, search } = new URL(request.url);
    const exchange = new Exchange(signal);
    const dispatcher = LOOPBACK.test(hostname) ? this.#inner : this.#outer;
    const { method, body = null } = request;
    const headers = { ...FETCH_HEADERS, ...request.headers };
    dispatcher.dispatch({ origin, path: pathname + search, method, headers, body }, exchange);
    const { status, headers: received } = await exchange.head;
    return { status, header: (name) => received[name]?.toString(), body: () => exchange.body() };
  }

  async close(): Promise<void> {
    await Promise.all([this.#inner.destroy(), this.#outer.destroy()]);
  }
}

function dispatcherOf(spec: EgressSpec): Dispatcher {
  switch (spec.kind) {
    case "direct":
      return environmentAgent();
    case "address": {
      const connect = { ...OPTIONS.connect, family: isIP(spec.address) }; // the other family is not tried
      return new Agent({ ...OPTIONS, localAddress: spec.address, connect });
    }
    case "proxy": {
      if (spec.url.startsWith("socks5:"))
        return new Socks5ProxyAgent(spec.url, { requestTls: OPTIONS.connect });
      const tls = { requestTls: OPTIONS.connect, proxyTls: OPTIONS.connect };
      // A tunnel for any scheme of the upstream, so that the proxy neither reads nor answers anything.
      return new ProxyAgent({ uri: spec.url, proxyTunnel: true, allowH2: false, ...TUNNELS, ...tls });
    }
  }
}

/** Uses the environment's proxy, if any. Throws an error that says which settings are valid. */
function environmentAgent(): EnvHttpProxyAgent {
  try {
    return new EnvHttpProxyAgent({ ...OPTIONS, ...TUNNELS });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`HTTPS_PROXY, HTTP_PROXY: must be a URL such as http://host:3128 (${why})`);
  }
}
