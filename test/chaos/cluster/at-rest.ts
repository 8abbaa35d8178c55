/**
 * Judges the state after all faults: each lease holder reads, each room with viewers is read, and the stored
 * messages of each room can be read from cursor 0.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "../../harness/clients/client.ts";
import type { Audience } from "./audience.ts";
import type { Cluster } from "./cluster.ts";
import { run } from "./postgres.ts";
import { type RoomTable, readTables, type Tables } from "./tables.ts";
import { ViewerLog } from "./viewer-log.ts";

/** Two intervals of a quiet room; the margin is for two busy cores. */
const INTERVALS = 2;
const SLACK_MS = 3000;
/** Maximum time without a reader: instances take this long to recover from an outage, or to open a room. */
const PATIENCE_MS = { reading: 10_000, opening: 30_000 };
const HISTORY_LIMIT_MS = 25_000;
const CHECK_MS = 500;

const ROOMS = `select video_id || ' of epoch ' || epoch as name, video_id, state,
    final_at is not null as is_final, lease_until > clock_timestamp() as is_owned,
    coalesce(extract(epoch from clock_timestamp() - checkpoint_at) * 1000, 'infinity')::float8 as unread_ms
  from room order by 1`;

interface RoomAtRest {
  name: string;
  video_id: string;
  state: string;
  is_final: boolean;
  is_owned: boolean;
  unread_ms: number;
}

/** Checks until no room is neglected, or one has been neglected too long by the same owner. */
export async function judgeOwners(cluster: Cluster, audience: Audience): Promise<void> {
  const { verdict, postgres, setup } = cluster;
  const { watched } = audience;
  const neglected = async () => {
    const rooms = await run<RoomAtRest>(postgres.url, ROOMS);
    const longMs = INTERVALS * setup.quietMs + SLACK_MS;
    return new Map(rooms.map((room) => [room.name, neglect(room, watched, longMs)]))
      .entries()
      .filter(isNeglected);
  };
  const from = performance.now();
  let suspects = new Map(await neglected());
  while (suspects.size > 0 && performance.now() - from < Math.max(...suspects.values().map(patience))) {
    await delay(CHECK_MS);
    suspects = new Map((await neglected()).filter(([name]) => suspects.has(name)));
  }
  for (const [name, { what }] of suspects) verdict.violate("reading", `${name} ${what}`);
}

interface Neglect {
  what: string;
  isOpening: boolean;
}

const isNeglected = (entry: [string, Neglect | undefined]): entry is [string, Neglect] =>
  entry[1] !== undefined;
const patience = ({ isOpening }: Neglect) => (isOpening ? PATIENCE_MS.opening : PATIENCE_MS.reading);

function neglect(room: RoomAtRest, watched: ReadonlySet<string>, longMs: number): Neglect | undefined {
  const { video_id, state, is_final, is_owned, unread_ms } = room;
  const isUnread = unread_ms > longMs;
  const last = Number.isFinite(unread_ms)
    ? `was last read ${Math.round(unread_ms / 1000)} s ago`
    : "was never read";
  if (is_owned && state === "bootstrapping")
    return { what: "is being opened, and goes on being", isOpening: true };
  if (is_owned && !is_final && isUnread) return { what: `has an owner, and ${last}`, isOpening: false };
  if (watched.has(video_id) && (!is_owned || isUnread))
    return { what: `has viewers, and ${last}`, isOpening: false };
  return undefined;
}

/** Compares every stored room, read from its beginning through any instance, with the tables. */
export async function judgeHistory(cluster: Cluster, audience: Audience): Promise<void> {
  const { verdict, postgres, random } = cluster;
  const before = await readTables(postgres.url);
  const rooms = audience.rooms.all.filter(({ videoId }) => (before.get(videoId)?.ids.size ?? 0) > 0);
  const readers = rooms.map((room) => {
    const log = new ViewerLog(room.videoId, () => room.isOver);
    const { url } = random.pick(cluster.instances).service;
    const options = { videoId: room.videoId, lastEventId: 0 };
    return { log, client: new Client("http", () => url, options, log, random) };
  });
  const limit = performance.now() + HISTORY_LIMIT_MS;
  // The differences at one moment: a room that a reader has opened may still get messages after it.
  let differences: (string | undefined)[];
  do {
    await delay(CHECK_MS);
    const tables = await readTables(postgres.url);
    differences = readers.map(({ log }) => difference(log, tables));
  } while (performance.now() < limit && differences.some((found) => found !== undefined));
  for (const [at, { log, client }] of readers.entries()) {
    const what = [differences[at], log.faults[0]].filter((found) => found !== undefined);
    const refusals = [...log.refusals].map(([code, times]) => `${times} times ${code}`);
    if (what.length > 0)
      verdict.violate("stream", `the history of ${log.videoId}: ${[...what, ...refusals].join(", ")}`);
    verdict.count("messages read from cursor 0", log.messages.length);
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
