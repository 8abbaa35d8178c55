/** Notices when the caller is gone, so that nothing is done for nobody. */
import type { ServerResponse } from "node:http";

/** Aborts when the response's connection closes before the response is complete. */
export function clientGone(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) gone.abort();
  });
  return gone.signal;
}
