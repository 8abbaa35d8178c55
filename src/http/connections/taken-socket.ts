/**
 * Takes a connection out of Node's HTTP server after the response head is written, so that a stream costs a
 * socket without a parser, a request and a response. Node documents neither `socket.parser` nor the listeners
 * that its server adds to a socket (`lib/_http_server.js`): `handOverWorks` takes a real connection for a
 * trial. If that fails, streams and long polls use their responses. `stopParsing` only spares the server
 * work: without effect, it breaks nothing.
 */
import { once } from "node:events";
import type { Server, ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { createHttpServer } from "./create-http-server.ts";

/** Time limit of the trial, in milliseconds. */
const TRIAL_MS = 5000;
/** The events for which Node's server adds listeners to its sockets. */
const SERVER_EVENTS = ["data", "end", "close", "drain", "error", "timeout", "resume", "pause"];

/**
 * The part of Node's HTTP parser used here. Node's own server frees the parser in the same way for an
 * upgrade.
 */
interface Parser {
  _consumed: boolean;
  /** Called for each request once its head has come. By 2 it says that what follows is not HTTP. */
  onIncoming: () => number;
  /** Sends the socket's bytes to its `data` listeners again. */
  unconsume(): void;
  /** Takes the connection off the server's list. */
  remove(): void;
  /** Frees the parser. Call `remove` first, or the server would later read freed memory. */
  close(): void;
}

interface HttpSocket extends Socket {
  parser: Parser | null;
}

/**
 * Writes the head of the response and takes its socket. The socket then has no listeners: the caller must add
 * one for errors, and end the socket. The request must have no body, and its connection no other request.
 */
export function takeSocket(response: ServerResponse): Socket {
  response.flushHeaders();
  return takeUnanswered(response);
}

/** The same without writing the head: the caller writes all of the answer. */
export function takeUnanswered(response: ServerResponse): Socket {
  const socket = response.socket as HttpSocket;
  const { parser } = socket;
  response.detachSocket(socket);
  // One by one: after `removeAllListeners`, Node keeps a socket's listeners in a hash table of 450 bytes.
  for (const event of SERVER_EVENTS)
    for (const listener of socket.rawListeners(event)) socket.removeListener(event, listener as () => void);
  if (parser) {
    if (parser._consumed) parser.unconsume();
    socket.parser = null;
    // The parser may be on the stack: this can run in one of its callbacks.
    setImmediate(() => {
      parser.remove(); // the end of the request has added it again
      parser.close();
    });
  }
  return socket;
}

const answeredAt = Symbol("bytes read before the answer");

/** A connection that was given back, until its next request. */
interface GivenBack extends Socket {
  [answeredAt]?: number | undefined;
}

/**
 * Gives a taken socket back to its server, which keeps it about as long as after an answer of its own. The
 * caller has removed its own listeners, and has written a whole answer.
 */
export function giveSocketBack(server: Server, socket: Socket): void {
  (socket as GivenBack)[answeredAt] = socket.bytesRead;
  server.emit("connection", socket);
  socket.setTimeout(server.keepAliveTimeout);
}

/**
 * Ends a taken socket once its client has taken the answer, or has taken nothing of it for as long as the
 * server keeps an idle connection.
 */
export function endSoon(server: Server, socket: Socket): void {
  socket.setTimeout(server.keepAliveTimeout, () => socket.destroy());
  socket.destroySoon();
}

/** Whether the client has not taken all of the answer after which the connection was given back. */
export function isUnread(socket: GivenBack): boolean {
  return socket[answeredAt] !== undefined && socket.writableLength > 0;
}

/** A request has come on the connection, which Node keeps from now on as any other. */
export function endIdleTime(socket: GivenBack): void {
  if (socket[answeredAt] === undefined) return;
  socket[answeredAt] = undefined;
  socket.setTimeout(0);
}

/**
 * Node also reports a timeout for a connection on which no byte of a request has arrived: a new one, or one
 * that was given back. Returns whether this is so, and closes the new one; the other one is closed after its
 * own time (`giveSocketBack`). Test: "gets no answer that nobody asked for, and goes on after a long poll as
 * after any answer".
 */
export function isOnlyIdle(socket: GivenBack): boolean {
  const { bytesRead, [answeredAt]: before = 0 } = socket;
  if (bytesRead === 0) socket.destroy();
  return bytesRead === before;
}

/** From now on, all that the client sends is read and dropped: the server hears of no further request. */
export function stopParsing(socket: Socket): void {
  const { parser } = socket as HttpSocket;
  if (parser) parser.onIncoming = () => 2;
}

/** Tests whether a connection can be taken, read, written and closed. Takes a few milliseconds. */
export async function handOverWorks(): Promise<boolean> {
  const client = new AbortController();
  const over = AbortSignal.any([AbortSignal.timeout(TRIAL_MS), client.signal]);
  const server = createHttpServer((_request, response) => {
    response.writeHead(200);
    const socket = takenOrCut(response);
    if (!socket) return;
    socket.on("error", () => {});
    socket.once("data", (ask) => {
      socket.write(`${ask.length.toString(16)}\r\n${ask}\r\n0\r\n\r\n`);
      socket.destroySoon();
    });
    socket.resume();
  });
  try {
    server.listen(0, "127.0.0.1");
    await once(server, "listening", { signal: over });
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    socket.on("close", () => client.abort());
    client.signal.addEventListener("abort", () => socket.destroy());
    socket.write("GET / HTTP/1.1\r\nHost: trial\r\n\r\n");
    await reads(socket, /^HTTP\/1\.1 200 .*chunked.*\r\n\r\n$/s, over);
    socket.write("ask");
    await Promise.all([
      reads(socket, /^3\r\nask\r\n0\r\n\r\n$/, over),
      once(socket, "end", { signal: over }),
    ]);
    return true;
  } catch {
    return false;
  } finally {
    client.abort();
    server.close();
    server.closeAllConnections();
  }
}

/** Takes the socket, or destroys it on failure, so that the trial's client notices. */
function takenOrCut(response: ServerResponse): Socket | undefined {
  try {
    return takeSocket(response);
  } catch {
    response.req.socket.destroy();
    return undefined;
  }
}

/** Reads until all received text matches. */
async function reads(socket: Socket, expected: RegExp, signal: AbortSignal): Promise<void> {
  for (let text = ""; !expected.test(text); ) text += (await once(socket, "data", { signal }))[0];
}
