/** The watch of a channel at an edge, by its origin's answers alone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OriginChannelWatch } from "../../../src/origin/channel-watch.ts";
import type { Origin } from "../../../src/origin/origin.ts";
import { OriginAway } from "../../../src/origin/origin-away.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const CHANNEL = "@somebody";
const LIVE = "live-video1";
const OTHER = "other-video";
const never = new AbortController().signal;

/** An origin's stream of the channel that says these lines, and then nothing more. */
async function* saying(...lines: string[]): AsyncGenerator<string[]> {
  yield lines;
  await Promise.withResolvers<never>().promise;
}

function watch(clock: FakeClock, origin: Partial<Record<keyof Origin, () => unknown>>) {
  const parts = { origin: origin as unknown as Origin, clock, telemetry: new Telemetry(silentLog) };
  return new OriginChannelWatch(CHANNEL, parts, never);
}

describe("the watch of a channel at an edge", () => {
  it("opens the stream again as late as the origin asks for", async () => {
    const clock = new FakeClock();
    const askedAt: number[] = [];
    watch(clock, {
      channel: async () => {
        askedAt.push(clock.monotonic());
        throw new RelayError("RATE_LIMITED", "Wait.", { retryAfterMs: 20_000 });
      },
    });
    await clock.advance(45_000);
    assert.deepEqual(askedAt, [0, 20_000, 40_000]);
  });

  it("shows a stream again half a minute after the edge could not read it", async () => {
    const state = { event: "channel", channel: CHANNEL, state: "live", videoId: LIVE };
    const lines = () => Object.assign(saying(JSON.stringify(state)), { [Symbol.dispose]: () => {} });
    const clock = new FakeClock();
    const watched = watch(clock, { channel: async () => lines() });
    await clock.advance(0);
    assert.equal(watched.broadcasts.state?.videoId, LIVE);
    watched.failed(LIVE, new Error("The room failed."));
    assert.deepEqual(watched.broadcasts.state, {
      channel: CHANNEL,
      state: "waiting",
      reason: "The room failed",
    });
    await clock.advance(29_000);
    assert.equal(watched.broadcasts.state?.videoId, undefined);
    await clock.advance(1000);
    assert.equal(watched.broadcasts.state?.videoId, LIVE);
  });

  it("lets those ask again in five seconds for whom the origin could not say whose a video is", async () => {
    const clock = new FakeClock();
    const watched = watch(clock, {
      channel: async () => Promise.withResolvers<never>().promise,
      range: async () => Promise.reject(new OriginAway("it does not answer")),
    });
    assert.equal(await watched.has(OTHER, 0, new AbortController().signal), undefined);
    const { changes } = watched.broadcasts;
    let isAnnounced = false;
    void watched.broadcasts.changedSince(changes, never).then(() => {
      isAnnounced = true;
    });
    await clock.advance(4000);
    assert.equal(isAnnounced, false);
    await clock.advance(1000);
    assert.equal(isAnnounced, true);
  });
});
