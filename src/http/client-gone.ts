/** Notices when a caller has disconnected, so that work for it can stop. */
import type { ServerResponse } from "node:http";

/** Aborts when the response's connection closes before the response is complete. */
export function clientGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}
