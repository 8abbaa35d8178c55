/**
 * The cost of a start without viewers, from the checkout, from the package and from the executable file: the
 * time until the service is ready, the CPU time of that, and its memory then. The first two find their
 * compiled code in a cache, the file has it inside.
 *
 *     npm run bench -- start                        after npm run release
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { cpuMs, type Figures, inRounds, median, report, residentBytes } from "./rounds.ts";
import { isBuilt, PROGRAMS, serveRelay } from "./servers.ts";

const SETTLED_MS = 3000;

const folder = await mkdtemp(join(tmpdir(), "bench-start-"));
process.env.NODE_COMPILE_CACHE = join(folder, "cache"); // the package's own launcher sets one, too

const rows: Figures[] = [];
for (const from of Object.keys(PROGRAMS) as (keyof typeof PROGRAMS)[]) {
  if (!isBuilt(from)) continue;
  for (const store of ["memory:", `sqlite:${join(folder, "relay.db")}`]) {
    const cpus: number[] = [];
    const residents: number[] = [];
    const once = async (): Promise<number> => {
      await using relay = await serveRelay({ RELAY_STORE: store }, from);
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
