/** Waits that the upstream imposes, each as long as it really is: they run at the same time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failure } from "../src/simulator/index.ts";
import { around, assertGoesOn, bootstraps, roomWith, VIDEO } from "./support/answered-room.ts";
import { opened, startAtRest, tried } from "./support/opening.ts";

/** Later than a call may last. */
const TOO_LONG_MS = 12_000;

describe("waits that the upstream imposes", { concurrency: true }, () => {
  const incomplete: [what: string, as: Failure][] = [
    ["no answer", "silent"],
    ["an answer that never ends", { drip: { bytes: 1, everyMs: 1000 } }],
  ];
  for (const [what, as] of incomplete) {
    it(`${what}: a failed poll, tried again with the same token`, async () => {
      await using room = await roomWith(as);
      const { call, next } = await around(room);
      assert.equal(next.continuation, call.continuation);
      assert.ok(next.at - call.at < TOO_LONG_MS);
      await assertGoesOn(room);
      assert.equal(bootstraps(room.relay), 1);
    });

    it(`${what}: a failed attempt, after which the next is made`, async () => {
      await using relay = await startAtRest();
      relay.upstream.chat(VIDEO, { tokens: "reusable" });
      relay.upstream.fault({ on: "get_live_chat", times: 1, as });
      await opened(relay, VIDEO);
      assert.deepEqual(tried(relay), [
        "WEB get_live_chat",
        "WEB get_live_chat_replay",
        "TVHTML5 get_live_chat",
      ]);
    });
  }

  it("Retry-After in seconds: a cooldown of that length", async () => {
    await using room = await roomWith({ status: 429, headers: { "Retry-After": "1" } });
    const { call, next } = await around(room);
    const pausedMs = next.at - (call.finishedAt ?? Number.NaN);
    assert.ok(pausedMs > 995, `asked again after ${pausedMs} ms`);
    await assertGoesOn(room);
  });

  it("Retry-After as a date: a cooldown until then", async () => {
    const until = new Date(Date.now() + 2000).toUTCString();
    await using room = await roomWith({ status: 429, headers: { "Retry-After": until } });
    const { next } = await around(room);
    const earlyMs = Date.parse(until) - (performance.timeOrigin + next.at);
    assert.ok(earlyMs < 20, `asked again ${earlyMs} ms before`);
    await assertGoesOn(room);
  });
});
