/** What an edge asks of its origin while that is in trouble, in virtual time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { VirtualRelay } from "../harness/virtual-relay.ts";
import { ChannelVisitor } from "./support/channel-visitor.ts";
import { virtualEdge } from "./support/virtual-edge.ts";
import { MINUTE, watched } from "./support/watched-channel.ts";

const CHAT = { kinds: ["text"], timeoutMs: 5000 } as const;
const VIDEO = "dQw4w9WgXcQ";
const PAGES = ["popout", "watch", "next"] as const;

describe("an edge", () => {
  it("closes a dead stream before it opens another one, for which the origin may have no place", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO).say(3);
    const edge = await virtualEdge(relay);
    const viewer = await relay.enter({ videoId: VIDEO }, edge.life.rooms);
    edge.line.silence(60_000);
    await relay.advance(90_000);
    assert.deepEqual(edge.streams, [1, 0, 1]);
    assert.equal(viewer.sink.closedBy, undefined);
  });

  it("continues reading old messages after the origin's store was away for a while", async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], page: 400 });
    chat.say(400);
    const edge = await virtualEdge(relay, { RELAY_EDGE_TAIL: "20" });
    await relay.enter({ videoId: VIDEO, backfill: 500 }, edge.life.rooms);
    const viewer = relay.visit({ videoId: VIDEO, lastEventId: 0 }, edge.life.rooms);
    viewer.sink.stall();
    await relay.when(viewer.entered);
    relay.disk.goneUntil = relay.clock.monotonic() + 8000;
    viewer.sink.readOn();
    await relay.advance(5000);
    assert.ok(viewer.ids.length < 400);
    await relay.advance(15_000);
    assert.deepEqual(
      viewer.ids,
      chat.ledger.map(({ id }) => id),
    );
  });

  it("asks for a chat behind a wall once for each viewer, however many edges are in a row", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_GRACE_MS: "1000" } });
    relay.upstream.chat(VIDEO).say(3);
    const first = await virtualEdge(relay);
    const second = await virtualEdge(relay, {}, () => first.life);
    const viewer = await relay.enter({ videoId: VIDEO });
    viewer.leave();
    await relay.advance(30_000);
    const wall = relay.upstream.fault({ on: PAGES, videoId: VIDEO, times: 1000, as: "bot" });
    for (const [viewers, rooms] of [relay.rooms, first.life.rooms, second.life.rooms].entries()) {
      assert.equal((await relay.refusal({ videoId: VIDEO }, rooms)).code, "NO_LIVE_CHAT");
      assert.equal(wall.fired, PAGES.length * (viewers + 1));
    }
  });

  it("sends the last messages of a channel's stream, even if it learns of the end first", async () => {
    const { relay, channel } = watched();
    const edges = [];
    for (let left = 6; left > 0; left--) edges.push(await virtualEdge(relay));
    const { chat } = channel.broadcast(VIDEO, { chat: CHAT });
    const viewers = edges.map(({ life }) => new ChannelVisitor(life));
    await relay.advance(MINUTE);
    for (const { line } of edges) line.latency = { leastMs: 1, jitterMs: 20_000 };
    chat.say(5);
    chat.end("reload-only");
    await relay.advance(MINUTE / 2);
    for (const { line } of edges) line.calm();
    await relay.advance(2 * MINUTE);
    for (const viewer of viewers) {
      assert.equal(viewer.news().at(-1), "channel waiting");
      assert.deepEqual(
        viewer.ids,
        chat.ledger.map(({ id }) => id),
      );
    }
  });
});
