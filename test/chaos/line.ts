/**
 * A connection to a server on this machine. It can be cut, refuse connections, go silent so that both sides
 * wait, have latency, or lead to another server. It shows the heads of the first HTTP requests that used it,
 * except for those to /healthz: an edge makes them at times of its own.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Transform } from "node:stream";

export const portOf = (server: { address(): AddressInfo | string | null }): number =>
  (server.address() as AddressInfo).port;

const REQUESTS_KEPT = 1000;
const SHOWN = /^[A-Z]+ \/(?!healthz )/;

export class Line implements AsyncDisposable {
  readonly requests: string[] = [];
  /** The port that new connections are led to. */
  leadsTo: number;
  /** How long bytes take on the way, in each direction, over new connections. */
  delayMs = 0;
  /** Whether it passes nothing on. */
  isSilent = false;
  readonly #server = createServer((socket) => this.#join(socket));
  readonly #sockets = new Set<Socket>();
  readonly #from: string | undefined;
  #port = 0;

  /** `from`: the address that the server sees, any of 127.0.0.0/8. */
  static async to(port: number, from?: string): Promise<Line> {
    const line = new Line(port, from);
    await line.open();
    return line;
  }

  private constructor(port: number, from: string | undefined) {
    this.leadsTo = port;
    this.#from = from;
  }

  get port(): number {
    return this.#port;
  }

  /** The ends of connections; in a silence, those that were left are among them. */
  get connections(): number {
    return this.#sockets.size;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Breaks all connections; new ones can be made. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Breaks all connections, and refuses new ones until `open`. */
  shut(): void {
    this.#server.close();
    this.cut();
  }

  /** Takes connections; does nothing where it does already. */
  async open(): Promise<void> {
    if (this.#server.listening) return;
    await once(this.#server.listen(this.#port, "127.0.0.1"), "listening");
    this.#port = portOf(this.#server);
  }

  /** Passes nothing on, in either direction, until `speak`; connections are taken and hang. */
  silence(): void {
    this.isSilent = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Ends a silence: what hung is cut, as what it had to say is too old. */
  speak(): void {
    this.isSilent = false;
    this.cut();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.shut();
  }

  #join(client: Socket): void {
    const way = { port: this.leadsTo, host: "127.0.0.1" };
    const server = connect(this.#from ? { ...way, localAddress: this.#from } : way);
    client.on("data", (bytes) => {
      const head = String(bytes);
      if (this.requests.length < REQUESTS_KEPT && SHOWN.test(head)) this.requests.push(head);
    });
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.on("error", () => {}); // a cut is not a failure here
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.delayMs > 0) from.pipe(laterBy(this.delayMs)).pipe(to);
      else from.pipe(to);
      if (this.isSilent) from.pause();
    }
  }
}

/** Delays a stream by this time, in the same order. */
function laterBy(ms: number): Transform {
  return new Transform({
    transform(bytes, _, taken) {
      setTimeout(() => this.push(bytes), ms);
      taken();
    },
    flush: (over) => void setTimeout(over, ms),
  });
}
