/**
 * Detects that a caller has disconnected, so that its work can stop. A client that has only closed its writing
 * side still reads: it gets its answer, unless this is one that only the client ends.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * A signal that aborts if the response's connection closes before the response is complete. With
 * `endsByItself` false, the end of the client's side closes the connection.
 */
export function clientGone(response: ServerResponse, endsByItself = true): AbortSignal {
  if (!endsByItself) endWithClient(response);
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}

function endWithClient(response: ServerResponse): void {
  const { socket } = response.req;
  if (socket.readableEnded) socket.destroySoon();
  socket.once("end", close);
  response.once("close", () => socket.off("end", close)); // the connection may have another request
}

function close(this: Socket): void {
  this.destroySoon();
}
