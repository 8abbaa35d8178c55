/** Detects that a caller has disconnected, so that its work can stop. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../base/clock.ts";
import type { AnswersUnderWay } from "./answers-under-way.ts";

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

/** Usual answers are given within this time. */
const EVERY_MS = 1000;

/**
 * Serves clients that have closed their writing side. The system says the same of a client that has gone
 * altogether. One that waits for long is therefore told each second that its answer is being made (102
 * Processing): the system of a client that has gone refuses the first, and so the second fails, which closes
 * the connection and ends the work.
 */
export function serveHalfClosed(server: Server, underWay: AnswersUnderWay, clock: Clock): void {
  Object.assign(server, { httpAllowHalfOpen: true }); // Node's own switch, which its types lack
  server.on("connection", (socket: Socket) => {
    socket.once("end", () => {
      const response = underWay.on(socket)?.response;
      if (response && response.req.httpVersion !== "1.0") void reassure(response, clock);
    });
  });
}

async function reassure(response: ServerResponse, clock: Clock): Promise<void> {
  const over = new AbortController();
  response.once("close", () => over.abort());
  while (!over.signal.aborted) {
    await clock.sleep(EVERY_MS, over.signal).catch(() => {});
    if (response.headersSent || !response.socket) return; // which a waiting poll has taken
    response.writeProcessing();
  }
}
