/** The watch of a channel at an edge, by its origin's answers alone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import type { Origin } from "../../../src/origin/origin.ts";
import { OriginChannelWatch } from "../../../src/origin/origin-channel-watch.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import { Watchers } from "../../../src/rooms/channels/watchers.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const CHANNEL = "@somebody";
const LIVE = "live-video1";

/** An origin's stream of the channel that says these lines, and then nothing more. */
async function* saying(...lines: string[]): AsyncGenerator<string[]> {
  yield lines;
  await Promise.withResolvers<never>().promise;
}

function watch(clock: FakeClock, origin: Partial<Record<keyof Origin, () => unknown>>, log = silentLog) {
  const parts = { origin: origin as unknown as Origin, clock, telemetry: new Telemetry(log) };
  const watchers = new Watchers(new AbortController().signal, () => {});
  return new OriginChannelWatch(CHANNEL, parts, watchers).join();
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

  for (const isSlow of [false, true])
    it(`shows a stream again that goes on, though a viewer reads its end ${isSlow ? "later" : "earlier"}`, async () => {
      const line = (state: string, videoId?: string) =>
        JSON.stringify({ event: "channel", channel: CHANNEL, state, videoId });
      const lines = Object.assign(saying(line("live", LIVE), line("waiting"), line("live", LIVE)), {
        [Symbol.dispose]: () => {},
      });
      const clock = new FakeClock();
      const watched = watch(clock, { channel: async () => lines });
      const { broadcasts } = watched;
      if (!isSlow) broadcasts.onChange(() => broadcasts.state?.state === "waiting" && watched.ended(LIVE));
      await clock.advance(0);
      if (isSlow) watched.ended(LIVE);
      assert.deepEqual([broadcasts.newest.videoId, broadcasts.newest.isReopened], [LIVE, true]);
      watched.ended(LIVE);
      assert.equal(broadcasts.newest.next, undefined);
    });

  it("logs the stack of its own bug, and waits", async () => {
    const lines: string[] = [];
    const broken = async () => {
      throw new TypeError("a bug");
    };
    const clock = new FakeClock();
    const log = pino({}, { write: (line) => lines.push(line) });
    const { broadcasts } = watch(clock, { channel: broken }, log);
    await clock.advance(0);
    const [line] = lines.map((text) => JSON.parse(text));
    assert.match(line.err.stack, /^TypeError: a bug\n/);
    assert.deepEqual([line.channel, broadcasts.state?.state], [CHANNEL, "waiting"]);
  });
});
