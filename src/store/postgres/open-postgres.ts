/** Opens a PostgreSQL store, or says in one line why that fails. Loaded only for a PostgreSQL URL. */
import type { Clock } from "../../base/clock.ts";
import type { ClockWitness } from "../../base/clock-witness.ts";
import { unlessAborted } from "../../base/deadline.ts";
import { retry } from "../../base/retry.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { StoreIdentity } from "../observed.ts";
import { StoreError } from "../store-error.ts";
import type { StoreHealth } from "../store-health.ts";
import { adoptLineage } from "./lineage.ts";
import { Pools } from "./pools.ts";
import { type PostgresSettings, PostgresStore } from "./postgres.ts";
import { adviceFor, CANNOT_BE_REACHED, reasonOf } from "./postgres-error.ts";
import { migrateSchema } from "./postgres-schema.ts";

/** How long a start waits for an unreachable server, in milliseconds. */
const START_LIMIT_MS = 12_000;
const RETRY = { firstMs: 500, maxMs: 500 };

/**
 * Opens the store. Rejects with `StoreError`, whose message is one line without the password, or with the
 * reason of `stopped` if that aborts before the store answers. If it rejects, no connection stays
 * open.
 */
export async function openPostgres(
  url: string,
  settings: PostgresSettings,
  clock: Clock,
  telemetry: Telemetry,
  health: StoreHealth,
  witness: ClockWitness,
  stopped?: AbortSignal,
): Promise<PostgresStore & { identity: StoreIdentity }> {
  const connections = fromUrl(() => new Pools(url, settings.listenUrl, clock));
  const until = clock.monotonic() + START_LIMIT_MS;
  let isAwaited = false;
  let schema = 0;
  const upgrade = async (toSchema: number, step: () => Promise<unknown>) => {
    const beganAt = clock.monotonic();
    await step();
    telemetry.store.upgraded(toSchema, clock.monotonic() - beganAt);
  };
  const prepare = async () => {
    schema = await connections.alone((client) => migrateSchema(client, "refused", upgrade));
    const rooms = await adoptLineage(connections, { isRestored: false, isKept: settings.isSynchronous });
    if (rooms > 0) telemetry.store.lineageAdopted(rooms);
  };
  const mayPass = (error: unknown) => {
    if (stopped?.aborted || adviceFor(error) !== undefined || clock.monotonic() >= until) return false;
    if (!isAwaited) telemetry.store.awaited(reasonOf(error), START_LIMIT_MS);
    isAwaited = true;
    return true;
  };
  try {
    await retry(RETRY, clock, stopped, mayPass, () => unlessAborted(prepare(), stopped));
  } catch (error) {
    await connections.close();
    stopped?.throwIfAborted();
    throw cannotOpen(error, connections.place);
  }
  const store = new PostgresStore({ connections, clock, telemetry, health, witness, settings });
  return Object.assign(store, { identity: { place: connections.place, schema } });
}

/** The reason why a database cannot be opened, with what to do. */
export function cannotOpen(error: unknown, place: string): StoreError {
  const what = adviceFor(error) ?? CANNOT_BE_REACHED;
  const reason = error instanceof StoreError ? "" : ` (${reasonOf(error)})`;
  return new StoreError("unavailable", `${place} ${what}${reason}`);
}

/** The result of `make`, which parses a URL. Throws `StoreError` if `make` throws. */
export function fromUrl<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    // Includes neither the message nor the cause, because both may quote the URL.
    const { code = "" } = error as { code?: string };
    throw new StoreError(
      "unavailable",
      `the PostgreSQL URL cannot be read${code && ` (${code})`}: use postgres://user@host:port/database`,
    );
  }
}
