/**
 * Durable batches per second: rooms that append ten messages at a time, each as soon as its last batch is on
 * disk. The comparison is a bare `node:sqlite` loop on the same file format and settings, which blocks its
 * thread and commits each batch by itself. Also measures the time of an append, and the longest time for
 * which the event loop was blocked while the store wrote.
 *
 *     npm run bench -- store [--batches 600]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import type { Hold } from "../../src/store/ownership.ts";
import { openDatabase } from "../../src/store/sqlite/sqlite-schema.ts";
import type { EncodedMessage } from "../../src/store/stored-message.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { type Figures, inRounds, median, ratio, report, settings } from "./rounds.ts";

const BATCH = 10;
const ROOMS = [1, 5, 50];
/** The number of authors who speak by turns. */
const AUTHORS = 20_000;
/** As large as a real checkpoint. */
const CHECKPOINT = JSON.stringify({ continuation: "c".repeat(300), credentials: "k".repeat(200) });
const NS_PER_MS = 1e6;

const { batches } = settings({ batches: 600 });

const folder = await mkdtemp(join(tmpdir(), "bench-store-"));
const store = await openStore(`sqlite:${join(folder, "relay.db")}`, systemClock, new Telemetry(silentLog));
const bare = openDatabase(join(folder, "bare.db"));
const insert =
  bare.prepare(`insert into message (room, cursor, at, id, body, details) values (?, ?, ?, ?, ?, ?)
  on conflict (room, id) do nothing`);
const moveOn = bare.prepare("update room set head = ?, checkpoint = ?, checkpoint_at = ? where key = ?");
const born = bare.prepare(
  "insert into room (key, video_id, epoch, base, floor, head) values (?, ?, 1, 0, 0, 0)",
);

let lastId = 0;

function newMessage(): EncodedMessage {
  const id = `ChwKGkNOcm${(++lastId).toString(36).padStart(24, "0")}`;
  const text = "x".repeat(40);
  const fields = { author: "An author", message: text, amount: "", color: "" };
  const body = { type: "chat", id, timestamp: "", ...fields, parts: [{ kind: "text", text }] };
  const authorId = `UC${String(lastId % AUTHORS).padStart(22, "0")}`;
  return { id, body: JSON.stringify(body), details: JSON.stringify({ authorId, photo: "p".repeat(220) }) };
}

function newBatch(): EncodedMessage[] {
  return Array.from({ length: BATCH }, newMessage);
}

/** `tookMs` gets the time of each append. */
async function storeRound(rooms: readonly Hold[], heads: number[], tookMs: number[]): Promise<void> {
  let left = batches;
  const write = async (room: Hold, place: number): Promise<void> => {
    while (left-- > 0) {
      const head = heads[place] ?? 0;
      const from = performance.now();
      await store.append(room, head, newBatch(), CHECKPOINT);
      tookMs.push(performance.now() - from);
      heads[place] = head + BATCH;
    }
  };
  await Promise.all(rooms.map(write));
}

function bareRound(rooms: number): void {
  for (let batch = 0; batch < batches; batch++) {
    const room = 1 + (batch % rooms);
    const head = (bareHeads[room] ?? 0) + BATCH;
    bare.exec("begin immediate");
    for (const [i, { id, body, details }] of newBatch().entries()) {
      insert.run(room, head - BATCH + i + 1, Date.now(), id, body, details);
    }
    moveOn.run(head, CHECKPOINT, Date.now(), room);
    bare.exec("commit");
    bareHeads[room] = head;
  }
}

const bareHeads: number[] = [];
const rows: Figures[] = [];
for (let room = 1; room <= Math.max(...ROOMS); room++) born.run(room, `bench-${room}`);
for (const count of ROOMS) {
  const claims = Array.from({ length: count }, (_, i) => store.ownership.take(`bench-${count}-${i}`));
  const rooms = (await Promise.all(claims)).filter((room) => room !== undefined);
  const heads = rooms.map(({ head }) => head);
  const stalls = monitorEventLoopDelay({ resolution: 1 });
  const timed = async (act: () => unknown): Promise<number> => {
    const from = performance.now();
    await act();
    return batches / ((performance.now() - from) / 1000);
  };
  let stallMs = 0;
  const tookMs: number[] = [];
  const measured = await inRounds({
    store: async () => {
      stalls.enable();
      const rate = await timed(() => storeRound(rooms, heads, tookMs));
      stalls.disable();
      stallMs = Math.max(stallMs, stalls.max / NS_PER_MS);
      stalls.reset();
      return rate;
    },
    bare: () => timed(() => bareRound(count)),
  });
  rows.push({
    rooms: count,
    batchesPerSecond: median(measured.store),
    bareBatchesPerSecond: median(measured.bare),
    toBare: ratio(measured.store, measured.bare),
    appendP50Ms: median(tookMs),
    longestStallMs: stallMs,
  });
}
await store.close();
bare.close();
await rm(folder, { recursive: true });
report("store", rows);
