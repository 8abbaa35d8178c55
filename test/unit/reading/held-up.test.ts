/** The reason of a gap before a late answer: what held up the reading last. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answeredNow, startedNow } from "../../../src/base/clock.ts";
import { ReadingTimeline } from "../../../src/reading/timeline.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import type { Page, PollAnswer } from "../../../src/upstream/live-chat.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const INTERVAL_MS = 1000;
const LATE_MS = 60_000;

type Step = "throttled" | "unreachable" | "answered" | "token refused" | "late";

const STEPS: readonly (readonly [steps: readonly Step[], reason: string])[] = [
  [[], "down"],
  [["throttled"], "throttled"],
  [["throttled", "unreachable"], "unreachable"],
  [["unreachable", "throttled"], "throttled"],
  [["throttled", "answered"], "down"],
  [["token refused"], "unreachable"],
  [["throttled", "token refused"], "unreachable"],
  [["late", "token refused"], "down"],
  [["throttled", "late", "token refused"], "throttled"],
];

/** The reading of a chat in which nobody has said anything. */
function begin() {
  const clock = new FakeClock();
  /** An answer or a page without messages, which comes at this moment. */
  const read = () =>
    ({ items: [], ...answeredNow(startedNow(clock), clock) }) as unknown as PollAnswer & Page;
  const settings = { windowMs: 10_000, isReplay: false };
  const timeline = new ReadingTimeline(
    { ...read(), opening: { items: [], sentAt: 0 } },
    { ...settings, clock, telemetry: new Telemetry(silentLog) },
  );
  return { clock, timeline, read };
}

describe("the reason of a gap is what held up the reading last", () => {
  for (const [steps, reason] of STEPS) {
    it(`${steps.join(", then ") || "nothing"}: ${reason}`, async () => {
      const { clock, timeline, read } = begin();
      for (const step of steps) {
        if (step === "late") await clock.advance(LATE_MS);
        else if (step === "token refused") timeline.failed("expired", INTERVAL_MS);
        else if (step === "answered") timeline.observe(read(), INTERVAL_MS);
        else timeline.failed(step === "throttled" ? step : "unusable", INTERVAL_MS);
      }
      await clock.advance(LATE_MS);
      const [batch] = timeline.observe(read(), INTERVAL_MS);
      assert.equal(batch?.suspectedGap?.reason, reason);
    });
  }
});

for (const [token, wasMute, isGap] of [
  ["that was mute for long", true, true],
  ["that was refused", false, false],
] as const) {
  it(`a page that soon follows a token ${token} ${isGap ? "may miss" : "misses no"} messages of a quiet chat`, async () => {
    const { clock, timeline, read } = begin();
    await clock.advance(3000);
    timeline.keepPage(read(), wasMute);
    const [batch] = timeline.pagesAlone();
    assert.equal(batch?.suspectedGap !== undefined, isGap);
  });
}
