/**
 * What must hold once all faults are over: who has a lease reads, every room that is watched is read, and what is kept
 * of each room can be had from cursor 0.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "../clients/client.ts";
import type { Audience } from "./audience.ts";
import type { Cluster } from "./cluster.ts";
import { run } from "./postgres.ts";
import { type RoomTable, readTables, type Tables } from "./tables.ts";
import { ViewerLog } from "./viewer-log.ts";

/** Two intervals of a quiet room, and as much for two busy cores. */
const INTERVALS = 2;
const SLACK_MS = 3000;
const LONGEST_OPENING_MS = 30_000;
const HISTORY_LIMIT_MS = 25_000;
const LOOK_MS = 500;

const ROOMS = `select video_id, epoch::text, state, final_at is not null and claimed_at is null as is_final,
    lease_until > clock_timestamp() as is_owned,
    coalesce(extract(epoch from clock_timestamp() - checkpoint_at) * 1000, 'infinity')::float8 as unread_ms,
    coalesce(extract(epoch from clock_timestamp() - claimed_at) * 1000, 0)::float8 as claimed_ms
  from room order by 1`;

interface RoomAtRest {
  video_id: string;
  epoch: string;
  state: string;
  is_final: boolean;
  is_owned: boolean;
  unread_ms: number;
  claimed_ms: number;
}

/** Looks twice: what is neglected both times, by the same owner, has nobody who reads it. */
export async function judgeOwners(cluster: Cluster, audience: Audience): Promise<void> {
  const { facts, postgres, setup } = cluster;
  const limitMs = INTERVALS * setup.quietMs + SLACK_MS;
  const watched = new Set(
    audience.staying.filter(({ log }) => !log.hasEnded).map(({ room }) => room.videoId),
  );
  const neglected = async () => {
    const rooms = await run<RoomAtRest>(postgres.url, ROOMS);
    const said = rooms.map(
      (room) => [`${room.video_id} ${room.epoch}`, neglect(room, watched, limitMs)] as const,
    );
    return new Map(said.filter(([, what]) => what !== undefined));
  };
  const first = await neglected();
  if (first.size > 0) await delay(limitMs);
  const second = first.size > 0 ? await neglected() : first;
  for (const [room, what] of second) if (first.has(room)) facts.violate("owners", `${room}: ${what}`);
  const owned = await run(postgres.url, "select from room where lease_until > clock_timestamp()");
  facts.count("rooms with an owner at the end", owned.length);
}

function neglect(room: RoomAtRest, watched: ReadonlySet<string>, limitMs: number): string | undefined {
  const { video_id, state, is_final, is_owned, unread_ms, claimed_ms } = room;
  const last = Number.isFinite(unread_ms) ? `${Math.round(unread_ms / 1000)} s ago` : "never";
  if (is_owned && state === "bootstrapping")
    return claimed_ms > LONGEST_OPENING_MS
      ? `it has been opened for ${Math.round(claimed_ms / 1000)} s`
      : undefined;
  if (is_owned && !is_final && unread_ms > limitMs) return `it has an owner, and was last read ${last}`;
  if (watched.has(video_id) && (!is_owned || unread_ms > limitMs))
    return `it has viewers${is_owned ? "" : ", no owner"}, and was last read ${last}`;
  return undefined;
}

/** Every room that holds something, from its beginning, over any instance, against the tables. */
export async function judgeHistory(cluster: Cluster, audience: Audience): Promise<void> {
  const { facts, postgres, random } = cluster;
  const before = await readTables(postgres.url);
  const rooms = audience.rooms.all.filter(({ videoId }) => (before.get(videoId)?.ids.size ?? 0) > 0);
  const readers = rooms.map((room) => {
    const log = new ViewerLog(room.videoId, () => room.isOver);
    const { url } = random.pick(cluster.instances).service;
    const options = { videoId: room.videoId, lastEventId: 0 };
    return { log, client: new Client("http", () => url, options, log, random) };
  });
  const limit = performance.now() + HISTORY_LIMIT_MS;
  let tables: Tables;
  do {
    await delay(LOOK_MS);
    tables = await readTables(postgres.url);
  } while (performance.now() < limit && readers.some(({ log }) => difference(log, tables)));
  for (const { log, client } of readers) {
    const what = difference(log, tables) ?? log.faults[0];
    if (what) facts.violate("history", `${log.videoId}: ${what}`);
    facts.count("messages read from cursor 0", log.messages.length);
    await client.leave();
  }
}

function difference({ videoId, messages }: ViewerLog, tables: Tables): string | undefined {
  const { ids, shift }: Pick<RoomTable, "ids" | "shift"> = tables.get(videoId) ?? {
    ids: new Map(),
    shift: 0,
  };
  if (messages.length !== ids.size) return `${messages.length} of the ${ids.size} messages in the table`;
  const wrong = messages.find(({ cursor, id }) => ids.get(cursor - shift) !== id);
  return wrong && `cursor ${wrong.cursor} is not what the table holds under it`;
}
