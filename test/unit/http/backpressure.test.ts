/** When a connection that is full is cut, without any connection: time is the test's. */
import assert from "node:assert/strict";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { Backpressure } from "../../../src/http/connections/backpressure.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const STALL_MS = 300_000;

/** `cuts`: when each of the connections was cut, in the order of the cuts. */
function started(count: number) {
  const clock = new FakeClock();
  const stop = new AbortController();
  const full = new Backpressure({ clock, telemetry: new Telemetry(silentLog) }, STALL_MS, stop.signal);
  const cuts: [connection: number, ms: number][] = [];
  const connections = Array.from({ length: count }, (_, n) => {
    const socket = new Socket();
    socket.resetAndDestroy = () => {
      cuts.push([n, clock.monotonic()]);
      return socket;
    };
    return { socket, owner: undefined };
  });
  return { clock, stop, full, connections: connections as [Connection, ...Connection[]], cuts };
}
type Connection = { socket: Socket; owner: undefined };

describe("a full connection", () => {
  it("is not cut later because another one drains", async () => {
    const { clock, full, connections, cuts } = started(3);
    for (const connection of connections) {
      full.filled(connection);
      await clock.advance(1000);
    }
    full.emptied(connections[0]);
    await clock.advance(STALL_MS);
    assert.deepEqual(cuts, [
      [1, STALL_MS + 1000],
      [2, STALL_MS + 2000],
    ]);
  });

  it("is not cut after the service has stopped", async () => {
    const { clock, stop, full, connections, cuts } = started(1);
    full.filled(connections[0]);
    stop.abort();
    await clock.advance(2 * STALL_MS);
    assert.deepEqual(cuts, []);
  });
});
