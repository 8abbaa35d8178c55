/**
 * A process of its own that writes to a store file without end, for tests that take it away or starve it:
 * `node store-writer.ts <path> <video id>...`. It prints `added <video id> <head>` when an append was
 * acknowledged, `unavailable <video id>` when one failed, or `refused <reason>` and exits.
 */
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../src/base/clock.ts";
import type { ObservedStore } from "../../src/store/observed.ts";
import { openStore, StoreOpenError } from "../../src/store/open.ts";
import { StoreError } from "../../src/store/port.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { nthId } from "./store-process.ts";
import { messages, own } from "./store-reading.ts";

const [path, ...videoIds] = process.argv.slice(2);

try {
  const store = await openStore(`sqlite:${path}`, systemClock, new Telemetry(silentLog));
  await Promise.all(videoIds.map((videoId) => write(store, videoId)));
} catch (error) {
  if (!(error instanceof StoreOpenError)) throw error;
  console.log(`refused ${error.message}`);
}

/** Appends what follows the room's head, each time with some that the room holds already. */
async function write(store: ObservedStore, videoId: string): Promise<never> {
  const claim = await own(store, videoId);
  const base = claim.room?.base ?? claim.head;
  let { head } = claim;
  for (let size = 1; ; size = (size % 7) + 1) {
    try {
      const next = head - base;
      const ids = [];
      for (let n = Math.max(0, next - 2); n < next + size; n++) ids.push(nthId(videoId, n));
      await store.append(claim, head, messages(ids), `${head + size}`);
      head += size;
      console.log(`added ${videoId} ${head}`);
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== "unavailable") throw error;
      console.log(`unavailable ${videoId}`);
      await delay(10); // a store that is unavailable must not fill the pipe with words
      head = (await store.getRoom(videoId).catch(() => undefined))?.head ?? head;
    }
  }
}
