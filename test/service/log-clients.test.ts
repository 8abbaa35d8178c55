/** Clients that nobody here wrote read the log of a video: that of the protocol, and an EventSource. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EventSource } from "eventsource";
import { eventually } from "../support/eventually.ts";
import { cursorsOf, cuttingWay, readAll, talking, VIDEO } from "../support/talking-log.ts";

describe("the protocol's own client", () => {
  it("reads a log up to now over connections that are cut after any number of bytes", async (t) => {
    const { relay } = await talking(t);
    const way = await cuttingWay(t, relay.url);
    assert.deepEqual(await readAll(`${way.url}/v1/log/${VIDEO}`, false), await cursorsOf(relay));
    assert.ok(way.cuts() > 20, `${way.cuts()}`);
  });

  for (const live of ["long-poll", "sse"] as const)
    it(`reads a log by ${live} to its end, over connections that are cut`, async (t) => {
      const { relay, said, viewer } = await talking(t);
      const way = await cuttingWay(t, relay.url);
      const reading = readAll(`${way.url}/v1/log/${VIDEO}`, live);
      await eventually(true, async () => way.cuts() > 20);
      said.say(10);
      await viewer.untilMessages(40);
      said.end("continuations-absent");
      assert.deepEqual(await reading, await cursorsOf(relay));
      assert.equal((await cursorsOf(relay)).length, 40);
    });
});

describe("a log", () => {
  it("is read by an EventSource, which comes back with its own offset", async (t) => {
    const { relay, said, viewer } = await talking(t, { RELAY_LOG_SSE_MS: "500" });
    const cursors: number[] = [];
    const closed = Promise.withResolvers<void>();
    const reopened = Promise.withResolvers<void>();
    let source: EventSource;
    const open = (offset: string) => {
      source = new EventSource(`${relay.url}/v1/log/${VIDEO}?live=sse&offset=${offset}`);
      let next = offset;
      source.addEventListener("data", ({ data }) =>
        cursors.push(...(JSON.parse(data) as { cursor: number }[]).map(({ cursor }) => cursor)),
      );
      source.addEventListener("control", ({ data }) => {
        const { streamNextOffset, streamClosed } = JSON.parse(data);
        next = streamNextOffset;
        if (streamClosed) closed.resolve();
      });
      source.addEventListener("error", () => {
        source.close();
        open(next);
        source.addEventListener("open", () => reopened.resolve());
      });
    };
    open("-1");
    t.after(() => source.close());
    await reopened.promise;
    said.say(10);
    await viewer.untilMessages(40);
    said.end("continuations-absent");
    await closed.promise;
    assert.deepEqual(cursors, await cursorsOf(relay));
  });
});
