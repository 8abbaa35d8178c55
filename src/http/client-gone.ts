/** Detects that a caller has disconnected, so that its work can stop. */
import type { ServerResponse } from "node:http";

/** A signal that aborts if the response's connection closes before the response is complete. */
export function clientGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}
