/**
 * The connections to the database, in bounded pools, so that many reads or writes never delay the renewal of
 * a lease. A write waits for its turn without a limit, because a new try would start at the end of the queue.
 * Every statement has a time limit here, and those of the pools also have one at the server. After a lost
 * connection, the pool that lost it is replaced, so its next statement notices that the server is back,
 * instead of waiting for the time-out of a dead connection.
 */
import { Socket } from "node:net";
import { Client, type ClientConfig, Pool, type PoolConfig, types } from "pg";
import type { Clock } from "../../base/clock.ts";
import { Deadline } from "../../base/deadline.ts";
import { Semaphore } from "../../base/semaphore.ts";
import { StoreClosed } from "../store-error.ts";
import { isConnectionLost, unavailable } from "./postgres-error.ts";

/** The time limits of a statement, of a new connection, and of waiting for a lock. */
const STATEMENT_LIMIT_MS = 5000;
const CONNECT_LIMIT_MS = 3000;
const LOCK_LIMIT_MS = 2000;
/** The maximum wait of a read for a connection; a viewer or a room waits for its result. */
const READ_TURN_LIMIT_MS = 3000;
const IDLE_LIMIT_MS = 30_000;
/** The maximum wait for the server at the end; a silent server must not delay the exit of the process. */
const CLOSE_LIMIT_MS = 300;

const POOLS = { writes: 3, reads: 4, leases: 1 } as const;
export type PoolName = keyof typeof POOLS;

/** The name of an instance's sessions in the database. */
export const APPLICATION = "livechat-relay";

const SESSION = `set statement_timeout = ${STATEMENT_LIMIT_MS}; set lock_timeout = ${LOCK_LIMIT_MS}`;

/** Cursors, epochs and times fit into a double without loss. */
const BIGINT_OID = 20;

/** The interface of the connections for the store. */
export type Database = Pick<Pools, keyof Pools>;

export class Pools {
  /** The server and the database in log lines: a URL without user and password. */
  readonly place: string;
  /** The time of the last lost connection, on the monotonic clock. */
  lostAt = Number.NEGATIVE_INFINITY;
  readonly #clock: Clock;
  readonly #listenConfig: ClientConfig;
  readonly #config: ClientConfig;
  readonly #pools: Record<PoolName, Pool>;
  /**
   * Statements wait here. The pool's own queue is not suitable: when a pool is replaced, its waiting
   * statements stay there until their time limit, and do not keep the process alive.
   */
  readonly #turns: Record<PoolName, Semaphore>;
  /** All sockets that are open or being opened, each with a promise of its close. */
  readonly #sockets = new Map<Socket, Promise<void>>();
  readonly #begun = new Set<Promise<unknown>>();
  readonly #closed = new AbortController();

  /**
   * `listenUrl` points to the server directly if `url` points to a pooler. Throws if a URL cannot be parsed.
   */
  constructor(url: string, listenUrl: string | undefined, clock: Clock) {
    const stream = () => this.#newSocket();
    this.#config = { ...clientConfig(url), stream };
    this.#listenConfig = listenUrl ? { ...clientConfig(listenUrl), stream } : this.#config;
    this.#clock = clock;
    this.place = placeOf(clientConfig(url));
    this.#turns = forPools((name) => new Semaphore(POOLS[name]));
    this.#pools = forPools((name) => this.#newPool(name));
  }

  /** Runs one statement, and resolves to its rows. Rejects with `StoreError` "unavailable". */
  async query<Row extends object>(
    name: PoolName,
    text: string,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    using limit = name === "reads" ? new Deadline(this.#clock, READ_TURN_LIMIT_MS) : undefined;
    const closed = this.#closed.signal;
    const waiting = limit ? AbortSignal.any([closed, limit.signal]) : closed;
    const running = this.#turns[name].run(() => this.#run<Row>(this.#pools[name], text, values), waiting);
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

  /** Runs `act` on a connection of its own. Rejects with the errors of PostgreSQL. */
  alone<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return withClient(this.#config, act);
  }

  /** As `alone`, on a direct connection to the server. */
  listening<T>(act: (client: Client) => Promise<T>): Promise<T> {
    return withClient(this.#listenConfig, act);
  }

  /**
   * Rejects statements that wait for a connection, and waits up to 300 ms for running ones; then
   * rejects these too.
   */
  async close(): Promise<void> {
    this.#closed.abort(new StoreClosed());
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

  #newPool(name: PoolName): Pool {
    const config: PoolConfig = {
      ...this.#config,
      max: POOLS[name],
      idleTimeoutMillis: IDLE_LIMIT_MS,
      onConnect: (client) => client.query(SESSION) as unknown as undefined, // awaited, despite its type
    };
    const pool = new Pool(config);
    pool.on("error", () => this.#retire(pool)); // an idle connection was cut
    return pool;
  }

  /** Statements on the old connections continue there. */
  #retire(pool: Pool): void {
    this.lostAt = this.#clock.monotonic();
    for (const [name, current] of Object.entries(this.#pools) as [PoolName, Pool][]) {
      if (current !== pool || this.#closed.signal.aborted) continue;
      this.#pools[name] = this.#newPool(name);
      end(pool);
    }
  }
}

function forPools<T>(make: (name: PoolName) => T): Record<PoolName, T> {
  return { writes: make("writes"), reads: make("reads"), leases: make("leases") };
}

async function withClient<T>(config: ClientConfig, act: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client(config);
  client.on("error", () => {}); // the running statement rejects
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

/**
 * The configuration that `pg` derives from the URL and libpq's variables. Throws if the URL cannot be parsed.
 */
export function clientConfig(url: string): ClientConfig {
  // As in libpq: `require` encrypts without checking the certificate. `pg` also has a name of its own for it.
  const isOdd = /[?&]sslmode=/.test(url) && !/[?&]uselibpqcompat=/.test(url);
  const asInLibpq = url.replace(/(?<=[?&]sslmode=)no-verify(?=&|$)/, "require");
  return {
    connectionString: isOdd ? `${asInLibpq}&uselibpqcompat=true` : url,
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

export function placeOf(config: ClientConfig): string {
  const { host, port, database } = new Client(config);
  return `postgres://${host.startsWith("/") ? "" : `${host}:${port}`}/${database ?? ""}`;
}
