/** The time limits of connections. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { StayLimit } from "../../../src/http/connections/stay-limit.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const telemetry = new Telemetry(silentLog);

test("a connection does not end as it is added, even if the process stalls longer than its time", async () => {
  let nowMs = 0;
  const heldUp: Clock = { ...systemClock, monotonic: () => (nowMs += 10) };
  const ended = Promise.withResolvers<string>();
  let isAdded = false;
  const { signal } = new AbortController();
  const over = (name: string) => ended.resolve(isAdded ? name : "too early: nothing of it is sent yet");
  new StayLimit({ clock: heldUp, telemetry }, 1, signal, over).add("it");
  isAdded = true;
  assert.equal(await ended.promise, "it");
});

test("a connection is ended although a fault of the service keeps another one open", async () => {
  const clock = new FakeClock();
  const ended: string[] = [];
  const over = (name: string) => {
    if (name === "broken") throw new TypeError("a bug");
    ended.push(name);
  };
  const limit = new StayLimit({ clock, telemetry }, 1000, new AbortController().signal, over);
  for (const name of ["broken", "next"]) limit.add(name);
  await clock.advance(3000);
  assert.deepEqual(ended, ["next"]);
  limit.add("later");
  await clock.advance(1000);
  assert.deepEqual(ended, ["next", "later"]);
});
