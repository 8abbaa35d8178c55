/**
 * Opens the store that a setting names, or says in one line why it cannot be used. `port.ts` has the kinds of
 * stores by their URLs; only this file knows how each is opened, inspected, copied and migrated.
 */
import { existsSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Clock } from "../base/clock.ts";
import { ClockWitness } from "../base/clock-witness.ts";
import { unlessAborted } from "../base/deadline.ts";
import { MISSING, missing } from "../base/file-trouble.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { copyStore, type MigrationEnd, type MigrationProgress } from "./migration.ts";
import { type ObservedStore, observed, type StoreIdentity } from "./observed.ts";
import { filePath, type Retention, storeKind } from "./port.ts";
import type { PostgresSettings } from "./postgres/postgres.ts";
import { backupFile } from "./sqlite/backup.ts";
import { memoryStore } from "./sqlite/inline-thread.ts";
import { SqliteStore } from "./sqlite/sqlite.ts";
import { SqliteMigrationEnd } from "./sqlite/sqlite-migration.ts";
import { FILE_DEFAULTS, SCHEMA_VERSION, type StoreOptions } from "./sqlite/sqlite-schema.ts";
import { SqliteThread } from "./sqlite/thread.ts";
import { StoreError } from "./store-error.ts";
import { StoreHealth } from "./store-health.ts";
import type { StoreSummary } from "./store-summary.ts";

/** So that reads of a store in memory do not keep the event loop from all else. */
const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** The named store cannot be used. The message is one line that says what to do. */
export class StoreOpenError extends Error {
  override readonly name = "StoreOpenError";
}

/** The name alone is wrong, whatever is there: it is none, or of a kind that the caller cannot use. */
export class StoreNameError extends StoreOpenError {}

interface OpenedStore extends ObservedStore {
  readonly identity: StoreIdentity;
}

/** The settings of a store that several instances share. */
export const SHARED_DEFAULTS: PostgresSettings = {
  leaseMs: 6000,
  graceMs: 90_000,
  listenUrl: undefined,
  isSynchronous: false,
};

interface OpenOptions {
  /** For a store that several instances share. */
  shared?: PostgresSettings;
  /** For a store in a file. */
  file?: StoreOptions;
  /** Ends the wait for a server or a disk. */
  stopped?: AbortSignal | undefined;
  /** Bears out the times that the store keeps. */
  witness?: ClockWitness | undefined;
}

/**
 * Opens `sqlite:<path>` (creates its folder if necessary), `memory:`, or `postgres://…`, whose code is loaded
 * only then. Rejects with `StoreOpenError`, or with the reason of `stopped`.
 */
export async function openStore(
  url: string,
  clock: Clock,
  telemetry: Telemetry,
  options: OpenOptions = {},
): Promise<OpenedStore> {
  const {
    shared = SHARED_DEFAULTS,
    file = FILE_DEFAULTS,
    stopped,
    witness = new ClockWitness(clock),
  } = options;
  const kind = storeKind(url);
  if (kind === "memory") {
    const engine = memoryStore(clock, telemetry.store.unreadable, nextTurn, witness);
    const identity = { place: url, schema: SCHEMA_VERSION };
    return { ...observed(engine, clock, telemetry), identity };
  }
  if (kind === "shared") {
    const { openPostgres } = await import("./postgres/open-postgres.ts");
    const health = new StoreHealth(clock, telemetry);
    const opened = await openPostgres(url, shared, clock, telemetry, health, witness, stopped).catch(refuse);
    return { ...observed(opened, clock, telemetry, health), identity: opened.identity };
  }
  const path = pathIn(url);
  const why = missing(path);
  const isEmpty = why === undefined && statSync(path).size === 0;
  const real = realPath(path);
  const engine = new SqliteStore(clock, new SqliteThread(real, telemetry, file), witness);
  try {
    await unlessAborted(engine.probeWrite(0), stopped);
    if (why === MISSING || isEmpty) telemetry.store.made(real, isEmpty);
    return { ...observed(engine, clock, telemetry), identity: { place: real, schema: SCHEMA_VERSION } };
  } catch (error) {
    await engine.close();
    return refuse(error);
  }
}

/**
 * As `openStore`. In place of a `StoreOpenError`, it rejects with an `Error` whose message begins with the
 * `name` of the setting or flag.
 */
export async function openNamedStore(name: string, ...args: Parameters<typeof openStore>) {
  return openStore(...args).catch((error) => {
    throw error instanceof StoreOpenError ? new Error(`${name}: ${error.message}`, { cause: error }) : error;
  });
}

/** The path in `sqlite:<path>`. Throws `StoreOpenError`. */
function pathIn(url: string): string {
  if (url === "sqlite::memory:") throw new StoreNameError("sqlite::memory: is not a store: use memory:");
  const path = filePath(url);
  if (path === undefined) {
    const scheme = url.split(":", 1)[0]; // the rest may contain a password
    throw new StoreNameError(
      `store "${scheme}:" is not known or incomplete: use sqlite:<path>, memory: or postgres://…`,
    );
  }
  return path;
}

function refuse(error: unknown): never {
  if (!(error instanceof StoreError)) throw error;
  throw new StoreOpenError(error.message, { cause: error });
}

/**
 * Looks at the store that `openStore` would open, without changing it. Rejects with `StoreOpenError` if that
 * would fail.
 */
export async function inspectStore(url: string): Promise<StoreSummary> {
  const kind = storeKind(url);
  if (kind === "memory") {
    const empty = { schema: undefined, rooms: 0, bytes: 0, freeBytes: undefined };
    return { place: url, known: SCHEMA_VERSION, ...empty, isInUse: false, isForeign: false };
  }
  try {
    if (kind === "shared") {
      const { inspectDatabase } = await import("./postgres/inspect-database.ts");
      return await inspectDatabase(url);
    }
    const { inspectFile } = await import("./sqlite/inspect-file.ts");
    return inspectFile(realPath(pathIn(url)));
  } catch (error) {
    return refuse(error);
  }
}

/**
 * Copies the store to a file while a service writes to it. Rejects with an error whose message is one line.
 */
export async function backupStore(url: string, target: string): Promise<void> {
  const path = filePath(url);
  if (path === undefined)
    throw new StoreNameError(
      `RELAY_STORE: only a sqlite: store has a file to be copied${storeKind(url) === "shared" ? "; for PostgreSQL, use pg_dump (docs/cluster.md)" : ""}`,
    );
  await backupFile(realPath(path), target);
}

/**
 * Copies a store into another one, which is empty or was partly filled from the same store. Both are named as
 * in `openStore`, and no service may use either. Rejects with an error whose message is one line without a
 * password.
 */
export async function migrateStore(
  from: string,
  to: string,
  clock: Clock,
  progress: (progress: MigrationProgress) => void,
): Promise<{ rooms: number; messages: number }> {
  const [source, target] = [from, to].map((url) => (storeKind(url) === "file" ? realPath(pathIn(url)) : url));
  if (source === target)
    throw new StoreNameError("<from> and <to> are the same store: name another, empty one to copy into");
  await using ends = new AsyncDisposableStack();
  const open = async (url: string, role: "from" | "to") =>
    ends.adopt(await openMigrationEnd(url, role), (end) => end.close());
  return await copyStore(await open(from, "from"), await open(to, "to"), clock, progress);
}

async function openMigrationEnd(url: string, role: "from" | "to"): Promise<MigrationEnd> {
  const path = filePath(url);
  if (path !== undefined) return new SqliteMigrationEnd(realPath(path), role);
  if (storeKind(url) !== "shared")
    throw new StoreNameError(`<${role}>: must be sqlite:<path> or postgres://…`);
  const { PostgresMigrationEnd } = await import("./postgres/postgres-migration.ts");
  return await PostgresMigrationEnd.open(url, role);
}

/** Throws `StoreOpenError` if nothing is at the place where a backup must have been put. */
export function assertRestored(url: string): void {
  const path = filePath(url);
  if (path === undefined) return;
  const why = missing(path);
  if (why === undefined && statSync(path).size > 0) return;
  if (why !== undefined && why !== MISSING) throw new StoreOpenError(`RELAY_RESTORED: ${path} ${why}`);
  const found = why === undefined ? "the file to restore is empty" : "there is no file to restore";
  throw new StoreOpenError(`RELAY_RESTORED: ${found}: put the backup at ${path}, then start again`);
}

/**
 * Rejects with `StoreOpenError` if the clock of a restored store is before its oldest data: the cursors to
 * which its rooms move come from the clock, and would be those that clients hold.
 */
export async function assertClock(store: Retention): Promise<void> {
  const { now, oldestAt } = await store.age();
  if (now >= oldestAt || oldestAt === Number.POSITIVE_INFINITY) return;
  const [shown, oldest] = [now, oldestAt].map((ms) => new Date(ms).toISOString());
  throw new StoreOpenError(
    `RELAY_RESTORED: the store's clock shows ${shown}, but its oldest message is of ${oldest}: set the clock, then start again`,
  );
}

/** Resolves links, so that one file under two names has one lock. Throws `StoreOpenError` for a folder. */
function realPath(path: string): string {
  if (!existsSync(path)) return resolve(path);
  if (statSync(path).isDirectory())
    throw new StoreOpenError(`${path} is a folder: name a file in it, such as ${join(path, "relay.db")}`);
  return realpathSync(path);
}
