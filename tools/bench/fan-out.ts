/**
 * The cost of writing a batch to many viewers of one room: CPU time of the server's process for each viewer
 * and batch, against a bare loop over sockets that writes as many bytes, and against Nchan. A run with a
 * single viewer measures the cost of a batch without viewers (the poll, the reading, the store). Ratios are
 * given without that cost, which is the fan-out, and with it.
 *
 *     npm run bench -- fan-out [--viewers 2000 --batches 40]
 */
import { setTimeout as pause } from "node:timers/promises";
import { startReaders } from "./readers.ts";
import { cpuMs, type Figures, inRounds, median, ratio, report, settings } from "./rounds.ts";
import { nchanVersion, serveBare, serveNchan, serveRelay } from "./servers.ts";
import { batchesOf, EVERY_MS, watched } from "./watched.ts";

const { viewers, batches } = settings({ viewers: 2000, batches: 40 });

await using relay = await serveRelay({ RELAY_POLL_MIN_MS: String(EVERY_MS) });
await using zipping = await serveRelay({ RELAY_POLL_MIN_MS: String(EVERY_MS) });
await using quiet = await serveRelay({ RELAY_POLL_MIN_MS: String(EVERY_MS) });
await using bare = await serveBare();
await using nchan = await serveNchan();
using crowded = await watched(relay, viewers);
using zipped = await watched(zipping, viewers, { headers: "Accept-Encoding: gzip\r\n" });
using lonely = await watched(quiet, 1);
using bareReaders = await startReaders(bare.port, "/", viewers);
await nchan?.publish("first");
using nchanReaders = nchan && (await startReaders(nchan.port, "/sub", viewers));

/** The bytes that a viewer received per batch in the last round. */
let bytesPerBatch = 0;
let zippedPerBatch = 0;

async function relayRound(size: number): Promise<number> {
  const before = await crowded.readers.bytes();
  const spentMs = await batchesOf(size, batches, crowded);
  bytesPerBatch = Math.round(((await crowded.readers.bytes()) - before) / viewers / batches);
  return spentMs;
}

async function zippedRound(size: number): Promise<number> {
  const before = await zipped.readers.bytes();
  const spentMs = await batchesOf(size, batches, zipped);
  zippedPerBatch = Math.round(((await zipped.readers.bytes()) - before) / viewers / batches);
  return spentMs;
}

async function bareRound(): Promise<number> {
  const before = await bareReaders.bytes();
  const cpu = cpuMs(bare.pid);
  for (let batch = 0; batch < batches; batch++) {
    bare.write(bytesPerBatch);
    await pause(EVERY_MS);
  }
  await bareReaders.settled(before + viewers * batches * bytesPerBatch);
  return cpuMs(bare.pid) - cpu;
}

/** Nchan sends each message separately. */
async function nchanRound(size: number): Promise<number> {
  if (!nchan || !nchanReaders) return Number.NaN;
  const text = "x".repeat(Math.round(bytesPerBatch / size));
  const before = await nchanReaders.bytes();
  const cpu = cpuMs(nchan.pid);
  for (let batch = 0; batch < batches; batch++) {
    for (let message = 0; message < size; message++) await nchan.publish(text);
    await pause(EVERY_MS);
  }
  await nchanReaders.settled(before + viewers * batches * bytesPerBatch);
  return cpuMs(nchan.pid) - cpu;
}

const rows: Figures[] = [];
for (const size of [1, 10]) {
  await relayRound(size); // warm
  await bareRound();
  const measured = await inRounds({
    relay: () => relayRound(size),
    zipped: () => zippedRound(size),
    quiet: () => batchesOf(size, batches, lonely),
    bare: bareRound,
    nchan: () => nchanRound(size),
  });
  const micros = (ms: readonly number[]) => (median(ms) * 1000) / viewers / batches;
  const fanOut = measured.relay.map((ms, round) => ms - (measured.quiet[round] ?? Number.NaN));
  rows.push({
    batch: size,
    viewers,
    bytesPerBatch,
    fanOutMicros: micros(fanOut),
    bareMicros: micros(measured.bare),
    toBare: ratio(fanOut, measured.bare),
    wholeToBare: ratio(measured.relay, measured.bare),
    zippedBytes: zippedPerBatch / bytesPerBatch,
    zippedCpu: ratio(measured.zipped, measured.relay),
    ...(nchan && {
      nchanMicros: micros(measured.nchan),
      toNchan: ratio(fanOut, measured.nchan),
      wholeToNchan: ratio(measured.relay, measured.nchan),
      nchan: nchanVersion(),
    }),
  });
}
if (!nchan) console.log("Nchan is not installed (apt-get install libnginx-mod-nchan): not measured.");
report("fan-out", rows);
