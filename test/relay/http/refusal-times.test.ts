/** The time of a refusal of another channel's video: it shows neither stored chats nor earlier requests. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { startSimulator } from "../../../simulator/index.ts";
import { atCapacity } from "../../../src/protocol/capacity.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import { Door } from "../../harness/door.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { ask } from "../../support/api.ts";
import { startTestEdge } from "../../support/edge.ts";
import { startRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const [OTHER, ANOTHER] = ["other-video", "another-vid"];
const LATENCY_MS = 300;

/** A relay that shows `@mine` to everybody, whose upstream answers each page in `LATENCY_MS`. */
async function guarded() {
  const relay = new VirtualRelay({ settings: { RELAY_PUBLIC: "watch:@mine" } });
  relay.network.latency = { leastMs: LATENCY_MS, jitterMs: 0 };
  const other = relay.upstream.channel("@other");
  for (const videoId of [OTHER, ANOTHER]) other.broadcast(videoId, { chat: { kinds: ["text"] } }).chat.say(3);
  const { service: life, clock: scheduler, config } = relay;
  const door = await relay.when(Door.open(life, { settings: config.http.access, scheduler }));
  const gone = new AbortController();
  const open = () => assert.fail("it is not refused");
  /** How long an address waits for its refusal, in virtual milliseconds, and its code. */
  const refusalTo = async (address: string, videoId: string) => {
    const askedAt = scheduler.monotonic();
    const request = { path: `/v1/stream?videoId=${videoId}`, headers: {} };
    const error = await door.request(request, address, open, gone.signal).catch((reason) => reason);
    assert.ok(error instanceof RelayError, `${error}`);
    return [error.code, Math.round(scheduler.monotonic() - askedAt)];
  };
  return { relay, gone, refusalTo };
}

describe("a refusal of another channel's video takes as long", () => {
  it("whether or not somebody else has asked for it before", async () => {
    const { relay, refusalTo } = await guarded();
    const first = await relay.when(refusalTo("192.0.2.1", OTHER));
    assert.deepEqual(first, ["UNAUTHORIZED", LATENCY_MS]);
    await relay.advance(60_000);
    for (const address of ["192.0.2.2", "192.0.2.1"])
      assert.deepEqual(await relay.when(refusalTo(address, OTHER)), first);
    assert.equal(relay.upstream.requests.filter(({ kind }) => kind === "watch").length, 1);
  });

  it("whether or not somebody else asks for it at the same time", async () => {
    const { relay, refusalTo } = await guarded();
    const first = refusalTo("192.0.2.1", OTHER);
    await relay.advance(LATENCY_MS / 2);
    const second = refusalTo("192.0.2.2", OTHER);
    assert.deepEqual(await relay.when(second), await relay.when(first));
  });

  it("whether or not it is stored", async () => {
    const { relay, refusalTo } = await guarded();
    const viewer = await relay.enter({ videoId: OTHER });
    viewer.leave();
    await relay.store.setChannels(OTHER, ["@other"]);
    assert.deepEqual(await relay.store.getChannels(OTHER), ["@other"]);
    const never = await relay.when(refusalTo("192.0.2.1", ANOTHER));
    await relay.advance(60_000);
    assert.deepEqual(await relay.when(refusalTo("192.0.2.1", OTHER)), never);
  });

  it("also if the upstream fails", async () => {
    const { relay, refusalTo } = await guarded();
    relay.upstream.fault({ on: "watch", times: Number.POSITIVE_INFINITY, as: { status: 404 } });
    const first = await relay.when(refusalTo("192.0.2.1", OTHER));
    assert.deepEqual(first, ["UPSTREAM_ERROR", LATENCY_MS]);
    await relay.advance(1000);
    assert.deepEqual(await relay.when(refusalTo("192.0.2.2", OTHER)), first);
  });

  it("also if the page is never answered: until the time limit of an opening", async () => {
    const { relay, refusalTo } = await guarded();
    relay.upstream.fault({ on: "watch", times: Number.POSITIVE_INFINITY, as: "silent" });
    const first = await relay.when(refusalTo("192.0.2.1", OTHER));
    assert.deepEqual(first, ["UPSTREAM_ERROR", 7000]);
  });

  it("unless the service stops, or its client leaves", async () => {
    const { relay, gone, refusalTo } = await guarded();
    await relay.when(refusalTo("192.0.2.1", OTHER));
    const left = refusalTo("192.0.2.2", OTHER);
    await relay.advance(10);
    gone.abort(atCapacity("viewers"));
    assert.deepEqual(await relay.when(left), ["CAPACITY", 10]);
    const next = await guarded();
    await next.relay.when(next.refusalTo("192.0.2.1", OTHER));
    const refused = next.refusalTo("192.0.2.2", OTHER);
    void next.relay.service.stop();
    assert.deepEqual(await next.relay.when(refused), ["UNAUTHORIZED", 0]);
  });

  it("at an edge, whatever its origin knows", async () => {
    await using upstream = await startSimulator();
    const other = upstream.channel("@other");
    other.broadcast(OTHER, { chat: { kinds: ["text"] } }).chat.say(3);
    await using origin = await startRelay({ upstream, settings: { RELAY_PUBLIC: "watch" } });
    await using stream = await Stream.open(origin.url, { videoId: OTHER });
    await stream.untilMessages(3);
    upstream.fault({ on: "watch", times: Number.POSITIVE_INFINITY, as: { delayMs: LATENCY_MS } });
    const { body } = await ask(origin.url, `/v1/videos/${OTHER}?channels=@mine,@other`);
    assert.deepEqual(body, { videoId: OTHER, channels: [other.channelId, "@other"] });
    await using edge = await startTestEdge(origin.url, { RELAY_PUBLIC: "watch:@mine" });
    for (const time of ["first", "second"]) {
      const askedAt = performance.now();
      const { status } = await ask(edge.url, `/v1/messages?videoId=${OTHER}`);
      assert.equal(status, 401);
      const tookMs = performance.now() - askedAt;
      assert.ok(tookMs > LATENCY_MS - 5, `the ${time} refusal took ${tookMs} ms`);
    }
  });
});
