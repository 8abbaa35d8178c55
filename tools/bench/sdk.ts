/**
 * The SDK's memory while one room hands out ten million messages, and the cost of each. A server in a thread
 * of its own sends them over a real socket as fast as they are read, and cuts the connection after each
 * million.
 *
 *     npm run bench -- sdk [MESSAGES]        fails if memory grows, or a message is lost or repeated
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { chat } from "../../client/index.ts";
import { heldMb } from "../../test/support/memory.ts";

const STEP = 1_000_000;
const CHUNK = 500;
const MAX_GROWTH_MB = 2;

const frame = (event: string, data: object, id = ""): string =>
  `${id}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

function* say(from: number): Generator<string> {
  yield `retry: 1\n\n${frame("init", { videoId: "v", chatType: "liveChatRenderer", cursor: from })}`;
  for (let cursor = from + 1; cursor <= from + STEP; cursor += CHUNK) {
    const at = Array.from({ length: CHUNK }, (_, index) => cursor + index);
    yield at
      .map((n) =>
        frame("message", { type: "chat", id: `m${n}`, author: "@a", message: "hello" }, `id: ${n}\n`),
      )
      .join("");
  }
}

async function serve(): Promise<void> {
  const server = createServer(({ headers }, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    Readable.from(say(Number(headers["last-event-id"] ?? 0))).pipe(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  parentPort?.postMessage((server.address() as AddressInfo).port);
}

async function measure(messages: number): Promise<void> {
  const worker = new Worker(new URL(import.meta.url));
  const [port] = await once(worker, "message");
  const room = chat(`http://127.0.0.1:${port}`, { videoId: "v" });
  const held: number[] = [];
  let expected = 1;
  let before = process.cpuUsage();
  for await (const { cursor } of room) {
    assert.equal(cursor, expected);
    expected += 1;
    if (cursor % STEP !== 0) continue;
    const { user, system } = process.cpuUsage(before); // both threads
    held.push(heldMb());
    const each = ((user + system) / STEP).toFixed(2);
    console.log(
      `${cursor} messages: ${held.at(-1)?.toFixed(1)} MB held, ${each} µs CPU each, the server's included`,
    );
    before = process.cpuUsage();
    if (cursor >= messages) break;
  }
  await worker.terminate();
  const growth = (held.at(-1) ?? 0) - (held[0] ?? 0);
  assert.ok(growth <= MAX_GROWTH_MB, `memory grew by ${growth.toFixed(1)} MB`);
}

if (isMainThread) await measure(Number(process.argv[2] ?? 10 * STEP));
else await serve();
