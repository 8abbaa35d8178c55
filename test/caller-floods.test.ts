/** Floods of calls by clients that poll themselves: what they may cost, and how long they wait. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { gateBench } from "./support/gate-bench.ts";

it("the gate does not search all waiting calls for each that comes", async () => {
  const { clock, gate } = gateBench();
  let compared = 0;
  const waiting = {
    signal: new AbortController().signal,
    dueAt: 0,
    lane: "caller" as const,
    sortKey: () => {
      compared += 1;
      return 0;
    },
    refuseImpatient: () => {},
  };
  for (let i = 0; i < 1000; i++) void gate.enter({ kind: "poll", waiting });
  await clock.advance(1000);
  assert.equal(gate.queued, 997);
  assert.ok(compared <= 5000, `${compared} comparisons`);
});
