/**
 * Sends requests to the upstream over HTTP, from the address or through the proxy of a spec. It follows no
 * redirect, and refuses an answer that is too large.
 */
import type { Dispatchers } from "./dispatchers.ts";
import { Exchange } from "./exchange.ts";
import { type EgressSpec, proxyUrl } from "./spec.ts";

/**
 * The protocols of proxies in the environment that undici knows. Without one, `host:3128` is read as a URL of
 * the protocol `host:`.
 */
const PROXY_PROTOCOLS = new Set(["http:", "https:", "socks5:", "socks:"]);
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
   * The complete body, decompressed. Rejects like `Connections.request`, with the decoder's error, and with
   * `UpstreamError` if it is larger than an answer may be.
   */
  body(): Promise<Buffer>;
}

export interface Connections {
  /**
   * Resolves once connections can be made. A call waits for it before it takes its place at the gate.
   */
  open(): Promise<void>;
  /** The proxy through which a host is asked, without its credentials; undefined if it is asked directly. */
  proxyOf?(hostname: string): string | undefined;
  /**
   * `onSent`: called when the request is written to its connection, which may take a while to be made.
   * Rejects with the connection's error (it, or a cause, has the system's code), or the signal's reason.
   */
  request(request: OutgoingRequest, signal: AbortSignal, onSent?: () => void): Promise<IncomingAnswer>;
  close(): Promise<void>;
}

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
  readonly #spec: EgressSpec;
  #dispatchers: Promise<Dispatchers> | undefined;

  /** Throws an error that says which proxy settings of the environment are valid. */
  constructor(spec: EgressSpec) {
    if (spec.kind === "direct") assertProxies(process.env);
    this.#spec = spec;
  }

  async open(): Promise<void> {
    await this.#load();
  }

  async request(request: OutgoingRequest, signal: AbortSignal, onSent?: () => void): Promise<IncomingAnswer> {
    const { hostname, origin, pathname, search } = new URL(request.url);
    const { inner, outer } = await this.#load();
    signal.throwIfAborted();
    const exchange = new Exchange(signal, onSent);
    const dispatcher = LOOPBACK.test(hostname) ? inner : outer;
    const { method, body = null } = request;
    const headers = { ...FETCH_HEADERS, ...request.headers };
    dispatcher.dispatch({ origin, path: pathname + search, method, headers, body }, exchange);
    const { status, headers: received } = await exchange.head;
    return { status, header: (name) => received[name]?.toString(), body: () => exchange.body() };
  }

  proxyOf(hostname: string): string | undefined {
    const spec = this.#spec;
    if (spec.kind === "address" || (spec.kind === "direct" && LOOPBACK.test(hostname))) return undefined;
    const { https_proxy, HTTPS_PROXY, http_proxy, HTTP_PROXY, no_proxy, NO_PROXY } = process.env;
    if (spec.kind === "direct" && isExcepted(hostname, no_proxy ?? NO_PROXY ?? "")) return undefined;
    const text = spec.kind === "proxy" ? spec.url : (https_proxy ?? HTTPS_PROXY ?? http_proxy ?? HTTP_PROXY);
    const url = proxyUrl(text ?? "");
    return url && `${url.protocol}//${url.host}`;
  }

  /**
   * Loads undici, whose 3.5 MB a service without a chat does not need. The next call tries again if no file
   * was free.
   */
  #load(): Promise<Dispatchers> {
    this.#dispatchers ??= import("./dispatchers.ts").then(
      ({ dispatchersOf }) => dispatchersOf(this.#spec),
      (error: unknown) => {
        this.#dispatchers = undefined;
        throw error;
      },
    );
    return this.#dispatchers;
  }

  async close(): Promise<void> {
    if (!this.#dispatchers) return;
    const { inner, outer } = await this.#dispatchers;
    await Promise.all([inner.destroy(), outer.destroy()]);
  }
}

/**
 * Whether a list like `NO_PROXY` excepts the host, as undici reads it: an entry excepts its subdomains, too;
 * with `*.`, it excepts these alone; `*` excepts all.
 */
function isExcepted(hostname: string, list: string): boolean {
  return list
    .toLowerCase()
    .split(/[,\s]+/)
    .map((entry) => entry.replace(/:443$/, ""))
    .some((entry) => {
      const name = entry.replace(/^\*?\./, "");
      if (name === "" || name === "*") return name === "*";
      return hostname.endsWith(`.${name}`) || (hostname === name && !entry.startsWith("*"));
    });
}

/** Refuses at the start what undici would refuse at the first call. */
function assertProxies(env: NodeJS.ProcessEnv): void {
  for (const text of [env.http_proxy ?? env.HTTP_PROXY, env.https_proxy ?? env.HTTPS_PROXY]) {
    if (text && !PROXY_PROTOCOLS.has(proxyUrl(text)?.protocol ?? ""))
      throw new Error("HTTPS_PROXY, HTTP_PROXY: must be a URL such as http://host:3128");
  }
}
