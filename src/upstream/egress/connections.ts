/**
 * How requests reach the upstream: over HTTP, with one pool per host, from the address or by the proxy that a spec
 * names. One that names none uses the proxy of the environment, if any, but never for loopback addresses.
 */
import { isIP } from "node:net";
import { pipeline, type Readable, type Transform } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import {
  Agent,
  type Dispatcher,
  EnvHttpProxyAgent,
  ProxyAgent,
  Socks5ProxyAgent,
  request as send,
} from "undici";
import type { EgressSpec } from "./spec.ts";

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

/** What `fetch` sends where nothing else is asked for; it would take twice the CPU time for the same call. */
const FETCH_HEADERS = {
  accept: "*/*",
  "accept-language": "*",
  "sec-fetch-mode": "cors",
  "accept-encoding": "gzip, deflate, br",
};
/** As with `fetch`, a body that lacks its end is taken for what it holds. */
const LENIENT = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const DECODERS: Record<string, () => Transform> = {
  gzip: () => createGunzip(LENIENT),
  "x-gzip": () => createGunzip(LENIENT),
  deflate: () => createInflate(LENIENT),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};
/** One packed in another can be larger than all that the process may hold. */
const MAX_ENCODINGS = 5;

export class HttpConnections implements Connections {
  /** What leads to loopback addresses, and what leads to all others. */
  readonly #inner: Dispatcher;
  readonly #outer: Dispatcher;

  /** Throws an error that says what the environment's proxy must be. */
  constructor(spec: EgressSpec = { name: "direct", isNamed: false, kind: "direct" }) {
    this.#outer = dispatcherOf(spec);
    this.#inner = spec.kind === "direct" ? new Agent(OPTIONS) : this.#outer;
  }

  async request(request: OutgoingRequest, signal: AbortSignal): Promise<IncomingAnswer> {
    const { statusCode, headers, body } = await send(request.url, {
      method: request.method,
      headers: { ...FETCH_HEADERS, ...request.headers },
      body: request.body ?? null,
      dispatcher: LOOPBACK.test(new URL(request.url).hostname) ? this.#inner : this.#outer,
      signal,
    });
    const header = (name: string) => headers[name]?.toString();
    return { status: statusCode, header, body: decoded(body, header("content-encoding")) };
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
      const connect = { ...OPTIONS.connect, family: isIP(spec.address) }; // a host's other addresses are not tried
      return new Agent({ ...OPTIONS, localAddress: spec.address, connect });
    }
    case "proxy": {
      if (spec.url.startsWith("socks5:"))
        return new Socks5ProxyAgent(spec.url, { requestTls: OPTIONS.connect });
      const tls = { requestTls: OPTIONS.connect, proxyTls: OPTIONS.connect };
      // Through a tunnel, whatever the upstream's scheme: so the proxy reads nothing, and answers nothing itself.
      return new ProxyAgent({ uri: spec.url, proxyTunnel: true, allowH2: false, ...tls });
    }
  }
}

/** The body as it was before it was encoded; as it is, where an encoding is not known. Throws where there are too many. */
function decoded(body: Readable, encodings = ""): Readable {
  const names = encodings.toLowerCase().split(",").reverse();
  if (names.length > MAX_ENCODINGS) {
    body.on("error", () => {}).destroy();
    throw new Error(`the answer has ${names.length} encodings`);
  }
  const decoders = names.map((name) => DECODERS[name.trim()]?.());
  if (!decoders.every((decoder) => decoder !== undefined)) return body;
  const last = decoders.at(-1);
  pipeline([body, ...decoders], () => {}); // whatever breaks ends all, and whoever reads the last one learns it
  return last ?? body;
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
