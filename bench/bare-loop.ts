/** What fan-out costs at least in Node: sockets, and a loop that writes the same bytes to all of them. */
import { createServer, type Socket } from "node:net";

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

const sockets = new Set<Socket>();
const server = createServer((socket) => {
  socket.once("data", () => {
    socket.write(HEAD);
    sockets.add(socket);
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
  for (const socket of sockets) socket.write(bytes);
});
process.on("disconnect", () => process.exit());
