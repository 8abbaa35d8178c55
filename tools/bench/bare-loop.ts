/**
 * The minimum cost of fan-out in Node: sockets, and a loop that writes the same bytes to all of them. With a
 * file as its argument, it first overwrites the file with the bytes and syncs, which is the minimum cost of
 * durability. A request for `/silent` gets only a head, and one for `/missed/50` fifty messages after it.
 */
import { fdatasyncSync, openSync, writeSync } from "node:fs";
import { createServer, type Socket } from "node:net";

const SILENT_PATH = "/silent";
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
const MESSAGE = `\nid: 1\ndata: ${"x".repeat(300)}\n`;

/** The first bytes of an answer. */
const starts = new Map<string, Buffer>();
function startOf(request: string): Buffer {
  const [, missed = "0"] = /^GET \/missed\/(\d+) /.exec(request) ?? [];
  const start = starts.get(missed) ?? Buffer.from(HEAD + MESSAGE.repeat(Number(missed)));
  starts.set(missed, start);
  return start;
}

const [path] = process.argv.slice(2);
const file = path === undefined ? undefined : openSync(path, "w");
const sockets = new Set<Socket>();
const server = createServer((socket) => {
  socket.once("data", (bytes) => {
    const request = bytes.toString("latin1");
    socket.write(startOf(request));
    if (!request.startsWith(`GET ${SILENT_PATH} `)) sockets.add(socket);
  });
  socket.on("error", () => {});
  socket.on("close", () => sockets.delete(socket));
});
server.listen({ port: 0, host: "127.0.0.1", backlog: 4096 }, () => {
  const address = server.address();
  if (typeof address === "object") process.send?.(address?.port);
});
process.on("message", (size: number) => {
  const bytes = Buffer.alloc(size, "x");
  if (file !== undefined) {
    writeSync(file, bytes, 0, size, 0);
    fdatasyncSync(file);
  }
  for (const socket of sockets) socket.write(bytes);
});
process.on("disconnect", () => process.exit());
