/** From the setting to a store that answers: the one place that knows which stores there are. */
import { existsSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Clock } from "../clock.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { MemoryStore } from "./memory.ts";
import { ObservedStore } from "./observed.ts";
import { StoreError } from "./port.ts";
import { SqliteStore } from "./sqlite/sqlite.ts";

/** A store that cannot be used as it was named: its message is one line that says what to do. */
export class StoreOpenError extends Error {
  override readonly name = "StoreOpenError";
}

/** `sqlite:<path>` (its folder is made where it is missing) or `memory:`. Rejects with `StoreOpenError`. */
export async function openStore(url: string, clock: Clock, telemetry: Telemetry): Promise<ObservedStore> {
  if (url === "memory:") return new ObservedStore(new MemoryStore(clock), clock, telemetry);
  const [, path] = /^sqlite:(.+)$/s.exec(url) ?? [];
  if (!path) {
    const scheme = url.split(":", 1)[0]; // the rest may hold a password
    throw new StoreOpenError(`store "${scheme}:" is not known or incomplete: use sqlite:<path> or memory:`);
  }
  if (path === ":memory:") throw new StoreOpenError("sqlite::memory: is not a store: use memory:");
  const engine = new SqliteStore(realPath(path), clock, telemetry.log);
  try {
    await engine.probeWrite();
    return new ObservedStore(engine, clock, telemetry);
  } catch (error) {
    await engine.close();
    if (!(error instanceof StoreError)) throw error;
    throw new StoreOpenError(error.message, { cause: error });
  }
}

/** Links resolved, so that one file under two names has one lock. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}
