/** A line to the relay that can be cut, and that shows the heads of the requests that went over it. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export const portOf = (server: { address(): AddressInfo | string | null }): number =>
  (server.address() as AddressInfo).port;

export class Line {
  readonly requests: string[] = [];
  readonly #server = createServer((socket) => this.#join(socket));
  readonly #sockets = new Set<Socket>();
  readonly #to: number;

  constructor(to: number) {
    this.#to = to;
  }

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return `http://127.0.0.1:${portOf(this.#server)}`;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #join(client: Socket): void {
    const relay = connect(this.#to, "127.0.0.1");
    for (const [from, to] of [
      [client, relay],
      [relay, client],
    ] as const) {
      this.#sockets.add(from);
      from.on("error", () => {}); // a cut is no failure here
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
    }
    client.on("data", (bytes) => {
      const head = String(bytes);
      if (/^[A-Z]+ \//.test(head)) this.requests.push(head);
    });
  }
}
