/** Readers that poll, while they are between two polls: for how long they count, and what their room does. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PollingReaders } from "../../../src/serving/polling-readers.ts";
import { eventually } from "../../support/eventually.ts";
import { readLog } from "../../support/log.ts";
import { metric, roomsIn, startRelay } from "../../support/relay.ts";

const VIDEO = "polled-room";

describe("readers between two polls", () => {
  it("count until they ask again, ten seconds at most", () => {
    const readers = new PollingReaders();
    readers.asked();
    assert.equal(readers.count, 0);
    for (const at of [500, 900, 5000]) readers.answered(at);
    assert.equal(readers.count, 3);
    readers.asked();
    assert.equal(readers.count, 2);
    assert.equal(readers.expire(9999), false);
    assert.equal(readers.expire(10_500), true);
    assert.equal(readers.count, 1);
    assert.equal(readers.expire(14_999), false);
    assert.equal(readers.expire(15_000), true);
    assert.equal(readers.count, 0);
    assert.equal(readers.expire(99_000), false);
  });

  it("keep their room open", async () => {
    await using relay = await startRelay({ settings: { RELAY_GRACE_MS: "1" } });
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
    await readLog(relay.url, VIDEO, { offset: "-1", live: "long-poll" });
    await eventually(0, async () => (await metric(relay, "relay_viewers")) ?? 0);
    await roomsIn(relay, "polling");
  });
});
