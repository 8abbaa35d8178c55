/**
 * A cache in front of the service that makes the most of what answers permit: it keeps each as long as its
 * headers say, stale for as long as they say, and asks nothing meanwhile.
 */
import type { Scheduler } from "../harness/scheduler.ts";
import type { LogReply } from "./log-reader.ts";

export class LogCache {
  readonly #scheduler: Scheduler;
  readonly #kept = new Map<string, { reply: LogReply; until: number }>();
  /** The answers that came from it. */
  served = 0;

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /** `path`: with the query, which is the key. `ask`: asks the service. */
  async get(path: string, ask: () => Promise<LogReply>): Promise<LogReply> {
    const now = this.#scheduler.monotonic();
    const kept = this.#kept.get(path);
    if (kept && now < kept.until) {
      this.served += 1;
      return { ...kept.reply, isCached: true };
    }
    const reply = await ask();
    const keptMs = reply.status === 200 ? 1000 * permittedS(reply.headers["cache-control"] ?? "") : 0;
    if (keptMs > 0) this.#kept.set(path, { reply, until: now + keptMs });
    return reply;
  }
}

/** For how many seconds an answer may be served, fresh or stale. */
function permittedS(cacheControl: string): number {
  const seconds = (name: string) => Number(new RegExp(`${name}=(\\d+)`).exec(cacheControl)?.[1] ?? 0);
  if (/no-store|private/.test(cacheControl)) return 0;
  return seconds("max-age") + seconds("stale-while-revalidate");
}
