/**
 * The viewers of a bench: a process with many connections to a path of a local port, which reads everything,
 * counts it and notes its arrival.
 */
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { runChild, startChild } from "./child.ts";
import { connectAs, MessageCount } from "./connections.ts";

const ARRIVAL_MS = 30_000;

interface Reading {
  port: number;
  /**
   * The connections take these in turns. Each `#` stands for the number of the connection's room, as
   * `roomNumber` writes it.
   */
  paths: readonly string[];
  count: number;
  /** The number of rooms over which to spread the connections. */
  rooms: number;
  /** Further header lines, each with its line end. */
  headers: string;
  /** The number of connections that end each second and are opened again, in turns. */
  leaving: number;
}

/** Totals of all connections. */
export interface Received {
  bytes: number;
  /** Frames with an id, if not compressed. */
  messages: number;
  /** The arrival times since the last call, in milliseconds on the system's monotonic clock. */
  arrivals: number[];
}

export interface Readers extends Disposable {
  received(): Promise<Received>;
  /** Received so far. */
  bytes(): Promise<number>;
  /** Resolves to the bytes once no more have come for a while, and at least `atLeast` have. */
  settled(atLeast: number): Promise<number>;
}

/** Milliseconds on a clock that all processes of the machine share. */
export function systemMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Four digits: so a video's id has its eleven characters. */
export function roomNumber(room: number): string {
  return String(room).padStart(4, "0");
}

/** Resolves once each connection has received something. */
export async function startReaders(
  port: number,
  path: string | readonly string[],
  count: number,
  options: Partial<Reading> = {},
): Promise<Readers> {
  const reading: Reading = {
    port,
    paths: [path].flat(),
    count,
    rooms: 1,
    headers: "",
    leaving: 0,
    ...options,
  };
  const child = await startChild<Received>(import.meta.url, reading);
  const bytes = async () => (await child.report()).bytes;
  return {
    received: child.report,
    bytes,
    settled: async (atLeast) => {
      const limit = AbortSignal.timeout(ARRIVAL_MS);
      for (let last = -1, now = await bytes(); ; last = now, now = await bytes()) {
        if (now >= atLeast && now === last) return now;
        if (limit.aborted) throw new Error(`only ${now} of ${atLeast} bytes came`);
        await pause(50);
      }
    },
    [Symbol.dispose]: child[Symbol.dispose],
  };
}

async function read(reading: Reading): Promise<() => Received> {
  const { port, paths, count, rooms, headers, leaving } = reading;
  const received: Received = { bytes: 0, messages: 0, arrivals: [] };
  const ends = `HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\n${headers}\r\n`;
  const sockets: Socket[] = [];

  /** Opens a connection in place of its last one; resolves once it has received something. */
  function open(i: number): Promise<void> {
    sockets[i]?.removeAllListeners("close").destroy();
    const socket = connectAs(i, port);
    sockets[i] = socket;
    const path = paths[i % paths.length]?.replaceAll("#", roomNumber(i % rooms));
    socket.write(`GET ${path} ${ends}`);
    const { promise, resolve } = Promise.withResolvers<void>();
    socket.once("close", () => {
      throw new Error(`connection ${i} was closed`);
    });
    const messages = new MessageCount();
    socket.on("data", (chunk: Buffer) => {
      received.arrivals.push(systemMs());
      received.bytes += chunk.length;
      received.messages += messages.add(chunk);
      resolve();
    });
    return promise;
  }

  const begun: Promise<void>[] = [];
  for (let i = 0; i < count; i++) {
    begun.push(open(i));
    if (i % 200 === 0) await pause(10);
  }
  await Promise.all(begun);
  let left = 0;
  if (leaving > 0) setInterval(() => void open(left++ % count), 1000 / leaving);
  return () => ({ ...received, arrivals: received.arrivals.splice(0) });
}

if (import.meta.main) await runChild(read);
