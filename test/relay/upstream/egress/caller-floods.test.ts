/** Floods of calls by clients that poll themselves: what they may cost, and how long they wait. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { type Answer, assertRefused, post } from "../../../support/api.ts";
import { eventually } from "../../../support/eventually.ts";
import { gateBench } from "../../../support/gate-bench.ts";
import { LeapingClock } from "../../../support/leaping-clock.ts";
import { metric, startRelay } from "../../../support/relay.ts";

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
  for (let i = 0; i < 1000; i++) void gate.takeSlot({ kind: "poll", waiting });
  await clock.advance(1000);
  assert.equal(gate.queued, 997);
  assert.ok(compared <= 5000, `${compared} comparisons`);
});

const POLL = {
  client: "WEB",
  endpoint: "get_live_chat",
  webVersion: "2.20261101.00.00",
  apiKey: "a".repeat(39),
};

it("a call whose turn does not come within a minute is refused, and may be made again", async () => {
  const clock = new LeapingClock();
  await using relay = await startRelay({ clock, settings: { RELAY_GATE_SPACING_MS: "600000" } });
  const poll = (token: string) => post(relay.url, "/v1/poll", { ...POLL, token });
  await poll("first");
  const second = poll("second");
  await eventually(1, () => metric(relay, 'relay_gate_queue{egress="direct"}'));
  clock.leap(60_000);
  const { status, body, headers } = await second;
  assert.deepEqual([status, headers.get("retry-after")], [503, "5"]);
  assert.deepEqual(body, {
    code: "CAPACITY",
    message: "Too many calls wait for YouTube: this one was not made within 60 s.",
  });
});

for (const [path, most, body] of [
  ["/v1/sessions", 200, (n: number) => ({ videoId: `made-up-${100 + n}` })],
  ["/v1/poll", 200, (n: number) => ({ ...POLL, token: `token ${n}` })],
  ["/v1/probe", 10, (n: number) => ({ videoId: `made-up-${100 + n}` })],
] as const) {
  it(`${path} lets ${most} callers wait; the next is refused at once, until one has gone`, async () => {
    await using relay = await startRelay({ settings: { RELAY_GATE_SPACING_MS: "600000" } });
    await post(relay.url, "/v1/poll", { ...POLL, token: "the gate starts one call" });
    const leaving = new AbortController();
    const refused: Answer[] = [];
    const asked = Array.from({ length: most + 10 }, (_, n) =>
      post(relay.url, path, body(n), leaving.signal).then(
        (answer) => refused.push(answer),
        () => {}, // it has left
      ),
    );
    await eventually(10, () => refused.length);
    for (const answer of refused) assertRefused(answer, 503, "CAPACITY");
    assert.equal(refused[0]?.headers.get("retry-after"), "5");
    leaving.abort();
    await Promise.all(asked);
    const queued = () => metric(relay, 'relay_gate_queue{egress="direct"}');
    await eventually(0, queued);
    const next = post(relay.url, path, body(most)).catch(() => {});
    await eventually(1, queued);
    await relay[Symbol.asyncDispose]();
    await next;
  });
}
