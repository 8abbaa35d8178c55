/** Viewers that return at once: a process that opens their connections and sends all requests. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { type Child, runChild, startChild } from "./child.ts";
import { connectAs, MessageCount } from "./connections.ts";

interface Returning {
  port: number;
  path: string;
  /** The last message that they have, and the number that they have missed. They take these in turns. */
  places: readonly { lastId: string; behind: number }[];
  count: number;
  /** Whether they connect as they send their requests, and not before. */
  isFresh: boolean;
}

/**
 * Opens the connections, unless they are to be fresh. `report` sends the requests, and resolves to the time
 * until all have all, in ms.
 */
export async function startReturning(returning: Returning): Promise<Child<number>> {
  return startChild<number>(import.meta.url, returning);
}

/** Sends a request, and resolves once that number of messages has come. */
function receive(socket: Socket, request: string, messages: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const count = new MessageCount();
  let received = 0;
  socket.on("data", (chunk: Buffer) => {
    received += count.add(chunk);
    if (received >= messages) resolve();
  });
  socket.write(request);
  return promise;
}

async function open({ port, path, places, count, isFresh }: Returning): Promise<() => Promise<number>> {
  const connected: Socket[] = [];
  for (let i = 0; i < count && !isFresh; i++) {
    const socket = connectAs(i, port);
    await once(socket, "connect");
    connected.push(socket);
  }
  const returned = (i: number) => {
    const { lastId = "", behind = 0 } = places[i % places.length] ?? {};
    const head = `GET ${path} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\nLast-Event-ID: ${lastId}\r\n\r\n`;
    return receive(connected[i] ?? connectAs(i, port), head, behind);
  };
  return async () => {
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: count }, (_, i) => returned(i)));
    return performance.now() - startedAt;
  };
}

if (import.meta.main) await runChild(open);
