/**
 * Trials that are played alone and measured: how soon rooms are read again after their instance has gone or
 * cannot read them.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "../../../simulator/random.ts";
import type { Audience, Viewer } from "./audience.ts";
import type { Cluster } from "./cluster.ts";
import type { Instance } from "./instance.ts";
import { LEASE_MS } from "./setup.ts";

/** A margin for two busy cores. */
const SLACK_MS = 1500;
/** From a hand-over, and from the end of a lease, to the next poll. */
const HANDED_OVER_MS = 3000;
const TAKEN_OVER_MS = 2000;
/**
 * How long an instance that has lost its upstream keeps its rooms, and how long until they are read again.
 */
const KEEPS_MS = 10_000;
const AWAY_MS = { least: 12_000, most: KEEPS_MS + LEASE_MS + 15_000 };
/** The number of rooms that are being opened at that moment. */
const RUSH = 9;
const OPENING_MS = 300;
const OUTAGE_MS = 7000;
/** A message said this long after the loss of the upstream cannot have been read before. */
const SURELY_LOST_MS = 2000;

/** The database is away longer than any statement waits, while rooms are opened and released. */
export async function outage({ postgres }: Cluster, audience: Audience): Promise<void> {
  audience.rush(RUSH);
  await delay(OPENING_MS);
  await postgres.stop();
  await delay(OUTAGE_MS);
  await postgres.start();
}

/**
 * An instance goes, and so do the viewers of its quiet rooms, whom no other instance has: each room must be
 * read again as soon as any other would be. Then all come back.
 */
export async function unwatched(cluster: Cluster, audience: Audience, random: Random): Promise<void> {
  const home = audience.mainHome;
  if (!home) return;
  for (const other of cluster.instances.filter((instance) => instance !== home)) {
    await cluster.stop(other); // its rooms move to where the viewers are
    await other.service.start();
  }
  const residents = audience.residents(home);
  const isHandedOver = random.chance(0.5);
  for (const { client } of residents) client.drop(Number.POSITIVE_INFINITY);
  if (isHandedOver) await cluster.stop(home);
  else await home.service.close();
  const from = performance.now();
  const soonMs = isHandedOver ? HANDED_OVER_MS : LEASE_MS + TAKEN_OVER_MS;
  const limitMs = soonMs + cluster.setup.quietMs + SLACK_MS;
  const unread = () => {
    const read = cluster.readers(from);
    return residents.filter(({ room }) => !read.has(room.videoId));
  };
  await cluster.until(() => unread().length === 0, limitMs);
  const left = unread();
  const how = isHandedOver ? "a hand-over" : "a kill";
  if (left.length > 0)
    cluster.verdict.violate(
      "reading",
      `${left.length} of ${residents.length} unwatched rooms were not read for ${limitMs} ms after ${how}, ${left[0]?.room.videoId} is one`,
    );
  cluster.verdict.time(`ms until unwatched rooms were read after ${how}`, performance.now() - from);
  await home.service.start();
  for (const { client } of residents) client.comeBack();
}

/**
 * The instance that reads most busy rooms loses its upstream: viewers on the others must not depend on it.
 */
export async function upstreamAway(cluster: Cluster, audience: Audience, random: Random): Promise<void> {
  const busy = audience.staying.filter(({ room }) => room.kind === "busy" || room.kind === "lossy");
  const readers = cluster.readers(performance.now() - cluster.setup.quietMs);
  const readBy = (instance: Instance) => busy.filter(({ room }) => readers.get(room.videoId) === instance);
  const [away] = cluster.instances.toSorted((one, other) => readBy(other).length - readBy(one).length);
  if (!away) return;
  const how = random.pick(["silent", "broken"] as const);
  away.upstream.lose(how);
  const from = performance.now();
  await delay(SURELY_LOST_MS);
  const elsewhere = readBy(away).filter(({ at }) => at !== away);
  const waiting = withoutNews(elsewhere);
  const rooms = () => new Set(waiting().map(({ room }) => room.videoId));
  cluster.verdict.count("rooms whose owner lost the upstream", rooms().size);
  await cluster.until(() => waiting().length === 0, AWAY_MS.most - SURELY_LOST_MS);
  cluster.verdict.time("ms until another instance read them", performance.now() - from);
  for (const videoId of rooms())
    cluster.verdict.violate(
      "reading",
      `${videoId}: its owner's way to the upstream is ${how}, and for ${AWAY_MS.most} ms nobody else read it`,
    );
  await delay(Math.max(0, from + AWAY_MS.least - performance.now()));
  await away.upstream.mend();
}

/** Returns a function that lists the viewers without any message said from now on. */
function withoutNews(viewers: readonly Viewer[]): () => Viewer[] {
  const saidBefore = new Map(viewers.map(({ room }) => [room, room.chat.ledger.length]));
  return () =>
    viewers.filter(({ room, log }) => {
      const place = room.chat.ledger.findLastIndex(({ id }) => id === log.messages.at(-1)?.id);
      return place < (saidBefore.get(room) ?? 0);
    });
}
