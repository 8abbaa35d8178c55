/** The messages that the page of a late answer shows beyond it, until the next answer comes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answeredNow, startedNow } from "../../../src/base/clock.ts";
import type { CompleteAnswer } from "../../../src/reading/fresh-pages.ts";
import type { ReadBatch } from "../../../src/reading/gap.ts";
import { ReadingTimeline } from "../../../src/reading/timeline.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import type { AboveChat } from "../../../src/upstream/readers/above-chat.ts";
import type { Item } from "../../../src/upstream/readers/reader.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const INTERVAL_MS = 1000;
const WINDOW_MS = 10_000;
const ABOVE = { banners: [], polls: [] } as unknown as AboveChat;

type Sent = readonly [id: string, type?: "chat" | "paid"];

const items = (sent: readonly Sent[]) =>
  sent.map(([id, type = "chat"]) => ({ message: { id, type, details: {} } })) as unknown as Item[];
const idsOf = ({ items: read }: ReadBatch) => read.map(({ message }) => message.id);

/** The batches of an answer that comes this long after one whose page shows messages beyond it. */
async function after(waitMs: number, beyond: readonly Sent[], answered: readonly Sent[], above?: AboveChat) {
  const clock = new FakeClock();
  const read = (sent: readonly Sent[], more: object = {}) =>
    ({ items: items(sent), ...answeredNow(startedNow(clock), clock), ...more }) as unknown as CompleteAnswer;
  const telemetry = new Telemetry(silentLog);
  const parts = { windowMs: WINDOW_MS, isReplay: false, clock, telemetry };
  const timeline = new ReadingTimeline({ ...read([]), opening: { items: [], sentAt: 0 } }, parts);
  const late = read([["a"]], { beyond: items(beyond) });
  timeline.observe(late, INTERVAL_MS);
  timeline.keepBeyond(late);
  await clock.advance(waitMs);
  return timeline.observe(read(answered, { above }), INTERVAL_MS);
}

describe("messages that a page shows beyond its answer", () => {
  it("are merged with an answer in time, and the banners and polls are the answer's", async () => {
    const [batch, ...others] = await after(INTERVAL_MS, [["c"]], [["b"], ["c"], ["d"]], ABOVE);
    assert.deepEqual([batch && idsOf(batch), others.length], [["b", "c", "d"], 0]);
    assert.deepEqual([batch?.suspectedGap, batch?.above], [undefined, ABOVE]);
  });

  for (const type of ["chat", "paid"] as const)
    it(`come before the gap of a late answer, if they are ${type} messages`, async () => {
      const [beyond, answer] = await after(60_000, [["c", type]], [["x"], ["y"]], ABOVE);
      assert.deepEqual([beyond && idsOf(beyond), beyond?.suspectedGap], [["c"], undefined]);
      assert.deepEqual([answer && idsOf(answer), answer?.above], [["x", "y"], ABOVE]);
      assert.equal(answer?.suspectedGap?.reason, "down");
    });

  it("prove that a late answer misses nothing, if it has a chat message of theirs", async () => {
    const batches = await after(60_000, [["c"]], [["c"], ["x"]]);
    assert.deepEqual(batches.map(idsOf), [["c", "x"]]);
    assert.equal(batches[0]?.suspectedGap, undefined);
  });

  it("prove nothing by a paid message, which a ticker may show again", async () => {
    const [, answer] = await after(60_000, [["p", "paid"]], [["p", "paid"], ["x"]]);
    assert.equal(answer?.suspectedGap?.reason, "down");
  });
});
