/** The port of a service: its HTTP server, and with several workers their processes. */
import { once } from "node:events";
import { createServer as createTcpServer, isIPv6, type ListenOptions } from "node:net";
import type { FastifyInstance, FastifyListenOptions } from "fastify";
import { createMetricsServer, createServer, type Served } from "../http/server.ts";
import type { PortConfig } from "./config.ts";
import { Workers } from "./workers/workers.ts";

/**
 * The maximum number of unaccepted connections, for when all viewers come back at once; the system may allow
 * fewer.
 */
const LISTEN_BACKLOG = 4096;

/** The part of this process's connections that its workers may have: one for each room, and for a request. */
const WORKERS_PART = 0.25;

/** How errors name another choice. */
interface Choice {
  port: string;
  host: string;
}

const OF_SERVICE: Choice = {
  port: "a different port with --port or RELAY_PORT",
  host: "a different address with --host or RELAY_HOST",
};
const OF_METRICS: Choice = {
  port: "a different port with --metrics-listen or RELAY_METRICS_LISTEN",
  host: "a different address there",
};

const NAMELESS = ({ host }: Choice) => `no address is known for this name. Choose ${host}`;
/** By the system's error code. */
const ADVICE: Readonly<Record<string, (choice: Choice) => string>> = {
  EADDRINUSE: ({ port, host }) => `another program uses this port. Choose ${port}, or ${host}`,
  ENOTFOUND: NAMELESS,
  EAI_AGAIN: NAMELESS,
  EADDRNOTAVAIL: ({ host }) => `this machine has no such address. Choose ${host}`,
  EACCES: ({ port }) => `ports below 1024 need root. Choose ${port}`,
};

export class Port {
  readonly #config: PortConfig;
  #app: FastifyInstance | undefined;
  #metrics: FastifyInstance | undefined;
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
    const metrics = this.#ofMetrics;
    if (workers > 1) this.#workers = new Workers(served, workers - 1);
    const { subjects = served.subjects } = this.#workers ?? {};
    const { maxConnections } = http;
    const app = await createServer(
      { ...served, subjects },
      {
        ...http,
        ...(this.#workers && {
          group: this.#workers,
          maxConnections: Math.ceil(maxConnections * (1 - WORKERS_PART)),
        }),
      },
    );
    this.#app = app;
    const port = await this.#serve(app, this.#own);
    if (metrics) {
      this.#metrics = createMetricsServer(served, {
        ...http,
        ...(this.#workers && { group: this.#workers }),
      });
      const found = await this.#serve(this.#metrics, metrics);
      served.telemetry.service.showsMetrics(`${urlOf(metrics.host, found)}/metrics`);
    }
    await this.#workers?.start({ ...this.#config, port }, Math.ceil(maxConnections * WORKERS_PART));
    return urlOf(host, port);
  }

  /**
   * Rejects as `open` does if a port is in use, before a start makes anything else. A port shared by
   * several processes is not tried: the system would give the trial some of their connections, and closing it
   * would refuse them.
   */
  async assertFree(): Promise<void> {
    await using probes = new AsyncDisposableStack(); // both at once: the two addresses may be the same
    for (const address of [this.#own, this.#ofMetrics]) {
      if (!address || address.port === 0 || address.reusePort) continue;
      const probe = createTcpServer();
      await listen(address, async (options) => void (await once(probe.listen(options), "listening")));
      probes.use(probe);
    }
  }

  get #own(): ListenAddress {
    const { host, port, workers, http } = this.#config;
    return { host, port, reusePort: workers > 1 || http.isWorker === true, choice: OF_SERVICE };
  }

  get #ofMetrics(): ListenAddress | undefined {
    const { metrics } = this.#config;
    return metrics && { ...metrics, choice: OF_METRICS };
  }

  /** Resolves to the port. */
  async #serve(app: FastifyInstance, address: ListenAddress): Promise<number> {
    // The options are passed to Node unchanged.
    await listen(address, (options) => app.listen(options as FastifyListenOptions));
    const bound = app.server.address();
    return typeof bound === "object" && bound ? bound.port : address.port;
  }

  /** Ends the workers with their streams. */
  async stopWorkers(): Promise<void> {
    await this.#workers?.stop();
  }

  async close(): Promise<void> {
    await this.#workers?.close();
    await this.#app?.close();
    await this.#metrics?.close();
  }
}

interface ListenAddress {
  host: string;
  port: number;
  /** Whether several processes share the port. */
  reusePort?: boolean;
  choice: Choice;
}

/** Calls `start`, and turns its errors into one clear line. */
async function listen(
  { choice, ...address }: ListenAddress,
  start: (options: ListenOptions) => Promise<unknown>,
): Promise<void> {
  try {
    await start({ ...address, backlog: LISTEN_BACKLOG });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === undefined) throw error;
    const advice = ADVICE[String(code)]?.(choice) ?? `choose ${choice.port}, or ${choice.host}`;
    throw new Error(`cannot listen on ${address.host} port ${address.port} (${code}): ${advice}`);
  }
}

/** Without a trailing slash. */
export function urlOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
