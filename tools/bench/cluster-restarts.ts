/**
 * Three instances on one PostgreSQL under load, as operators have them: how much later a viewer of another
 * instance gets a message, and how long a chat is silent when its instance is restarted or killed. Also
 * judges the viewers' messages.
 */
import { setTimeout as pause } from "node:timers/promises";
import { startSimulator } from "../../simulator/index.ts";
import { Random } from "../../simulator/random.ts";
import { judge } from "../../test/chaos/cluster/judges.ts";
import { run } from "../../test/chaos/cluster/postgres.ts";
import { watchLeases } from "../../test/chaos/cluster/tables.ts";
import { ViewerLog } from "../../test/chaos/cluster/viewer-log.ts";
import type { Service } from "../../test/chaos/service.ts";
import { Client } from "../../test/harness/clients/client.ts";
import { end, instances, longestPauseMs } from "./cluster-services.ts";
import { type Figures, percentile } from "./rounds.ts";

const INSTANCES = 3;
const ROOMS = Array.from({ length: 8 }, (_, n) => `cluster-0${n}x`);
const PER_SECOND = 10;
const TIMEOUT_MS = 100;
/** The default. */
const LEASE_MS = 6000;
const WARM_MS = 5000;
const STEADY_MS = 15_000;
const RESTARTS = 2 * INSTANCES;
const KILLS = 4;
/** The time from a stop until everything is as before. */
const AFTER_STOP_MS = 4000;

class TimedLog extends ViewerLog {
  readonly arrivals: { id: string; at: number }[] = [];

  override message(cursor: number, data: string): void {
    super.message(cursor, data);
    const { id = "" } = this.messages.at(-1) ?? {};
    this.arrivals.push({ id, at: performance.now() });
  }
}

/** Throws if a viewer missed a message or got one twice. */
export async function restarts(postgresUrl: string): Promise<Figures[]> {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startSimulator());
  const own = { RELAY_POLL_MIN_MS: "5", RELAY_LEASE_MS: `${LEASE_MS}` };
  const services = await instances(INSTANCES, postgresUrl, upstream, stack, own);
  for (const service of services) await service.start();
  await watchLeases(postgresUrl);
  const chats = ROOMS.map((id) =>
    upstream.chat(id, { kinds: ["text"], timeoutMs: TIMEOUT_MS, page: 5000, tokens: "reusable" }),
  );
  for (const chat of chats) chat.say(1);
  const random = new Random(1, "cluster");
  let up: readonly Service[] = services;
  const logs: TimedLog[] = [];
  const viewers = ROOMS.flatMap((videoId) =>
    services.map((home) => {
      const log = new TimedLog(videoId);
      logs.push(log);
      const base = () => (up.includes(home) ? home : random.pick([...up])).url;
      return new Client("http", base, { videoId, backfill: 0 }, log, new Random(logs.length, "viewer"));
    }),
  );
  await pause(WARM_MS);
  const talks = chats.map((chat) => chat.speak(PER_SECOND));
  await pause(WARM_MS);

  const steadyFrom = performance.now();
  await pause(STEADY_MS);
  const others = ROOMS.flatMap((room) => {
    const arrivals = Map.groupBy(
      logs.filter(({ videoId }) => videoId === room).flatMap((log) => log.arrivals),
      ({ id }) => id,
    );
    return [...arrivals.values()].flatMap((all) => {
      const times = all.map(({ at }) => at);
      const first = Math.min(...times);
      return first < steadyFrom
        ? []
        : times
            .toSorted((a, b) => a - b)
            .slice(1)
            .map((at) => at - first);
    });
  });

  /**
   * Stops one instance and starts it again. Returns how long each of its chats was silent for all viewers, in
   * milliseconds.
   */
  const silences = async (service: Service, how: "stopped" | "killed", waitMs: number) => {
    const epochs = async () =>
      new Map(
        (await run<{ id: string; epoch: string }>(postgresUrl, "select video_id as id, epoch from room")).map(
          (row) => [row.id, row.epoch],
        ),
      );
    const before = await epochs();
    const from = performance.now();
    up = services.filter((other) => other !== service);
    await end(service, how);
    await pause(waitMs);
    const after = await epochs();
    await service.start();
    up = services;
    await pause(AFTER_STOP_MS);
    return ROOMS.filter((room) => before.get(room) !== after.get(room)).map((room) => {
      const seen = new Set<string>();
      const firsts = logs
        .filter(({ videoId }) => videoId === room)
        .flatMap((log) => log.arrivals)
        .toSorted((one, other) => one.at - other.at)
        .filter(({ id }) => !seen.has(id) && seen.add(id))
        .map(({ at }) => at)
        .filter((at) => at > from - 1000 && at < from + waitMs + AFTER_STOP_MS);
      return longestPauseMs(firsts);
    });
  };
  /** One instance after the other ends in this way. */
  const silencesOf = async (times: number, how: "stopped" | "killed", waitMs: number) => {
    const all: number[] = [];
    for (let n = 0; n < times; n++)
      all.push(...(await silences(services[n % INSTANCES] as Service, how, waitMs)));
    return all;
  };
  const pagesBefore = pagesAsked(upstream.requests);
  const terminated = await silencesOf(RESTARTS, "stopped", AFTER_STOP_MS);
  const pages = pagesAsked(upstream.requests) - pagesBefore;
  const killed = await silencesOf(KILLS, "killed", LEASE_MS + AFTER_STOP_MS);

  for (const talk of talks) talk.stop();
  await pause(AFTER_STOP_MS);
  const said = new Map(chats.map((chat, n) => [ROOMS[n] ?? "", chat.ledger.map(({ id }) => id)]));
  const watched = new Set(said.keys());
  const evidence = { url: postgresUrl, said, watched, viewers: logs, requests: upstream.requests };
  const { violations } = await judge(evidence);
  await Promise.all(viewers.map((viewer) => viewer.leave()));
  if (violations.length > 0) throw new Error(violations.join("\n"));
  const row = (what: string, ms: readonly number[]): Figures => ({
    what,
    count: ms.length,
    p50Ms: percentile(ms, 0.5),
    p99Ms: percentile(ms, 0.99),
    maxMs: Math.max(...ms),
  });
  return [
    row("to a viewer of another instance, later than to one of the owner's", others),
    { ...row("silence at a restart by SIGTERM", terminated), pages },
    row(`silence after kill -9, lease of ${LEASE_MS} ms`, killed),
  ];
}

function pagesAsked(requests: readonly { kind: string }[]): number {
  return requests.filter(({ kind }) => kind === "popout" || kind === "watch").length;
}
