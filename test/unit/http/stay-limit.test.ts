/** The time limits of connections. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import { StayLimit } from "../../../src/http/connections/stay-limit.ts";

test("a connection is not ended while it is added, even if the process is held up for longer than its time", async () => {
  let nowMs = 0;
  const heldUp: Clock = { ...systemClock, monotonic: () => (nowMs += 10) };
  const ended = Promise.withResolvers<string>();
  let isAdded = false;
  const { signal } = new AbortController();
  const over = (name: string) => ended.resolve(isAdded ? name : "too early: nothing of it is sent yet");
  new StayLimit(heldUp, 1, signal, over).add("it");
  isAdded = true;
  assert.equal(await ended.promise, "it");
});
