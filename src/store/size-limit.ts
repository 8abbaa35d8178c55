/**
 * Keeps the store below a limit of its size. At the limit, new chats are refused unless they are recorded
 * (`acquire-room.ts`), and the oldest rooms are deleted, unrecorded rooms first, until some space is free. A
 * store that has nothing left to delete stays full, and works: chats that are open, and recordings, continue.
 * The stores choose the rooms: `sqlite/pruning.ts`, `postgres/pruning-schema.ts`.
 */
import type { Clock } from "../base/clock.ts";
import { background } from "../telemetry/background.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { SizeLimited } from "./port.ts";
import { PAUSE_MS, STEP_ENTRIES } from "./retention.ts";
import { ifUnavailable } from "./store-error.ts";
import type { StoreHealth } from "./store-health.ts";

/** A busy instance stores less than 100 MB in this time. */
export const CHECK_MS = 10_000;
/** So that a full store is not full again at once. */
const FREED_SHARE = 0.05;
/** What viewers may still be reading stays. */
const KEPT_MS = 600_000;

interface LimitedStore extends SizeLimited {
  readonly health: Pick<StoreHealth, "isStoreFull">;
}

/**
 * Runs until the signal aborts; 0 bytes mean no limit. `recorded`: the names of recordings that are not in
 * the store's list.
 */
export async function runSizeLimit(
  store: LimitedStore,
  maxBytes: number,
  recorded: () => readonly string[],
  clock: Clock,
  telemetry: Telemetry,
  signal: AbortSignal,
): Promise<void> {
  if (maxBytes === 0) return;
  const { health } = store;
  let displaced = 0;
  await background("limit of the store's size", { clock, telemetry }, signal, async () => {
    for (;;) {
      // A store that was unavailable is looked at again in the next round.
      await check().catch(ifUnavailable(undefined));
      await clock.sleep(CHECK_MS, signal);
    }
  });

  async function check(): Promise<void> {
    let usedBytes = await store.usedBytes();
    if (usedBytes < maxBytes && !health.isStoreFull) return;
    if (!health.isStoreFull) telemetry.store.atLimit(usedBytes, maxBytes);
    health.isStoreFull = true;
    while (usedBytes > (1 - FREED_SHARE) * maxBytes) {
      const entries = await store.pruneRooms(recorded(), KEPT_MS, STEP_ENTRIES);
      if (entries === 0) break;
      displaced += entries;
      telemetry.store.displaced(entries);
      await clock.sleep(PAUSE_MS, signal);
      usedBytes = await store.usedBytes();
    }
    if (usedBytes >= maxBytes) return;
    health.isStoreFull = false;
    telemetry.store.belowLimit(displaced);
    displaced = 0;
  }
}
