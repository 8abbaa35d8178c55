/** Readers that poll, while they are between two polls: for how long they count, and what their room does. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BetweenPolls } from "../../../src/serving/between-polls.ts";
import { eventually } from "../../support/eventually.ts";
import { readLog } from "../../support/log.ts";
import { metric, roomsIn, startRelay } from "../../support/relay.ts";

const VIDEO = "polled-room";

describe("readers between two polls", () => {
  it("count until they ask again, ten seconds at most", () => {
    const between = new BetweenPolls();
    between.asked();
    assert.equal(between.count, 0);
    for (const at of [500, 900, 5000]) between.answered(at);
    assert.equal(between.count, 3);
    between.asked();
    assert.equal(between.count, 2);
    assert.equal(between.expire(9999), false);
    assert.equal(between.expire(10_500), true);
    assert.equal(between.count, 1);
    assert.equal(between.expire(14_999), false);
    assert.equal(between.expire(15_000), true);
    assert.equal(between.count, 0);
    assert.equal(between.expire(99_000), false);
  });

  it("keep their room open", async () => {
    await using relay = await startRelay({ settings: { RELAY_GRACE_MS: "1" } });
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
    await readLog(relay.url, VIDEO, { offset: "-1", live: "long-poll" });
    await eventually(0, async () => (await metric(relay, "relay_viewers")) ?? 0);
    await roomsIn(relay, "polling");
  });
});
