/**
 * How requests reach the upstream: over HTTP, with one pool per host, from the address or by the proxy that a way out
 * names. One that names none uses the proxy of the environment, if any, but never for loopback addresses.
 */
import { isIP } from "node:net";
import { Agent, type Dispatcher, EnvHttpProxyAgent, fetch, ProxyAgent, Socks5ProxyAgent } from "undici";
import type { Way } from "./ways.ts";

const CONNECT_TIMEOUT_MS = 5000;
const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

export interface OutgoingRequest {
  method: "GET" | "POST";
  url: string;
  headers: Record<string, string>;
  body?: string;
}

/** An answer whose head has come. */
export interface IncomingAnswer {
  status: number;
  /** Header names in lower case. */
  header(name: string): string | undefined;
  /** Decompressed; fails where the connection breaks. */
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

export interface Connections {
  /** Rejects with what broke the connection (an error with the system's code, as a cause too), or once the signal aborts. */
  request(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingAnswer>;
  close(): Promise<void>;
}

// HTTP/1.1, on which a call that is given up takes its connection along. Of HTTP/2 all calls share one, and one that
// has gone silent would fail them all for as long as it stands.
const OPTIONS = { connect: { timeout: CONNECT_TIMEOUT_MS }, allowH2: false };

export class HttpConnections implements Connections {
  /** What leads to loopback addresses, and what leads to all others. */
  readonly #inner: Dispatcher;
  readonly #outer: Dispatcher;

  /** Throws an error that says what the environment's proxy must be. */
  constructor(way: Way = { name: "direct", isNamed: false, kind: "direct" }) {
    this.#outer = dispatcherOf(way);
    this.#inner = way.kind === "direct" ? new Agent(OPTIONS) : this.#outer;
  }

  async request(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingAnswer> {
    const { status, headers, body } = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      ...(request.body === undefined ? {} : { body: request.body }),
      redirect: "manual",
      dispatcher: LOOPBACK.test(new URL(request.url).hostname) ? this.#inner : this.#outer,
      signal,
    });
    return { status, header: (name) => headers.get(name) ?? undefined, body: body ?? [] };
  }

  async close(): Promise<void> {
    await Promise.all([this.#inner.destroy(), this.#outer.destroy()]);
  }
}

function dispatcherOf(way: Way): Dispatcher {
  switch (way.kind) {
    case "direct":
      return environmentAgent();
    case "address": {
      const connect = { ...OPTIONS.connect, family: isIP(way.address) }; // a host's other addresses are not tried
      return new Agent({ ...OPTIONS, localAddress: way.address, connect });
    }
    case "proxy": {
      if (way.url.startsWith("socks5:"))
        return new Socks5ProxyAgent(way.url, { requestTls: OPTIONS.connect });
      const tls = { requestTls: OPTIONS.connect, proxyTls: OPTIONS.connect };
      // Through a tunnel, whatever the upstream's scheme: so the proxy reads nothing, and answers nothing itself.
      return new ProxyAgent({ uri: way.url, proxyTunnel: true, allowH2: false, ...tls });
    }
  }
}

/** Uses the proxy that the environment names, if any. Throws an error that says what it must be. */
function environmentAgent(): EnvHttpProxyAgent {
  try {
    return new EnvHttpProxyAgent(OPTIONS);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`HTTPS_PROXY, HTTP_PROXY: must be a URL such as http://host:3128 (${why})`);
  }
}
