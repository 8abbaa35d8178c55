/**
 * Detects that a caller has disconnected, so that its work can stop. The system reports a client that has
 * gone in the same way as one that has only closed its writing side and still reads. So a caller that has
 * closed it and waits for its answer, unless by HTTP/1.0, gets a note at intervals (102 Processing): the
 * system of a client that has gone refuses the first note, and the second fails. Test: "gets a note that a
 * late answer is being made, and then the answer".
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Usual answers are given within this time, in milliseconds. */
const EVERY_MS = 1000;

interface GoneOptions {
  /** Whether the answer ends without the client. If not, the end of the client's side ends it. */
  endsByItself?: boolean;
  /** The time between two such notes, in milliseconds. */
  everyMs?: number;
}

/** A signal that aborts if the response's connection closes before the response is complete. */
export function clientGone(
  response: ServerResponse,
  { endsByItself = true, everyMs = EVERY_MS }: GoneOptions = {},
): AbortSignal {
  const gone = new AbortController();
  const { socket } = response;
  let notes: NodeJS.Timeout | undefined;
  const onEnd = () => {
    if (!endsByItself) socket?.destroySoon();
    else if (response.req.httpVersion !== "1.0") notes = setInterval(() => note(response, notes), everyMs);
  };
  if (socket?.readableEnded) onEnd();
  else socket?.once("end", onEnd);
  response.once("close", () => {
    clearInterval(notes);
    socket?.off("end", onEnd); // the connection may have another request
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

/**
 * A response whose head is sent, or whose socket was taken, cannot send 102 any more. From then on, its own
 * writes detect that the client has gone.
 */
function note(response: ServerResponse, notes: NodeJS.Timeout | undefined): void {
  if (response.headersSent || !response.socket) clearInterval(notes);
  else response.writeProcessing();
}

const NOTE = "HTTP/1.1 102 Processing\r\n\r\n";

/** Writes such notes to a bare socket, until the returned function is called. */
export function noteWhileWaiting(socket: Socket, everyMs: number): () => void {
  const notes = setInterval(() => socket.write(NOTE), everyMs);
  return () => clearInterval(notes);
}
