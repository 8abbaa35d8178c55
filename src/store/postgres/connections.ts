/**
 * The connections to the database: bounded pools, so that no wave of reads or writes keeps a lease from being renewed.
 * A write waits for its turn as long as it takes: whoever gave up and tried again would begin at the queue's end. Every
 * statement has a time limit here and at the server. Once a connection is lost no older one is trusted: a
 * server that is back is found by the next statement, not by the time-out of a dead connection.
 */
import { Socket } from "node:net";
import { Client, type ClientConfig, Pool, type PoolConfig, types } from "pg";
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import { StoreError } from "../port.ts";
import { isConnectionLost, type Place, unavailable } from "./error.ts";
import { Semaphore } from "./semaphore.ts";

/** How long a statement may take, in milliseconds, and how long a new connection. */
const STATEMENT_LIMIT_MS = 5000;
const CONNECT_LIMIT_MS = 3000;
const LOCK_LIMIT_MS = 2000;
/** How long a read waits for one of the connections: somebody waits for what it brings. */
const READ_TURN_LIMIT_MS = 3000;
const IDLE_LIMIT_MS = 30_000;
/** How long the end waits for the server: one that is silent must not hold up the process. */
const CLOSE_LIMIT_MS = 500;

const POOLS = { writes: 3, reads: 4, leases: 1 } as const;
export type Lane = keyof typeof POOLS;

/** By which an instance's sessions are known in the database. */
export const APPLICATION = "livechat-relay";

const SESSION = `set statement_timeout = ${STATEMENT_LIMIT_MS}; set lock_timeout = ${LOCK_LIMIT_MS}`;

/** Cursors, epochs and times fit into a double. */
const BIGINT_OID = 20;

/** The connections as the store uses them. */
export type Database = Pick<Connections, keyof Connections>;

export class Connections {
  readonly place: Place;
  /** When a connection was last lost, on the monotonic clock. */
  lostAt = Number.NEGATIVE_INFINITY;
  readonly #clock: Clock;
  readonly #listenConfig: ClientConfig;
  readonly #config: ClientConfig;
  readonly #pools: Record<Lane, Pool>;
  readonly #turns: Record<Lane, Semaphore>;
  /** All that are open or being opened, each with its end. */
  readonly #sockets = new Map<Socket, Promise<void>>();
  readonly #begun = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();

  /** `listenUrl`: leads to the server directly where `url` leads to a pooler. Throws where a URL cannot be read. */
  constructor(url: string, listenUrl: string | undefined, clock: Clock) {
    const stream = () => this.#newSocket();
    this.#config = { ...clientConfig(url), stream };
    this.#listenConfig = listenUrl ? { ...clientConfig(listenUrl), stream } : this.#config;
    this.#clock = clock;
    this.place = placeOf(clientConfig(url));
    this.#turns = forLanes((lane) => new Semaphore(POOLS[lane]));
    this.#pools = forLanes((lane) => this.#newPool(lane));
  }

  /** The rows of one statement. Rejects with `StoreError` "unavailable". */
  async query<Row extends object>(lane: Lane, text: string, values: readonly unknown[] = []): Promise<Row[]> {
    using limit = lane === "reads" ? new Deadline(this.#clock, READ_TURN_LIMIT_MS) : undefined;
    const closed = this.#closed.signal;
    const waiting = limit ? AbortSignal.any([closed, limit.signal]) : closed;
    const running = this.#turns[lane].run(() => this.#run<Row>(this.#pools[lane], text, values), waiting);
    this.#begun.add(running);
    try {
      return await running;
    } catch (error) {
      throw unavailable(error, this.place);
    } finally {
      this.#begun.delete(running);
    }
  }

  async #run<Row extends object>(pool: Pool, text: string, values: readonly unknown[]): Promise<Row[]> {
    try {
      return (await pool.query<Row>(text, [...values])).rows;
    } catch (error) {
      if (isConnectionLost(error)) this.#retire(pool);
      throw error;
    }
  }

  /** Runs something on a connection of its own. Rejects with what PostgreSQL throws. */
  alone<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return withClient(this.#config, act);
  }

  /** The same, on a connection to the server itself. */
  listening<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return withClient(this.#listenConfig, act);
  }

  /** Rejects what waits for a connection, and waits for what runs, up to half a second: then that is rejected, too. */
  async close(): Promise<void> {
    this.#closed.abort(new StoreError("unavailable", "the store is closed"));
    using limit = new Deadline(this.#clock, CLOSE_LIMIT_MS);
    limit.signal.addEventListener("abort", () => {
      for (const socket of this.#sockets.keys()) socket.destroy();
    });
    while (this.#begun.size > 0) await Promise.allSettled(this.#begun);
    for (const pool of Object.values(this.#pools)) end(pool);
    while (this.#sockets.size > 0) await Promise.all(this.#sockets.values());
  }

  #newSocket(): Socket {
    const socket = new Socket();
    const closed = Promise.withResolvers<void>();
    this.#sockets.set(socket, closed.promise);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      closed.resolve();
    });
    return socket;
  }

  #newPool(lane: Lane): Pool {
    const config: PoolConfig = {
      ...this.#config,
      max: POOLS[lane],
      idleTimeoutMillis: IDLE_LIMIT_MS,
      onConnect: (client) => client.query(SESSION) as unknown as undefined, // awaited, whatever its type says
    };
    const pool = new Pool(config);
    pool.on("error", () => this.#retire(pool)); // an idle connection was cut
    return pool;
  }

  /** Statements that are under way on the old connections go on there. */
  #retire(pool: Pool): void {
    this.lostAt = this.#clock.monotonic();
    for (const [lane, current] of Object.entries(this.#pools) as [Lane, Pool][]) {
      if (current !== pool || this.#closed.signal.aborted) continue;
      this.#pools[lane] = this.#newPool(lane);
      end(pool);
    }
  }
}

function forLanes<T>(make: (lane: Lane) => T): Record<Lane, T> {
  return { writes: make("writes"), reads: make("reads"), leases: make("leases") };
}

async function withClient<T>(config: ClientConfig, act: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(config);
  client.on("error", () => {}); // whatever runs on it rejects
  try {
    await client.connect();
    return await act(client);
  } finally {
    void client.end().catch(() => {});
  }
}

function end(pool: Pool): void {
  pool.removeAllListeners("error").on("error", () => {});
  void pool.end().catch(() => {});
}

/** What `pg` makes of the URL and of libpq's variables. Throws where the URL cannot be read. */
export function clientConfig(url: string): ClientConfig {
  // As libpq reads it: `require` encrypts without looking at the certificate.
  const isOdd = /[?&]sslmode=/.test(url) && !/[?&]uselibpqcompat=/.test(url);
  return {
    connectionString: isOdd ? `${url}&uselibpqcompat=true` : url,
    fallback_application_name: APPLICATION,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    query_timeout: STATEMENT_LIMIT_MS,
    keepAlive: true,
    types: {
      getTypeParser: (oid: number, format?: "text" | "binary") =>
        oid === BIGINT_OID ? Number : types.getTypeParser(oid, format as "text"),
    } as ClientConfig["types"],
  } as ClientConfig;
}

export function placeOf(config: ClientConfig): Place {
  const { host, port, database } = new Client(config);
  return `postgres://${host.startsWith("/") ? "" : `${host}:${port}`}/${database ?? ""}`;
}
