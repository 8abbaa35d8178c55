/** The port of a service: its HTTP server, and with several workers their processes. */
import { isIPv6 } from "node:net";
import type { FastifyInstance } from "fastify";
import { createServer, type Served } from "../http/server.ts";
import type { PortConfig } from "./edge-config.ts";
import { Workers } from "./workers/workers.ts";

/**
 * The maximum number of unaccepted connections, for when all viewers come back at once; the system may allow
 * fewer.
 */
const LISTEN_BACKLOG = 4096;

export class Port {
  readonly #app: FastifyInstance;
  readonly #config: PortConfig;
  readonly #workers: Workers | undefined;

  /** The port is closed before `open`. */
  static async prepare(served: Served, config: PortConfig): Promise<Port> {
    const workers = config.workers > 1 ? new Workers(served, config.workers - 1) : undefined;
    const app = await createServer(served, { ...config.http, ...(workers && { group: workers }) });
    return new Port(app, config, workers);
  }

  private constructor(app: FastifyInstance, config: PortConfig, workers: Workers | undefined) {
    this.#app = app;
    this.#config = config;
    this.#workers = workers;
  }

  /**
   * Listens, and starts the workers. Resolves to the URL, without a trailing slash. Rejects with an error of
   * one clear line if the port is in use.
   */
  async open(): Promise<string> {
    const { host } = this.#config;
    await this.#listen();
    const address = this.#app.server.address();
    const port = typeof address === "object" && address ? address.port : this.#config.port;
    await this.#workers?.start({ ...this.#config, port });
    return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  }

  async #listen(): Promise<void> {
    const { host, port, workers } = this.#config;
    const reusePort = this.#config.reusePort || workers > 1;
    const listening = { host, port, reusePort, backlog: LISTEN_BACKLOG }; // passed to Node unchanged
    try {
      await this.#app.listen(listening);
    } catch (error) {
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code === undefined) throw error;
      const why = code === "EADDRINUSE" ? "another program uses it; " : "";
      throw new Error(
        `cannot listen on ${host} port ${port} (${code}): ${why}choose another with RELAY_HOST and RELAY_PORT, or --host and --port`,
      );
    }
  }

  /** Ends the workers with their streams. */
  async stopWorkers(): Promise<void> {
    await this.#workers?.stop();
  }

  async close(): Promise<void> {
    await this.#workers?.close();
    await this.#app.close();
  }
}
