/**
 * Takes a connection out of Node's HTTP server once the head of its response is written, so that a stream costs a socket
 * and not a parser, a request and a response as well. Node documents neither `socket.parser` nor what its server leaves
 * on a socket (`lib/_http_server.js`): `handOverWorks` tries it all on a real connection, and where it does not work
 * streams are written through their responses.
 */
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";

/** How long the trial may take, in milliseconds. */
const TRIAL_MS = 5000;
/** What Node's server listens to on its sockets. */
const SERVER_EVENTS = ["data", "end", "close", "drain", "error", "timeout", "resume", "pause"];

/** What is relied on of Node's parser of one connection, as Node's own server lets go of it for an upgrade. */
interface Parser {
  _consumed: boolean;
  /** The socket's bytes come to its `data` listeners again. */
  unconsume(): void;
  /** The server no longer counts the connection as its own. */
  remove(): void;
  /** Ends it: what the server still counted would be read after it was freed. */
  close(): void;
}

interface HttpSocket extends Socket {
  parser: Parser | null;
}

/**
 * Writes the head of the response and takes its socket, which has no listener then: the caller must add one for errors,
 * and end it. The request must have no body, and no other may have come on its connection.
 */
export function takeSocket(response: ServerResponse): Socket {
  const socket = response.socket as HttpSocket;
  const { parser } = socket;
  response.flushHeaders();
  response.detachSocket(socket);
  for (const event of SERVER_EVENTS) socket.removeAllListeners(event);
  if (parser) {
    if (parser._consumed) parser.unconsume();
    socket.parser = null;
    // This may run in one of its callbacks, so it may be on the stack.
    setImmediate(() => {
      parser.remove(); // the end of the request has put it back meanwhile
      parser.close();
    });
  }
  return socket;
}

/** Whether a connection can be taken, read, written and closed. Takes a few milliseconds. */
export async function handOverWorks(): Promise<boolean> {
  const limit = AbortSignal.timeout(TRIAL_MS);
  const server = createServer((_request, response) => {
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
  const client = new AbortController();
  try {
    server.listen(0, "127.0.0.1");
    await once(server, "listening", { signal: limit });
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    client.signal.addEventListener("abort", () => socket.destroy());
    socket.write("GET / HTTP/1.1\r\nHost: trial\r\n\r\n");
    await reads(socket, /^HTTP\/1\.1 200 .*chunked.*\r\n\r\n$/s, limit);
    socket.write("ask");
    await Promise.all([
      reads(socket, /^3\r\nask\r\n0\r\n\r\n$/, limit),
      once(socket, "end", { signal: limit }),
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

/** Cut off where it cannot be taken: its client learns it. */
function takenOrCut(response: ServerResponse): Socket | undefined {
  try {
    return takeSocket(response);
  } catch {
    response.req.socket.destroy();
    return undefined;
  }
}

/** Reads until all that came is what is expected. */
async function reads(socket: Socket, expected: RegExp, signal: AbortSignal): Promise<void> {
  for (let text = ""; !expected.test(text); ) text += (await once(socket, "data", { signal }))[0];
}
