/**
 * Many rooms with a viewer each, or a few with very many viewers, and a message in each interval, read
 * through a gate without spacing. Measures how late polls start (one interval after the previous one is due)
 * for the median and the latest room, the cost of a poll and of a viewer, and a room's memory. No message may
 * be lost.
 *
 *     npm run bench -- rooms [--rooms 1000 --every 2000 --seconds 10]
 *     npm run bench -- rooms [--viewers 10000 --rooms 100 --every 1000 --seconds 5 --compressed 1]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Readers, roomNumber, startReaders } from "./readers.ts";
import { cpuMs, type Figures, median, ROUNDS, report, residentBytes, settings } from "./rounds.ts";
import { type RelayServed, serveRelay } from "./servers.ts";

const given = settings({ rooms: 1000, viewers: 0, every: 2000, seconds: 10, compressed: 0 });
const { rooms, every, seconds } = given;
const viewers = given.viewers || rooms;
const headers = given.compressed ? "Accept-Encoding: gzip\r\n" : "";
/**
 * A first group of rooms, so that one-time costs, such as the heap's young generation at full size, are not
 * counted.
 */
const WARM_UP_ROOMS = rooms / 5;

/** The lateness of the latest poll of each room, in milliseconds; a room's first poll has no due time. */
function latenessOfRooms({ upstream }: RelayServed, since: number): number[] {
  const rooms = new Map<string, { at: number; lateMs: number }>();
  for (const { kind, videoId = "", at } of upstream.requests) {
    if (kind !== "get_live_chat" || at < since) continue;
    const last = rooms.get(videoId);
    const lateMs = last ? Math.max(last.lateMs, at - last.at - every) : Number.NEGATIVE_INFINITY;
    rooms.set(videoId, { at, lateMs });
  }
  return [...rooms.values()].map(({ lateMs }) => lateMs).filter(Number.isFinite);
}

/** The number of messages that viewers have not received; compressed ones are not counted. */
async function missing(chats: readonly { ledger: readonly unknown[] }[], readers: Readers): Promise<number> {
  await pause(2 * every);
  const said = chats.reduce((sum, { ledger }) => sum + ledger.length, 0);
  return (said * viewers) / rooms - (await readers.received()).messages;
}

const folder = await mkdtemp(join(tmpdir(), "bench-rooms-"));
const rows: Figures[] = [];
{
  await using relay = await serveRelay({
    RELAY_STORE: `sqlite:${join(folder, "relay.db")}`,
    RELAY_GATE_SPACING_MS: "0",
    RELAY_GATE_CONCURRENCY: "32",
    RELAY_MAX_ROOMS: String(2 * rooms),
  });
  const { upstream } = relay;
  const open = async (prefix: string, rooms: number, viewers: number) => {
    const chats = Array.from({ length: rooms }, (_, i) =>
      upstream.chat(prefix + roomNumber(i), { kinds: ["text"], timeoutMs: every }),
    );
    const path = `/v1/stream?videoId=${prefix}#&backfill=0`;
    return { chats, readers: await startReaders(relay.port, path, viewers, { rooms, headers }) };
  };
  using _warm = (await open("bench-w", WARM_UP_ROOMS, WARM_UP_ROOMS)).readers;
  await pause(3000);
  const before = residentBytes(relay.pid);
  const { chats, readers: opened } = await open("bench-r", rooms, viewers);
  using readers = opened;
  const talk = chats.map((chat) => chat.speak(1000 / every));
  for (let round = 0; round < ROUNDS; round++) {
    const since = performance.now();
    const bytes = await readers.bytes();
    const cpu = cpuMs(relay.pid);
    await pause(seconds * 1000);
    const spentMs = cpuMs(relay.pid) - cpu;
    const polls = upstream.requests.filter(({ kind, at }) => kind === "get_live_chat" && at >= since).length;
    const lateness = latenessOfRooms(relay, since);
    rows.push({
      rooms: lateness.length,
      viewers,
      pollsPerSecond: polls / seconds,
      medianLateMs: median(lateness),
      latestRoomMs: Math.max(...lateness),
      cpuMsPerPoll: spentMs / polls,
      kbPerRoom: (residentBytes(relay.pid) - before) / 1024 / rooms,
      cpuMsPerSecond: spentMs / seconds,
      viewersPerCore: (viewers * seconds * 1000) / spentMs,
      bytesPerViewer: ((await readers.bytes()) - bytes) / seconds / viewers,
      residentMb: residentBytes(relay.pid) / 2 ** 20,
    });
  }
  for (const each of talk) each.stop();
  const lost = await missing(chats, readers);
  if (!given.compressed) for (const row of rows) row.lost = lost;
}
await rm(folder, { recursive: true });
const names = Object.keys(rows[0] ?? {});
const middle = Object.fromEntries(names.map((name) => [name, median(rows.map((row) => Number(row[name])))]));
report(viewers > rooms ? "crowd" : "rooms", [middle]);
