/**
 * What a viewer costs: CPU of the relay's process for each write to a viewer, as a ratio to a plain `node:http`
 * server that writes the same bytes to as many connections in the same run. The relay's share includes the polls
 * and the simulated upstream, so the ratio falls as viewers grow. Readers live in a process of their own.
 *
 *     npm run bench -- --viewers 1000 --batches 40
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { startRelay } from "../test/support/relay.ts";

const VIDEO = "bench-video";
const MESSAGES_PER_BATCH = 10;
/** Of the room's poll, and between two batches of the baseline. */
const EVERY_MS = 100;

const { values } = parseArgs({
  options: { viewers: { type: "string", default: "1000" }, batches: { type: "string", default: "40" } },
});
const viewers = Number(values.viewers);
const batches = Number(values.batches);

interface Cost {
  cpuMs: number;
  writes: number;
  bytes: number;
}

/** Readers of a URL, which report how many bytes they have got when asked. */
async function readers(url: string): Promise<{ bytes(): Promise<number>; stop(): void }> {
  const child: ChildProcess = fork(new URL("./readers.ts", import.meta.url), [url, String(viewers)]);
  await once(child, "message");
  return {
    bytes: async () => {
      child.send("bytes");
      const [total] = await once(child, "message");
      return total as number;
    },
    stop: () => void child.kill(),
  };
}

async function measured(
  reading: Awaited<ReturnType<typeof readers>>,
  run: () => Promise<void>,
): Promise<Cost> {
  const before = await reading.bytes();
  const cpu = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(cpu);
  const bytes = (await reading.bytes()) - before;
  return { cpuMs: (user + system) / 1000, writes: viewers * batches, bytes };
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

async function relayCost(): Promise<Cost> {
  await using relay = await startRelay({ settings: { RELAY_POLL_MIN_MS: String(EVERY_MS) } });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: EVERY_MS });
  chat.say(1);
  const reading = await readers(`${relay.url}/v1/stream?videoId=${VIDEO}&backfill=0`);
  const cost = await measured(reading, async () => {
    for (let batch = 0; batch < batches; batch++) {
      const polled = relay.upstream.requested("get_live_chat", { finished: true });
      chat.say(MESSAGES_PER_BATCH);
      await polled;
      await pause(EVERY_MS / 2);
    }
    await pause(500);
  });
  reading.stop();
  return cost;
}

/** The same number of writes of the same size, with nothing around them. */
async function plainCost(bytesPerWrite: number): Promise<Cost> {
  const responses = new Set<ServerResponse>();
  const server = createServer((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(": hello\n\n");
    responses.add(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const reading = await readers(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  const bytes = Buffer.alloc(bytesPerWrite, "x");
  const cost = await measured(reading, async () => {
    for (let batch = 0; batch < batches; batch++) {
      for (const response of responses) response.write(bytes);
      await pause(EVERY_MS);
    }
    await pause(500);
  });
  reading.stop();
  server.closeAllConnections();
  server.close();
  return cost;
}

const relay = await relayCost();
const plain = await plainCost(Math.round(relay.bytes / relay.writes));
const perWrite = ({ cpuMs, writes }: Cost) => (cpuMs * 1000) / writes;
const report = {
  viewers,
  batches,
  bytesPerWrite: Math.round(relay.bytes / relay.writes),
  relayMicrosPerWrite: perWrite(relay).toFixed(1),
  plainMicrosPerWrite: perWrite(plain).toFixed(1),
  ratio: (perWrite(relay) / perWrite(plain)).toFixed(2),
};
process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
process.exit(0);
