/** So many connections that read whatever comes and count its bytes: the other side of a benchmark. */
import { once } from "node:events";
import { connect } from "node:net";

const [, , url = "", count = "1"] = process.argv;
const { hostname, port, pathname, search } = new URL(url);
let bytes = 0;

const sockets = Array.from({ length: Number(count) }, () => {
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`);
  socket.on("data", (chunk) => {
    bytes += chunk.length;
  });
  return socket;
});
await Promise.all(sockets.map((socket) => once(socket, "data")));

process.on("message", () => process.send?.(bytes));
process.send?.("ready");
