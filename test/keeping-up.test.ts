/** The upstream keeps about ten seconds of a chat: how soon a room polls again, and that it misses nothing for it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { waitAfter } from "../src/rooms/poller.ts";
import { startSimulator } from "../src/simulator/index.ts";
import { POSITION } from "./support/position.ts";
import { startRelay } from "./support/relay.ts";
import { temporaryFile } from "./support/store-subject.ts";
import { assertConsecutive, Stream } from "./support/stream.ts";

const VIDEO = "keeping-up-";

describe("the wait until the next poll", () => {
  const limits = {
    pollMinMs: 500,
    pollMaxMs: 15_000,
    maxFailures: 5,
    failingMs: 0,
    quietMs: 60_000,
    overdueMs: 5000,
  };
  const rows: [string, "live" | "replay", number | undefined, number, number][] = [
    ["is what the upstream asks for", "live", 5000, 0, 5000],
    ["is never below the minimum", "live", 10, 0, 500],
    ["is never above the maximum", "live", 60_000, 0, 15_000],
    ["is a second where a live chat asks for none", "live", undefined, 0, 1000],
    ["is the minimum where a replay asks for none", "replay", undefined, 0, 500],
    ["is left alone by an answer of 75 actions", "live", 10_000, 75, 10_000],
    ["is shortened in proportion by a fuller one", "live", 10_000, 150, 5000],
    ["is shortened from the clamped wait", "live", 60_000, 150, 7500],
    ["is shortened down to the minimum", "live", 1000, 1000, 500],
    ["of a replay is not shortened", "replay", 4000, 300, 4000],
  ];
  for (const [what, kind, timeoutMs, actionCount, expected] of rows) {
    it(what, () => {
      const chatType = kind === "live" ? "liveChatRenderer" : "liveChatReplayRenderer";
      assert.equal(
        waitAfter({ timeoutMs, actionCount, position: { ...POSITION, chatType } }, limits),
        expected,
      );
    });
  }
});

describe("a chat too fast for the interval that its upstream asks for", () => {
  /** Says so many actions right after each poll; gives the times between polls and what was lost. */
  async function polled(perPoll: number, holdsMessages: number) {
    await using relay = await startRelay({ settings: { RELAY_POLL_MAX_MS: "15000" } });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 300, holdsMessages });
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.until(() => viewer.frames.length > 0);
    const times: number[] = [];
    for (let poll = 0; poll < 6; poll++) {
      chat.say(perPoll);
      const [request] = await relay.upstream.requested("get_live_chat", { finished: true });
      times.push(request?.at ?? Number.NaN);
    }
    const newest = chat.ledger.at(-1)?.id;
    await viewer.until(() => viewer.ids.at(-1) === newest);
    assertConsecutive(viewer.cursors, viewer.init.cursor);
    const intervals = times.slice(2).map((at, i) => at - (times[i + 1] ?? 0));
    return {
      median: intervals.toSorted((a, b) => a - b)[2] ?? Number.NaN,
      lost: 6 * perPoll - viewer.messages.length,
    };
  }

  it("is polled sooner, in proportion to how full its answers are", async () => {
    const quiet = await polled(10, 200);
    const full = await polled(150, 200);
    assert.ok(quiet.median > 290, `a quiet chat was polled every ${quiet.median} ms`);
    assert.ok(
      full.median > 140 && full.median < 0.85 * quiet.median,
      `${full.median} ms, not half of ${quiet.median}`,
    );
    assert.deepEqual([quiet.lost, full.lost], [0, 0]);
  });

  it("loses what the upstream no longer holds, and only that", async () => {
    assert.equal((await polled(250, 200)).lost, 6 * 50);
  });
});

describe("an answer that comes so late that the upstream may no longer hold all that was said", () => {
  const SAID = 30;

  /** Says much while the room may not call; `holds` and `page`: how much the upstream still gives, and shows. */
  async function afterCooldown(holds: number, page: number, overdueMs = 200) {
    await using relay = await startRelay({ overdueMs, settings: { RELAY_COOLDOWN_MS: "500" } });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20, holdsMessages: holds, page });
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.until(() => viewer.frames.length > 0);
    const throttled = relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
    while (throttled.fired === 0) await relay.upstream.requested("get_live_chat", { finished: true });
    const said = chat.say(SAID);
    await viewer.until(() => viewer.ids.at(-1) === said.at(-1));
    await relay.upstream.requested("get_live_chat", { count: 3 });
    assertConsecutive(viewer.cursors, viewer.init.cursor);
    const pages = relay.upstream.requests.filter(({ kind }) => kind === "popout").length;
    return { ids: viewer.ids, said, pages };
  }

  const rows: [
    what: string,
    holds: number,
    page: number,
    given: number,
    pages: number,
    overdueMs?: number,
  ][] = [
    ["is completed from the chat's page, in the order in which it was said", 5, 50, SAID, 2],
    ["is completed as far as the page reaches back", 5, 20, 20, 2],
    ["stands first where it reaches further back than the page", 20, 5, 20, 2],
    ["is left alone where it is not that late", 5, 50, 5, 1, 60_000],
  ];
  for (const [what, holds, page, given, pages, overdueMs] of rows) {
    it(what, async () => {
      const seen = await afterCooldown(holds, page, overdueMs);
      assert.deepEqual(seen.ids, seen.said.slice(-given));
      assert.equal(seen.pages, pages);
    });
  }

  it("is completed after a restart too: a checkpoint tells how old it is", async (t) => {
    await using upstream = await startSimulator();
    const chat = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20, holdsMessages: 5, page: 50 });
    const settings = { RELAY_STORE: `sqlite:${await temporaryFile(t)}` };
    let lastEventId: number;
    {
      await using relay = await startRelay({ upstream, settings });
      await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
      chat.say(1);
      lastEventId = (await viewer.untilMessages(1))[0]?.cursor ?? Number.NaN;
    }
    const said = chat.say(SAID);
    await using relay = await startRelay({ upstream, settings, overdueMs: 1 });
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO, lastEventId });
    await viewer.untilMessages(SAID);
    assert.deepEqual(viewer.ids, said);
    assertConsecutive(viewer.cursors, lastEventId);
  });
});
