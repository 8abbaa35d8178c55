/** Instances that call from one address: what the calls of one do to the chats of another. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { realisticHold } from "../../../../simulator/index.ts";
import type { Clock } from "../../../../src/base/clock.ts";
import type { SharedPace } from "../../../../src/base/shared-pace.ts";
import type { Lane } from "../../../../src/upstream/egress/lanes.ts";
import { missing, VirtualRelay } from "../../../harness/virtual-relay.ts";
import { gateBench } from "../../../support/gate-bench.ts";
import { sharedBy } from "../../../support/shared-pace.ts";

const EGRESS = "office";
const FOR_MS = 120_000;

for (const [chats, others, lane] of [
  [20, 1, "replay"],
  [20, 2, "opening"],
  [12, 7, "replay"],
] as const)
  it(`${chats} chats lose nothing beside ${others} more that flood the address with calls of the lane ${lane}`, async () => {
    const relay = new VirtualRelay({ settings: { RELAY_EGRESS: `${EGRESS}=direct` } });
    const paceOfOne = sharedBy(relay.clock);
    relay.egresses.share(EGRESS, paceOfOne());
    const floods = Array.from({ length: others }, () => flood(relay.clock, paceOfOne(), lane));
    const read = Array.from({ length: chats }, (_, i) =>
      relay.upstream.chat(`shared-${String(i).padStart(4, "0")}`, {
        kinds: ["text"],
        page: 20,
        timeoutMs: 10_000,
        ...realisticHold,
      }),
    );
    for (const chat of read) {
      chat.speak(0.5);
      await relay.enter({ videoId: chat.videoId });
    }
    await relay.advance(FOR_MS);
    const found = await Promise.all(read.map((chat) => missing(relay, chat)));
    const sum = (of: "lost" | "gaps") => found.reduce((total, one) => total + one[of], 0);
    assert.deepEqual({ lost: sum("lost"), gaps: sum("gaps") }, { lost: 0, gaps: 0 });
    for (const { calls } of floods) assert.ok(calls() > FOR_MS / 20_000, `${calls()} calls`);
  });

/** An instance that has always calls of one lane to make. */
function flood(clock: Clock, pace: SharedPace, lane: Lane): { calls: () => number } {
  const { call, gate, starts } = gateBench({}, undefined, EGRESS, clock);
  gate.share(pace);
  for (let i = 0; i < 1000; i++) void call(`${lane} ${i}`, { lane, toleranceMs: 1e9 });
  return { calls: () => starts.length };
}
