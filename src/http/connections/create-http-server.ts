/**
 * Node's HTTP server. It refuses heads above 16 KiB and requests that arrive too slowly, closes idle
 * connections after about 72 s, and begins a crowd's requests in many turns of the event loop.
 */
import type { IncomingMessage, RequestListener } from "node:http";

/**
 * An `import` of `node:http` reads all that it exports, and so loads Node's own `fetch` and `WebSocket`,
 * which takes 14 MB. Test: "loads only what a service at rest needs".
 */
export const { createServer: createHttpServer } = process.getBuiltinModule("node:http");

/** Limit of a URL and headers together. */
export const MAX_HEAD_BYTES = 16 * 1024;
/** Longer than nginx and Amazon's load balancers keep an idle connection to a service behind them: 60 s. */
const KEEP_ALIVE_MS = 72_000;

/** Requests that begin in one turn of the event loop: a millisecond or two of work. */
const BEGIN_PER_TURN = 16;

/** How long a request may take to arrive. */
export interface RequestTimeouts {
  /** For its headers. */
  headersMs: number;
  /** For all of it. */
  requestMs: number;
  /** The interval at which Node looks for late requests. */
  checkMs: number;
}

/** A server with the limits of a request's head and times. */
export function httpServer(listener: RequestListener, { headersMs, requestMs, checkMs }: RequestTimeouts) {
  const server = createHttpServer(
    {
      maxHeaderSize: MAX_HEAD_BYTES,
      headersTimeout: headersMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      requireHostHeader: false, // Node's own refusal would not be JSON
    },
    listener,
  );
  // Node's own switch, which its types lack: clients that have closed their writing side get their answers.
  // Test: "gets every answer that ends by itself".
  return Object.assign(server, { httpAllowHalfOpen: true });
}

/**
 * Begins at most `BEGIN_PER_TURN` requests without a body in each turn of the event loop, in their order. A
 * crowd that returns sends thousands within one turn, and a message takes several turns from the upstream's
 * answer to the viewers who stayed. At most one request of each connection waits (`InFlightRequests`). One
 * with a body begins at once, because Node would hold the body meanwhile.
 */
export function inTurns(handle: RequestListener): RequestListener {
  const waiting: Parameters<RequestListener>[] = [];
  let begun = 0;
  const nextTurn = () => {
    const due = waiting.splice(0, BEGIN_PER_TURN);
    begun = due.length;
    if (begun > 0) setImmediate(nextTurn);
    // A socket that was reset in this turn is destroyed, but its response is not yet.
    for (const [request, response] of due) if (!request.socket.destroyed) handle(request, response);
  };
  return (request, response) => {
    if (begun >= BEGIN_PER_TURN && !hasBody(request)) {
      waiting.push([request, response]);
      return;
    }
    if (begun === 0) setImmediate(nextTurn);
    begun += 1;
    handle(request, response);
  };
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined;
}
