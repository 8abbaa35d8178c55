/** The port of a service: its HTTP server, and with several workers their processes. */
import { once } from "node:events";
import { createServer as createTcpServer, isIPv6, type ListenOptions } from "node:net";
import type { FastifyInstance, FastifyListenOptions } from "fastify";
import { createServer, type Served } from "../http/server.ts";
import type { PortConfig } from "./config.ts";
import { Workers } from "./workers/workers.ts";

/**
 * The maximum number of unaccepted connections, for when all viewers come back at once; the system may allow
 * fewer.
 */
const LISTEN_BACKLOG = 4096;

/** The part of this process's connections that its workers may have: one for each room, and for a request. */
const WORKERS_PART = 0.25;

const OTHER_PORT = "a different port with --port or RELAY_PORT";
const OTHER_HOST = "a different address with --host or RELAY_HOST";
/** By the system's error code. */
const ADVICE: Readonly<Record<string, string>> = {
  EADDRINUSE: `another program uses this port. Choose ${OTHER_PORT}, or ${OTHER_HOST}`,
  EADDRNOTAVAIL: `this machine has no such address. Choose ${OTHER_HOST}`,
  EACCES: `ports below 1024 need root. Choose ${OTHER_PORT}`,
};

export class Port {
  readonly #config: PortConfig;
  #app: FastifyInstance | undefined;
  #workers: Workers | undefined;

  constructor(config: PortConfig) {
    this.#config = config;
  }

  /**
   * Listens, and starts the workers. Resolves to the URL, without a trailing slash. Rejects with an error of
   * one clear line if the system refuses the port or the address.
   */
  async open(served: Served): Promise<string> {
    const { host, http, workers } = this.#config;
    if (workers > 1) this.#workers = new Workers(served, workers - 1);
    const { maxConnections } = http;
    const app = await createServer(served, {
      ...http,
      ...(this.#workers && {
        group: this.#workers,
        maxConnections: Math.ceil(maxConnections * (1 - WORKERS_PART)),
      }),
    });
    this.#app = app;
    await this.#listen((options) => app.listen(options as FastifyListenOptions)); // passed to Node unchanged
    const address = app.server.address();
    const port = typeof address === "object" && address ? address.port : this.#config.port;
    await this.#workers?.start({ ...this.#config, port }, Math.ceil(maxConnections * WORKERS_PART));
    return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  }

  /**
   * Rejects as `open` does if the port is in use, before a start makes anything else. A port shared by
   * several processes is not tried: the system would give the trial some of their connections, and closing it
   * would refuse them.
   */
  async assertFree(): Promise<void> {
    const { port } = this.#config;
    if (port === 0 || this.#isShared) return;
    const probe = createTcpServer();
    await this.#listen(async (options) => void (await once(probe.listen(options), "listening")));
    await new Promise((resolve) => probe.close(resolve));
  }

  get #isShared(): boolean {
    const { workers, http } = this.#config;
    return workers > 1 || http.isWorker === true;
  }

  /** Calls `listen`, and turns its errors into one clear line. */
  async #listen(listen: (options: ListenOptions) => Promise<unknown>): Promise<void> {
    const { host, port } = this.#config;
    try {
      await listen({ host, port, reusePort: this.#isShared, backlog: LISTEN_BACKLOG });
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === undefined) throw error;
      const advice = ADVICE[String(code)] ?? `choose ${OTHER_PORT}, or ${OTHER_HOST}`;
      throw new Error(`cannot listen on ${host} port ${port} (${code}): ${advice}`);
    }
  }

  /** Ends the workers with their streams. */
  async stopWorkers(): Promise<void> {
    await this.#workers?.stop();
  }

  async close(): Promise<void> {
    await this.#workers?.close();
    await this.#app?.close();
  }
}
