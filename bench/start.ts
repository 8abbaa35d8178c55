/**
 * What the service takes before anybody comes: the time from its start until it is ready, and its memory then.
 *
 *     npm run bench:start
 */
import { setTimeout as pause } from "node:timers/promises";
import { inRounds, median, report, residentBytes } from "./rounds.ts";
import { serveRelay } from "./servers.ts";

const SETTLED_MS = 3000;

let residentMb = Number.NaN;

async function startOnce(): Promise<number> {
  await using relay = await serveRelay({ RELAY_STORE: "memory:" });
  await pause(SETTLED_MS);
  residentMb = residentBytes(relay.pid) / 2 ** 20;
  return relay.readyMs;
}

const { ready } = await inRounds({ ready: startOnce });
report("start", [{ readyMs: median(ready), residentMb }]);
