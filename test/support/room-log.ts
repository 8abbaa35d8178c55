/** The log of a room, as a poller writes it. */

import type { JsonObject } from "../../simulator/plain-json.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { Appender } from "../../src/reading/batch/appender.ts";
import { memoryOf } from "../../src/reading/batch/checkpoint.ts";
import type { Gap } from "../../src/reading/gap.ts";
import type { ObservedStore, StoreEngine } from "../../src/store/observed.ts";
import { memoryStore } from "../../src/store/sqlite/inline-thread.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { readActions } from "../../src/upstream/readers/actions.ts";
import { POSITION } from "./position.ts";
import { UTC } from "./read-messages.ts";
import { own } from "./store-reading.ts";
import { observe } from "./store-subject.ts";

export const CONTEXT = { receivedAt: Date.parse("2026-01-02T15:04:05Z"), timeOfDay: UTC, isEnglish: true };

/**
 * Appends a batch of actions; returns type, id (hashes as #) and text of the new messages. Called again with
 * the same store, it is a restarted service, perhaps with a pending gap.
 */
export async function roomLog(
  store: StoreEngine | ObservedStore = memoryStore(systemClock),
  clock: Clock = systemClock,
  suspected?: Gap,
  isBlanking = false,
) {
  const telemetry = new Telemetry(silentLog);
  const parts = {
    store: "health" in store ? store : observe(store, clock, telemetry),
    clock,
    telemetry,
    settings: { ...CONTEXT, isBlanking },
  };
  const hold = await own(store, "a-room-log1");
  const appender = new Appender(parts, hold, memoryOf(hold.room, false, parts));
  let suspectedGap = suspected;
  return async (...actions: JsonObject[]): Promise<string[]> => {
    const { items } = readActions(actions, CONTEXT);
    const added = await appender.appendOnce([{ items, suspectedGap }], {
      position: POSITION,
      startedAt: clock.monotonic(),
    });
    suspectedGap = undefined;
    return added.map(({ body }) => {
      const { type, id, message } = JSON.parse(body);
      return `${type} ${type === "replaced" ? id.replace(/[\w-]{12}$/, "#") : id} ${message}`;
    });
  };
}
