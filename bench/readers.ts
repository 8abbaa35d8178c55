/**
 * The other side of a benchmark: a process with so many connections to a path of a local port, which read whatever
 * comes and count it. Run as a program it takes the port, the path, the number of connections and further header lines.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** One address has only some 28,000 ports to call from. */
const ADDRESSES = 10;
const ARRIVAL_MS = 30_000;

export interface Readers extends Disposable {
  /** Received so far, of all connections together. */
  bytes(): Promise<number>;
  /** Resolves to the bytes once no more have come for a while, and at least so many. */
  settled(atLeast: number): Promise<number>;
}

/** Resolves once all have been sent something. */
export async function startReaders(
  port: number,
  path: string,
  count: number,
  headers = "",
): Promise<Readers> {
  const args = [String(port), path, String(count), headers];
  const child = fork(fileURLToPath(import.meta.url), args);
  await once(child, "message");
  const bytes = async (): Promise<number> => {
    child.send("bytes");
    return (await once(child, "message"))[0];
  };
  return {
    bytes,
    settled: async (atLeast) => {
      const limit = AbortSignal.timeout(ARRIVAL_MS);
      for (let last = -1, now = await bytes(); ; last = now, now = await bytes()) {
        if (now >= atLeast && now === last) return now;
        if (limit.aborted) throw new Error(`only ${now} of ${atLeast} bytes came`);
        await pause(50);
      }
    },
    [Symbol.dispose]: () => void child.kill(),
  };
}

async function read([port, path, count, headers]: readonly string[]): Promise<void> {
  let bytes = 0;
  const ask = `GET ${path} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n${headers}\r\n`;
  const arrivals: Promise<unknown>[] = [];
  for (let i = 0; i < Number(count); i++) {
    const localAddress = `127.0.0.${2 + (i % ADDRESSES)}`;
    const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress });
    socket.write(ask);
    arrivals.push(once(socket, "data"));
    socket.on("data", (chunk) => {
      bytes += chunk.length;
    });
    if (i % 200 === 0) await pause(10);
  }
  await Promise.all(arrivals);
  process.on("message", () => process.send?.(bytes));
  process.on("disconnect", () => process.exit());
  process.send?.("ready");
}

if (import.meta.main) await read(process.argv.slice(2));
