/** Viewers that return at once: a process that opens their connections, and then sends all requests. */
import { once } from "node:events";
import type { Socket } from "node:net";
import { type Child, runChild, startChild } from "./child.ts";
import { connectAs, MessageCount } from "./connections.ts";

interface Returning {
  port: number;
  path: string;
  /** The id of the last message that they have. */
  lastId: string;
  count: number;
  /** The number of messages that each has missed. */
  behind: number;
}

/** Opens the connections. `report` sends the requests, and resolves to the time until all have all, in ms. */
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

async function open({ port, path, lastId, count, behind }: Returning): Promise<() => Promise<number>> {
  const head = `GET ${path} HTTP/1.1\r\nHost: bench\r\nAccept: text/event-stream\r\nLast-Event-ID: ${lastId}\r\n\r\n`;
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = connectAs(i, port);
    await once(socket, "connect");
    sockets.push(socket);
  }
  return async () => {
    const startedAt = performance.now();
    await Promise.all(sockets.map((socket) => receive(socket, head, behind)));
    return performance.now() - startedAt;
  };
}

if (import.meta.main) await runChild(open);
