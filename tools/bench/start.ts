/**
 * The cost of a start without viewers, from the checkout and from the package: the time until the service is
 * ready, the CPU time of that, and its memory then. Both starts find their compiled code in a cache.
 *
 *     npm run bench -- start                        after npm run build
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { cpuMs, type Figures, inRounds, median, report, residentBytes } from "./rounds.ts";
import { serveRelay } from "./servers.ts";

const SETTLED_MS = 3000;
const MAINS = { checkout: "bin/livechat-relay.js", package: "dist/main.js" };

const folder = await mkdtemp(join(tmpdir(), "bench-start-"));
process.env.NODE_COMPILE_CACHE = join(folder, "cache"); // the package's own launcher sets one, too
const isBuilt = existsSync(fileURLToPath(new URL(`../../${MAINS.package}`, import.meta.url)));
if (!isBuilt) console.log("There is no build (npm run build): the package is not measured.");

const rows: Figures[] = [];
for (const [from, main] of Object.entries(MAINS)) {
  if (from === "package" && !isBuilt) continue;
  for (const store of ["memory:", `sqlite:${join(folder, "relay.db")}`]) {
    const cpus: number[] = [];
    const residents: number[] = [];
    const once = async (): Promise<number> => {
      await using relay = await serveRelay({ RELAY_STORE: store }, main);
      cpus.push(cpuMs(relay.pid));
      await pause(SETTLED_MS);
      residents.push(residentBytes(relay.pid) / 2 ** 20);
      return relay.readyMs;
    };
    await once(); // fills the cache
    const { ready } = await inRounds({ ready: once });
    rows.push({
      from,
      store: store.split(":", 1)[0] ?? "",
      readyMs: median(ready),
      cpuMs: median(cpus),
      residentMb: median(residents),
    });
  }
}
await rm(folder, { recursive: true });
report("start", rows);
