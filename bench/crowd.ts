/**
 * Ten thousand viewers over a hundred rooms with a message a second each, plain and compressed: what the service's process
 * spends, how many such viewers one core carries by that, and what each viewer is sent. The store is on disk.
 *
 *     npm run bench:crowd [-- --viewers 10000 --rooms 100 --seconds 5]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { roomNumber, startReaders } from "./readers.ts";
import { cpuMs, type Figures, inRounds, median, ratio, report, residentBytes, settings } from "./rounds.ts";
import { serveRelay } from "./servers.ts";

const EVERY_MS = 1000;
const SETTLE_MS = 3000;

const { viewers, rooms, seconds } = settings({ viewers: 10_000, rooms: 100, seconds: 5 });
const folder = await mkdtemp(join(tmpdir(), "bench-crowd-"));

/** The service with its rooms and viewers; what it spends and sends is measured while it alone has something said. */
async function crowd(name: string, headers: string) {
  const stack = new AsyncDisposableStack();
  const settings = { RELAY_STORE: `sqlite:${join(folder, name)}`, RELAY_GATE_CONCURRENCY: "32" };
  const relay = stack.use(await serveRelay({ ...settings, RELAY_POLL_MIN_MS: String(EVERY_MS) }));
  const chats = Array.from({ length: rooms }, (_, room) =>
    relay.upstream.chat(`bench-r${roomNumber(room)}`, { kinds: ["text"], timeoutMs: EVERY_MS }),
  );
  const path = "/v1/stream?videoId=bench-r#&backfill=0";
  const readers = stack.use(await startReaders(relay.port, path, viewers, { rooms, headers }));
  let bytesPerSecond = 0;
  const round = async (): Promise<number> => {
    const talk = chats.map((chat) => chat.speak(1));
    await pause(SETTLE_MS);
    const bytes = await readers.bytes();
    const [cpu, from] = [cpuMs(relay.pid), performance.now()];
    await pause(seconds * 1000);
    const spentMs = ((cpuMs(relay.pid) - cpu) / (performance.now() - from)) * 1000;
    bytesPerSecond = ((await readers.bytes()) - bytes) / seconds / viewers;
    for (const each of talk) each.stop();
    await pause(EVERY_MS);
    return spentMs;
  };
  return {
    round,
    bytesPerSecond: () => bytesPerSecond,
    residentMb: () => residentBytes(relay.pid) / 2 ** 20,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

const rows: Figures[] = [];
{
  await using plain = await crowd("plain.db", "");
  await using zipped = await crowd("zipped.db", "Accept-Encoding: gzip\r\n");
  const measured = await inRounds({ plain: plain.round, zipped: zipped.round });
  type Crowd = Awaited<ReturnType<typeof crowd>>;
  const row = (streams: string, spent: readonly number[], of: Crowd): Figures => ({
    streams,
    viewers,
    rooms,
    cpuMsPerSecond: median(spent),
    viewersPerCore: (viewers * 1000) / median(spent),
    bytesPerViewer: of.bytesPerSecond(),
    residentMb: of.residentMb(),
  });
  rows.push(row("plain", measured.plain, plain));
  rows.push({
    ...row("compressed", measured.zipped, zipped),
    bytesToPlain: zipped.bytesPerSecond() / plain.bytesPerSecond(),
    cpuToPlain: ratio(measured.zipped, measured.plain),
  });
}
await rm(folder, { recursive: true });
report("crowd", rows);
