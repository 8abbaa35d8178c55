/**
 * A process of its own that writes to a store file without end, for tests that take it away or starve it:
 * `node store-writer.ts <path> <key>...`. It prints `added <key> <head>` when an append was
 * acknowledged, `unavailable <key>` when one failed, or `refused <reason>` and exits.
 */

import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../../src/base/clock.ts";
import type { ChatKey } from "../../src/protocol/chat-key.ts";
import type { ObservedStore } from "../../src/store/observed.ts";
import { openStore, StoreOpenError } from "../../src/store/open.ts";
import { StoreError } from "../../src/store/store-error.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { nthId } from "./store-process.ts";
import { messages, own } from "./store-reading.ts";

const [path, ...keys] = process.argv.slice(2);

try {
  const store = await openStore(`sqlite:${path}`, systemClock, new Telemetry(silentLog));
  await Promise.all(keys.map((key) => write(store, key)));
} catch (error) {
  if (!(error instanceof StoreOpenError)) throw error;
  console.log(`refused ${error.message}`);
}

/** Appends what follows the room's head, each time with some that the room holds already. */
async function write(store: ObservedStore, key: ChatKey): Promise<never> {
  const claim = await own(store, key);
  const base = claim.room?.base ?? claim.head;
  let { head } = claim;
  for (let size = 1; ; size = (size % 7) + 1) {
    try {
      const next = head - base;
      const ids = [];
      for (let n = Math.max(0, next - 2); n < next + size; n++) ids.push(nthId(key, n));
      await store.append(claim, head, messages(ids), `${head + size}`);
      head += size;
      console.log(`added ${key} ${head}`);
    } catch (error) {
      if (!(error instanceof StoreError) || error.kind !== "unavailable") throw error;
      console.log(`unavailable ${key}`);
      await delay(10); // a store that is unavailable must not fill the pipe with words
      head = (await store.getRoom(key).catch(() => undefined))?.head ?? head;
    }
  }
}
