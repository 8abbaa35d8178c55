/** A service whose store's disk has space for a small write, and none for the messages of a chat. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Disk } from "../chaos/disk.ts";
import { longActions } from "../chaos/long-messages.ts";
import { ask, assertRefused } from "../support/api.ts";
import { eventually } from "../support/eventually.ts";
import { startRelay } from "../support/relay.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "no-space-01";

describe("a service on a nearly full disk", () => {
  it("is unready from a chat that cannot be opened until there is space, and then opens it", async (t) => {
    using disk = new Disk(16 << 20);
    if (!disk.canFill) return t.skip("mounting was refused");
    await using relay = await startRelay({ settings: { RELAY_STORE: disk.storeUrl } });
    const { url, upstream } = relay;
    const readiness = async () => (await ask(url, "/readyz")).body;
    assert.deepEqual(await readiness(), { ready: true, reasons: [] });
    disk.fill(128 << 10);
    upstream.chat(VIDEO, { page: 100 }).say(longActions(0, 50));
    for (let attempt = 0; attempt < 3; attempt++) {
      assertRefused(await ask(url, `/v1/stream?videoId=${VIDEO}`), 503, "STORE_UNAVAILABLE");
      assert.deepEqual(await readiness(), {
        ready: false,
        reasons: ["the store does not work: the disk is full"],
      });
    }
    disk.free();
    await eventually(JSON.stringify({ ready: true, reasons: [] }), async () =>
      JSON.stringify(await readiness()),
    );
    await using stream = await Stream.open(url, { videoId: VIDEO, backfill: 50 });
    await stream.untilMessages(50);
  });
});
