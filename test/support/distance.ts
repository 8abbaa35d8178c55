/**
 * A server at a distance: data in each direction is late by half a round trip. `cut` ends all open
 * connections.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export async function placeAway(
  url: string,
  roundTripMs: number,
): Promise<{ url: string; cut(): void } & AsyncDisposable> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const pass = (from: Socket, to: Socket, lateMs: () => number): void => {
    sockets.add(from);
    from.on("data", (bytes) => setTimeout(() => to.write(bytes), lateMs()));
    from.on("close", () => setTimeout(() => to.destroy(), lateMs()));
    from.on("error", () => to.destroy());
  };
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({ host: hostname, port: Number(port), noDelay: true });
    const openedAt = performance.now() + roundTripMs; // the handshake
    pass(near, far, () => Math.max(0, openedAt - performance.now()) + roundTripMs / 2);
    pass(far, near, () => roundTripMs / 2);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut,
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
      await once(server, "close");
    },
  };
}
