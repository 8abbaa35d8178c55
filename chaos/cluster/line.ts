/** One instance's way to the database: it can be cut, or go silent, so that both sides wait for nothing. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export class DatabaseLine implements AsyncDisposable {
  readonly #to: number;
  readonly #server = createServer((socket) => this.#join(socket));
  readonly #sockets = new Set<Socket>();
  #isSilent = false;

  static async to(port: number): Promise<DatabaseLine> {
    const line = new DatabaseLine(port);
    line.#server.listen(0, "127.0.0.1");
    await once(line.#server, "listening");
    return line;
  }

  private constructor(to: number) {
    this.#to = to;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Breaks all connections; new ones can be made. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Passes nothing on, in either direction, until `speak`; connections are taken and hang. */
  silence(): void {
    this.#isSilent = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Ends a silence: what hung is cut, as what it had to say is too old. */
  speak(): void {
    this.#isSilent = false;
    this.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.cut();
  }

  #join(client: Socket): void {
    const database = connect(this.#to, "127.0.0.1");
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      this.#sockets.add(from);
      from.on("error", () => {}); // a cut is no failure here
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.pipe(to);
      if (this.#isSilent) from.pause();
    }
  }
}
