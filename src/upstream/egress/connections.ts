/**
 * How requests reach the upstream: over HTTP, with one pool per host and a proxy where the environment names one
 * (never for loopback addresses).
 */
import { Agent, EnvHttpProxyAgent, fetch } from "undici";

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
  readonly #direct = new Agent(OPTIONS);
  readonly #proxied = proxyAgent();

  async request(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingAnswer> {
    const { status, headers, body } = await fetch(request.url, {
      method: request.method,
      headers: request.headers,
      ...(request.body === undefined ? {} : { body: request.body }),
      redirect: "manual",
      dispatcher: LOOPBACK.test(new URL(request.url).hostname) ? this.#direct : this.#proxied,
      signal,
    });
    return { status, header: (name) => headers.get(name) ?? undefined, body: body ?? [] };
  }

  async close(): Promise<void> {
    await Promise.all([this.#direct.destroy(), this.#proxied.destroy()]);
  }
}

/** Uses the proxy that the environment names, if any. Throws an error that says what it must be. */
function proxyAgent(): EnvHttpProxyAgent {
  try {
    return new EnvHttpProxyAgent(OPTIONS);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`HTTPS_PROXY, HTTP_PROXY: must be a URL such as http://host:3128 (${why})`);
  }
}
