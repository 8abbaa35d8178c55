/**
 * A server that says, byte by byte, what a test has written down: one answer for each call that comes, the last one
 * for all further ones. It speaks on the bare socket, as what it says need not be HTTP.
 */
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";

export type Answer = (caller: Caller) => Promise<void> | void;

/** One call, as its answer sees it. */
export class Caller {
  readonly socket: Socket;
  readonly lastEventId: string | undefined;
  /** Milliseconds on a clock that never jumps. */
  readonly at = performance.now();

  constructor(socket: Socket, head: string) {
    this.socket = socket;
    this.lastEventId = /^last-event-id: *(.*?)\r?$/im.exec(head)?.[1];
  }

  /** Resolves once the system has taken the bytes, or the connection is gone. */
  async send(bytes: string | Buffer): Promise<void> {
    await new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
  }

  async sendBytewise(text: string): Promise<void> {
    for (const byte of Buffer.from(text)) {
      await this.send(Buffer.of(byte));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }
}

export class ScriptedServer implements AsyncDisposable {
  readonly url: string;
  readonly callers: Caller[] = [];
  readonly #server: Server;
  readonly #answers: readonly Answer[];
  readonly #sockets = new Set<Socket>();

  static async start(answers: readonly Answer[]): Promise<ScriptedServer> {
    const server = createServer({ noDelay: true });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new ScriptedServer(server, answers);
  }

  private constructor(server: Server, answers: readonly Answer[]) {
    this.#server = server;
    this.#answers = answers;
    const { address, port } = server.address() as AddressInfo;
    this.url = `http://${address}:${port}`;
    server.on("connection", (socket) => this.#hear(socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #hear(socket: Socket): void {
    this.#sockets.add(socket);
    let unread = "";
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    socket.on("data", (bytes) => {
      const [head, ...rest] = `${unread}${bytes}`.split("\r\n\r\n");
      unread = rest.length === 0 ? (head ?? "") : "";
      if (rest.length > 0) this.#answer(new Caller(socket, head ?? ""));
    });
  }

  #answer(caller: Caller): void {
    const answer = this.#answers[this.callers.length] ?? this.#answers.at(-1);
    this.callers.push(caller);
    void answer?.(caller);
  }
}
