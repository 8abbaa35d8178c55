/** The way to an upstream host, which can be shut: connections are broken, and new ones refused. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { pipeline } from "node:stream";

export class Door implements AsyncDisposable {
  readonly #behind: URL;
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #port = 0;

  /** Opens it; `behind`: the base URL of the host. */
  static async to(behind: string): Promise<Door> {
    const door = new Door(new URL(behind));
    await door.open();
    return door;
  }

  private constructor(behind: URL) {
    this.#behind = behind;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Does nothing where it is open. */
  async open(): Promise<void> {
    if (this.#server) return;
    this.#server = createServer((socket) => this.#let(socket)).listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  shut(): void {
    this.#server?.close();
    this.#server = undefined;
    for (const socket of this.#sockets) socket.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shut();
  }

  #let(socket: Socket): void {
    const onward = connect(Number(this.#behind.port), this.#behind.hostname);
    for (const each of [socket, onward]) {
      this.#sockets.add(each);
      each.once("close", () => this.#sockets.delete(each));
    }
    const over = () => {}; // a break of one side breaks the other
    pipeline(socket, onward, over);
    pipeline(onward, socket, over);
  }
}
