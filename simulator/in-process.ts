/**
 * An exchange with the simulator without a socket: the interfaces that it needs of a request and a response,
 * and plain objects that implement them. Over HTTP, Node's own objects implement them; the answering code is
 * the same.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";

export interface Incoming extends AsyncIterable<unknown> {
  readonly method?: string | undefined;
  /** Path with query. */
  readonly url?: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
}

export interface Outgoing {
  readonly headersSent: boolean;
  readonly statusCode: number;
  readonly destroyed: boolean;
  /** Null if the connection is gone. */
  readonly socket: { destroy(): unknown; resetAndDestroy(): unknown } | null;
  writeHead(status: number, headers: OutgoingHttpHeaders): unknown;
  write(bytes: Buffer, onWritten?: () => void): unknown;
  end(bytes?: Buffer): unknown;
  destroy(): unknown;
  once(event: "close", listener: () => void): unknown;
}

/** A request as a caller passes it in. */
export interface Request {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** The address from which the request comes. */
  from?: string;
}

export interface Response {
  status: number;
  /** Header names in lower case. */
  header(name: string): string | undefined;
  /** Throws if the connection breaks before the end. */
  body: AsyncIterable<Buffer>;
}

export function incoming({ method, url, headers, body, from }: Request): Incoming {
  const { pathname, search } = new URL(url);
  return {
    method,
    url: pathname + search,
    headers,
    socket: { remoteAddress: from },
    async *[Symbol.asyncIterator]() {
      if (body !== undefined) yield Buffer.from(body);
    },
  };
}

/** A response whose reader awaits `answered`. */
export class InProcessResponse implements Outgoing {
  headersSent = false;
  statusCode = 200;
  destroyed = false;
  readonly socket = { destroy: () => this.destroy(), resetAndDestroy: () => this.destroy() };
  readonly #head = Promise.withResolvers<Response>();
  readonly #chunks: Buffer[] = [];
  readonly #closeListeners: (() => void)[] = [];
  #isComplete = false;
  #wake = () => {};

  /** Resolves with the head. Rejects if the connection breaks first. */
  get answered(): Promise<Response> {
    return this.#head.promise;
  }

  writeHead(status: number, headers: OutgoingHttpHeaders): void {
    const byName = new Map(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]),
    );
    this.statusCode = status;
    this.headersSent = true;
    this.#head.resolve({ status, header: (name) => byName.get(name), body: this.#body() });
  }

  write(bytes: Buffer, onWritten?: () => void): void {
    this.#chunks.push(bytes);
    this.#wake();
    onWritten?.();
  }

  end(bytes?: Buffer): void {
    if (bytes) this.#chunks.push(bytes);
    this.#isComplete = true;
    this.destroy();
  }

  /** Closes the connection, from either side. */
  destroy(): void {
    if (this.destroyed) return;
    this.destroyed = true;
    if (!this.headersSent) this.#head.reject(brokenConnection());
    this.#wake();
    for (const listener of this.#closeListeners) listener();
  }

  once(_event: "close", listener: () => void): void {
    this.#closeListeners.push(listener);
  }

  async *#body(): AsyncGenerator<Buffer, void, void> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk) yield chunk;
      else if (this.#isComplete) return;
      else if (this.destroyed) throw brokenConnection();
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
      }
    }
  }
}

function brokenConnection(): Error {
  return Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
}
