/** From a URL to a store that answers, or to one line that says why there is none. Loaded for a PostgreSQL URL alone. */
import type { Clock } from "../../clock.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { StoreHealth } from "../health.ts";
import { StoreError } from "../port.ts";
import { Connections } from "./connections.ts";
import { adviceFor, type Place, reasonOf } from "./error.ts";
import { adoptLineage } from "./lineage.ts";
import { type PostgresSettings, PostgresStore } from "./postgres.ts";
import { migrate } from "./schema.ts";

/** How long a start waits for a server that cannot be reached, in milliseconds. */
const START_LIMIT_MS = 12_000;
const RETRY_MS = 500;

/** Rejects with `StoreError` whose message is one line without the password. */
export async function openPostgres(
  url: string,
  settings: PostgresSettings,
  clock: Clock,
  telemetry: Telemetry,
  health: StoreHealth,
): Promise<PostgresStore> {
  const connections = fromUrl(() => new Connections(url, settings.listenUrl, clock));
  const until = clock.monotonic() + START_LIMIT_MS;
  for (let isFirst = true; ; isFirst = false) {
    try {
      await connections.alone(migrate);
      const rooms = await adoptLineage(connections, { isRestored: false, isKept: settings.isSynchronous });
      if (rooms > 0) telemetry.lineageAdopted(rooms);
      return new PostgresStore({ connections, clock, telemetry, health, settings });
    } catch (error) {
      const advice = adviceFor(error);
      if (advice === undefined && clock.monotonic() < until) {
        if (isFirst) telemetry.storeAwaited(reasonOf(error), START_LIMIT_MS);
        await clock.sleep(RETRY_MS);
        continue;
      }
      await connections.close();
      throw cannotOpen(error, connections.place);
    }
  }
}

/** Why a database cannot be opened, and what to do. */
export function cannotOpen(error: unknown, place: Place): StoreError {
  const what =
    adviceFor(error) ?? "cannot be reached: see that the server runs, and that host and port are right";
  const reason = error instanceof StoreError ? "" : ` (${reasonOf(error)})`;
  return new StoreError("unavailable", `${place} ${what}${reason}`);
}

/** What is made from a URL. Throws `StoreError` where that cannot be read. */
export function fromUrl<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    // Neither the message nor the cause: either may quote the URL.
    const { code = "" } = error as { code?: string };
    throw new StoreError(
      "unavailable",
      `the PostgreSQL URL cannot be read${code && ` (${code})`}: use postgres://user@host:port/database`,
    );
  }
}
