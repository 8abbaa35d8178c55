/** The counts of a room's viewers that an instance writes for the others, on a line that fails. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Database } from "../../../src/store/postgres/pools.ts";
import { ViewerCounts } from "../../../src/store/postgres/viewer-counts.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { StoreHealth } from "../../../src/store/store-health.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const ROOM = "dQw4w9WgXcQ";

it("a count that could not be written is written later, also of a room that nobody watches", async () => {
  const clock = new FakeClock();
  const telemetry = new Telemetry(silentLog);
  const written: unknown[][] = [];
  let isDown = false;
  const query = async (_: unknown, __: string, [rooms, , viewers, keepMs]: unknown[]) => {
    if (isDown) throw new StoreError("unavailable", "the line is down");
    written.push([rooms, viewers, keepMs]);
    return [];
  };
  const connections = { query, lostAt: Number.NEGATIVE_INFINITY } as unknown as Database;
  const health = new StoreHealth(clock, telemetry);
  const counts = new ViewerCounts({ clock, telemetry, connections, health, instance: "one", graceMs: 3000 });
  counts.setViewers(ROOM, 1);
  await counts.written();
  isDown = true;
  counts.setViewers(ROOM, 0);
  await counts.written();
  await clock.advance(10_000);
  isDown = false;
  await clock.advance(1000);
  await clock.advance(10_000);
  await counts.close();
  assert.deepEqual(written, [
    [[ROOM], [1], [3000]],
    [[ROOM], [0], [0]],
  ]);
});
