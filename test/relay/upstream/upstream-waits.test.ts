/** Waits that the upstream imposes, each as long as it really is. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failure } from "../../../simulator/index.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { tried } from "../../support/opening.ts";
import { requestsOf, VIDEO, virtualRoom } from "../../support/virtual-room.ts";

/** For how long a call to the chat is waited for. */
const DEADLINE_MS = 8000;
const LATENCY_MS = 50;

/** A room one of whose polls meets the failure; that poll, and the next one. */
async function pollThatMeets(as: Failure) {
  const room = await virtualRoom(1, {}, { tokens: "reusable" });
  const { relay, chat, viewer } = room;
  relay.network.latency = { leastMs: LATENCY_MS, jitterMs: 0 };
  const fault = relay.upstream.fault({ on: "get_live_chat", times: 1, as });
  await relay.until(() => fault.fired === 1);
  const [call, next] = [
    requestsOf(relay, "get_live_chat").at(-1),
    (await relay.requested("get_live_chat")).at(-1),
  ];
  assert.ok(call && next);
  chat.say(1);
  await viewer.untilMessages(2);
  assert.deepEqual(viewer.ids, room.ids());
  return { room, call, next, apartMs: Math.round(next.at - call.at) };
}

describe("waits that the upstream requests", () => {
  const incomplete: [what: string, as: Failure][] = [
    ["no answer", "silent"],
    ["an answer that never ends", { drip: { bytes: 1, everyMs: 1000 } }],
  ];
  for (const [what, as] of incomplete) {
    it(`${what}: a failed poll, repeated at once with the same token`, async () => {
      const { room, call, next, apartMs } = await pollThatMeets(as);
      assert.equal(next.continuation, call.continuation);
      assert.equal(room.bootstraps(), 1);
      assert.ok(apartMs >= DEADLINE_MS && apartMs <= DEADLINE_MS + 500, `${apartMs}`);
    });

    it(`${what}: a failed attempt, followed by the next`, async () => {
      const relay = new VirtualRelay();
      relay.upstream.chat(VIDEO, { tokens: "reusable" });
      relay.upstream.fault({ on: "get_live_chat", times: 1, as });
      await relay.enter({ videoId: VIDEO });
      assert.deepEqual(tried(relay), [
        "WEB get_live_chat",
        "WEB get_live_chat_replay",
        "TVHTML5 get_live_chat",
      ]);
    });
  }

  for (const seconds of [1, 90, 300]) {
    it(`Retry-After of ${seconds} s: a cooldown of that length, from the answer on`, async () => {
      const { apartMs } = await pollThatMeets({ status: 429, headers: { "Retry-After": String(seconds) } });
      assert.equal(apartMs, LATENCY_MS + seconds * 1000);
    });
  }

  it("Retry-After as a date: a cooldown until then", async () => {
    const until = Date.UTC(2026, 0, 1, 0, 2);
    const headers = { "Retry-After": new Date(until).toUTCString() };
    const { room, next } = await pollThatMeets({ status: 429, headers });
    const { clock } = room.relay;
    const startedAt = clock.now() - clock.monotonic();
    assert.ok(Math.abs(startedAt + next.at - until) <= 1000, "dates have whole seconds");
  });
});
