/**
 * Asks the service which of YouTube's clients work for a video. It repeats no failed call, except once for a
 * new token.
 */

import { Service } from "./relay-service.ts";
import { systemClock } from "./sdk-clock.ts";
import type { ProbeOptions, ProbeResult } from "./types.ts";

/**
 * Probes which of YouTube's client identities (such as WEB) work for a video now; takes from seconds to
 * minutes. Throws `TypeError` at once for an unusable URL or a missing `videoId`. Rejects with `ChatError` at
 * the first failure, or with the signal's reason.
 */
export function probe(url: string | URL, options: ProbeOptions): Promise<ProbeResult> {
  const service = new Service(url, options, systemClock);
  return service.ask("v1/probe", "rows", { videoId: service.names[0] });
}
