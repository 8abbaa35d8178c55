/**
 * The upstream keeps about ten seconds of a chat: how soon a room polls again, and that it misses nothing for
 * it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answeredNow, startedNow } from "../../../src/base/clock.ts";
import { intervalAfter } from "../../../src/reading/interval-rules.ts";
import { UnreadTime } from "../../../src/reading/unread-time.ts";
import { WINDOW_MS } from "../../../src/upstream/egress/chat-load.ts";
import type { Item } from "../../../src/upstream/readers/reader.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { failAlways } from "../../support/opening.ts";
import { POSITION } from "../../support/position.ts";
import { assertConsecutive } from "../../support/stream.ts";
import { intervals, requestsOf, virtualRoom } from "../../support/virtual-room.ts";

const VIDEO = "keeping-up-";

describe("the wait until the next poll", () => {
  const limits = { pollMinMs: 500, pollMaxMs: 15_000 };
  /** As many messages, said at a rate a second. */
  const items = (count: number, rate: number, fromSecond = 0) =>
    Array.from({ length: count }, (_, i) => ({
      message: {
        details: { publishedAt: new Date(Date.UTC(2026, 0) + 1000 * (fromSecond + i / rate)).toISOString() },
      },
    })) as unknown as Item[];
  const shownAgain = items(3, 1000).map((item): Item => ({ ...item, isInTicker: true }));
  const rows: [string, "live" | "replay", number | undefined, number, number, items?: Item[]][] = [
    ["is the one that the upstream requests", "live", 4000, 0, 4000],
    ["is never below the minimum", "live", 10, 0, 500],
    ["is never above the maximum", "live", 60_000, 0, 13_500],
    ["is a second if a live chat requests none", "live", undefined, 0, 1000],
    ["is the minimum if a replay requests none", "replay", undefined, 0, 500],
    ["is a little shorter than a long one that a live chat requests", "live", 10_000, 0, 9000],
    ["is not shorter for a replay", "replay", 10_000, 0, 10_000],
    ["is unchanged after an answer of 75 actions", "live", 4000, 75, 4000],
    ["is shortened in proportion after a fuller answer", "live", 10_000, 150, 5000],
    ["is shortened from the clamped wait", "live", 60_000, 150, 7500],
    ["is shortened down to the minimum", "live", 1000, 1000, 500],
    ["is not shortened for a replay", "replay", 4000, 300, 4000, items(300, 100)],
    [
      "is as short as the rate of its last messages makes an answer full",
      "live",
      5000,
      20,
      1875,
      items(20, 40),
    ],
    ["is left alone by a slow rate", "live", 5000, 60, 4500, items(60, 12)],
    ["is left alone by a few messages said at once", "live", 5000, 19, 4500, items(19, 1000)],
    ["is shortened in proportion if all messages have one time", "live", 4000, 150, 2000, items(150, 1e6)],
    ["is left alone by many messages that have one time", "live", 4000, 60, 4000, items(60, 1e6)],
    ["does not go by what tickers show again", "live", 5000, 21, 4500, [...items(19, 1000), ...shownAgain]],
    ["goes by the newest messages", "live", 5000, 50, 1875, [...items(20, 40, 60), ...items(30, 1)]],
  ];
  for (const [what, kind, timeoutMs, actionCount, expected, said = []] of rows) {
    it(what, () => {
      const chatType = kind === "live" ? "liveChatRenderer" : "liveChatReplayRenderer";
      const answer = { timeoutMs, actionCount, position: { ...POSITION, chatType }, items: said } as const;
      assert.equal(Math.round(intervalAfter(answer, limits)), expected);
    });
  }

  it("runs from the start of a poll to the next one's, not from its answer or the page after it", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_CHAT_VIEW: "top" } }); // its page needs no other call
    relay.upstream.chat(VIDEO, { timeoutMs: 9000 });
    failAlways(relay, "get_live_chat", { delayMs: 1000 });
    failAlways(relay, "popout", { delayMs: 4000 });
    await relay.enter({ videoId: VIDEO });
    await relay.advance(40_000);
    relay.computer.sleptMs = 60_000; // the next answer is late, and asks for the page
    await relay.advance(40_000);
    assert.equal(requestsOf(relay, "popout").length, 2);
    assert.deepEqual(new Set(intervals(relay, "get_live_chat")), new Set([8100]));
  });
});

describe("a chat too fast for the interval that its upstream requests", () => {
  /**
   * Says this many actions right after each poll; returns the times between polls, and the number of lost
   * messages.
   */
  async function polled(perPoll: number) {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 4000, holdsMessages: 200 });
    const viewer = await relay.enter({ videoId: VIDEO });
    for (let poll = 0; poll < 6; poll++) {
      chat.say(perPoll);
      await relay.requested("get_live_chat", { finished: true });
    }
    const newest = chat.ledger.at(-1)?.id;
    await viewer.until(() => viewer.ids.at(-1) === newest);
    assertConsecutive(viewer.cursors, viewer.init.cursor);
    const afterThese = intervals(relay, "get_live_chat").slice(1);
    return { intervals: [...new Set(afterThese)], lost: 6 * perPoll - viewer.messages.length };
  }

  it("is polled sooner, in proportion, if many messages come at once", async () => {
    assert.deepEqual(await polled(10), { intervals: [4000], lost: 0 });
    assert.deepEqual(await polled(150), { intervals: [2000], lost: 0 });
  });

  it("loses only messages that the upstream no longer holds", async () => {
    assert.equal((await polled(250)).lost, 6 * 50);
  });
});

describe("an answer that comes after the upstream may have dropped messages", () => {
  const SAID = 30;
  const LATE_MS = 20_000;

  /**
   * Says much while the room may not call; `holds` and `page`: how much the upstream still gives, and shows.
   */
  async function afterCooldown(holds: number, page: number, cooldownMs = LATE_MS) {
    const settings = { RELAY_COOLDOWN_MS: String(cooldownMs) };
    const { relay, chat, viewer } = await virtualRoom(1, settings, { holdsMessages: holds, page });
    const throttled = relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
    await relay.until(() => throttled.fired === 1);
    const said = chat.say(SAID);
    await relay.advance(2 * LATE_MS);
    assertConsecutive(viewer.cursors, viewer.init.cursor);
    const pages = requestsOf(relay, "popout").length;
    const ids = viewer.messages.slice(1).map(({ message }) => (message.type === "gap" ? "gap" : message.id));
    return { ids, said, pages };
  }

  const rows: [what: string, holds: number, page: number, given: number, pages: number, pauseMs?: number][] =
    [
      ["is completed from the chat's page, in the order of sending", 5, 50, SAID, 2],
      ["is completed as far as the page reaches back, behind a gap", 5, 20, 20, 2],
      ["comes first if it reaches further back than the page, behind a gap", 20, 5, 20, 2],
      ["is not completed if it is not that late", 5, 50, 5, 1, 8000],
    ];
  for (const [what, holds, page, given, pages, pauseMs] of rows) {
    it(what, async () => {
      const seen = await afterCooldown(holds, page, pauseMs);
      const gap = what.endsWith("a gap") ? ["gap"] : [];
      assert.deepEqual(seen.ids, [...gap, ...seen.said.slice(-given)]);
      assert.equal(seen.pages, pages);
    });
  }

  it("is completed after a restart too, by the age in the checkpoint", async () => {
    const scenario = { holdsMessages: 5, page: 50 };
    const { relay, chat, viewer, open } = await virtualRoom(1, {}, scenario, { hasDisk: true });
    const [lastEventId] = viewer.cursors;
    assert.ok(lastEventId);
    await relay.stop();
    const said = chat.say(SAID);
    await relay.advance(LATE_MS);
    relay.start();
    const again = await open({ lastEventId });
    await again.untilMessages(SAID);
    assert.deepEqual(again.ids, said);
    assertConsecutive(again.cursors, lastEventId);
  });

  it("counts the time while the computer slept, but not a wall clock that was set", () => {
    const clock = new FakeClock();
    const called = () => answeredNow(startedNow(clock), clock);
    const unreadTime = new UnreadTime(WINDOW_MS, clock, called());
    const late = () => {
      const answer = called();
      const span = unreadTime.lateBy(answer, 2000);
      unreadTime.answered(answer);
      return span;
    };
    const sinceMs = clock.now();
    clock.fallAsleep(30_000);
    assert.deepEqual(late(), { ms: 30_000, sinceMs });
    clock.jump(30_000);
    assert.equal(late(), undefined);
    clock.fallAsleep(WINDOW_MS);
    assert.equal(late(), undefined);
  });
});
