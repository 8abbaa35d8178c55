/** The upstream keeps about ten seconds of a chat: how soon a room polls again, and that it misses nothing for it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { waitAfter } from "../src/reading/interval.ts";
import { Lateness, WINDOW_MS } from "../src/reading/lateness.ts";
import { startSimulator } from "../src/simulator/index.ts";
import type { Item } from "../src/upstream/readers/reader.ts";
import { FakeClock } from "./support/fake-clock.ts";
import { failAlways, openStream } from "./support/opening.ts";
import { POSITION } from "./support/position.ts";
import { startRelay } from "./support/relay.ts";
import { temporaryFile } from "./support/store-subject.ts";
import { assertConsecutive, Stream } from "./support/stream.ts";

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
    ["is what the upstream asks for", "live", 4000, 0, 4000],
    ["is never below the minimum", "live", 10, 0, 500],
    ["is never above the maximum", "live", 60_000, 0, 13_500],
    ["is a second where a live chat asks for none", "live", undefined, 0, 1000],
    ["is the minimum where a replay asks for none", "replay", undefined, 0, 500],
    ["is a little shorter than a long one that is asked for", "live", 10_000, 0, 9000],
    ["of a replay is not", "replay", 10_000, 0, 10_000],
    ["is left alone by an answer of 75 actions", "live", 4000, 75, 4000],
    ["is shortened in proportion by a fuller one", "live", 10_000, 150, 5000],
    ["is shortened from the clamped wait", "live", 60_000, 150, 7500],
    ["is shortened down to the minimum", "live", 1000, 1000, 500],
    ["of a replay is not shortened", "replay", 4000, 300, 4000, items(300, 100)],
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
    ["does not go by what tickers show again", "live", 5000, 21, 4500, [...items(19, 1000), ...shownAgain]],
    ["goes by the newest messages", "live", 5000, 50, 1875, [...items(20, 40, 60), ...items(30, 1)]],
  ];
  for (const [what, kind, timeoutMs, actionCount, expected, said = []] of rows) {
    it(what, () => {
      const chatType = kind === "live" ? "liveChatRenderer" : "liveChatReplayRenderer";
      const answer = { timeoutMs, actionCount, position: { ...POSITION, chatType }, items: said } as const;
      assert.equal(Math.round(waitAfter(answer, limits)), expected);
    });
  }

  it("runs from the start of one poll to the start of the next, however long answer and page take", async () => {
    await using relay = await startRelay({ windowMs: -1000, settings: { RELAY_POLL_MAX_MS: "15000" } });
    relay.upstream.chat(VIDEO, { timeoutMs: 400 });
    failAlways(relay, "get_live_chat", { delayMs: 250 });
    failAlways(relay, "popout", { delayMs: 100 }); // the second answer is late, and asks for the page
    await using _viewer = await openStream(relay, { videoId: VIDEO });
    const polls = await relay.upstream.requested("get_live_chat", { count: 6, since: 0 });
    const intervals = polls.slice(1).map(({ at }, i) => at - (polls[i]?.at ?? 0));
    const median = intervals.toSorted((a, b) => a - b)[2] ?? Number.NaN;
    assert.ok(median > 390 && median < 550, `${intervals}`);
    assert.ok((intervals[1] ?? 0) < 600, `${intervals}`);
  });
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

  it("is polled sooner", async () => {
    const quiet = await polled(10, 200);
    const full = await polled(150, 200);
    assert.ok(quiet.median > 290, `a quiet chat was polled every ${quiet.median} ms`);
    assert.ok(full.median < 0.85 * quiet.median, `${full.median} ms, and ${quiet.median} ms if quiet`);
    assert.deepEqual([quiet.lost, full.lost], [0, 0]);
  });

  it("loses what the upstream no longer holds, and only that", async () => {
    assert.equal((await polled(250, 200)).lost, 6 * 50);
  });
});

describe("an answer that comes so late that the upstream may no longer hold all that was said", () => {
  const SAID = 30;

  /** Says much while the room may not call; `holds` and `page`: how much the upstream still gives, and shows. */
  async function afterCooldown(holds: number, page: number, windowMs = 200) {
    await using relay = await startRelay({ windowMs, settings: { RELAY_COOLDOWN_MS: "500" } });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20, holdsMessages: holds, page });
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    chat.say(1);
    await viewer.untilMessages(1);
    const throttled = relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
    while (throttled.fired === 0) await relay.upstream.requested("get_live_chat", { finished: true });
    const said = chat.say(SAID);
    await viewer.until(() => viewer.ids.at(-1) === said.at(-1));
    await relay.upstream.requested("get_live_chat", { count: 3 });
    assertConsecutive(viewer.cursors, viewer.init.cursor);
    const pages = relay.upstream.requests.filter(({ kind }) => kind === "popout").length;
    const ids = viewer.messages.slice(1).map(({ message }) => (message.type === "gap" ? "gap" : message.id));
    return { ids, said, pages };
  }

  const rows: [what: string, holds: number, page: number, given: number, pages: number, windowMs?: number][] =
    [
      ["is completed from the chat's page, in the order in which it was said", 5, 50, SAID, 2],
      ["is completed as far as the page reaches back, behind a gap", 5, 20, 20, 2],
      ["stands first where it reaches further back than the page, behind a gap", 20, 5, 20, 2],
      ["is left alone where it is not that late", 5, 50, 5, 1, 60_000],
    ];
  for (const [what, holds, page, given, pages, windowMs] of rows) {
    it(what, async () => {
      const seen = await afterCooldown(holds, page, windowMs);
      const gap = what.endsWith("a gap") ? ["gap"] : [];
      assert.deepEqual(seen.ids, [...gap, ...seen.said.slice(-given)]);
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
    await using relay = await startRelay({ upstream, settings, windowMs: 1 });
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO, lastEventId });
    await viewer.untilMessages(SAID);
    assert.deepEqual(viewer.ids, said);
    assertConsecutive(viewer.cursors, lastEventId);
  });

  it("counts the time in which the computer slept, and not a wall clock that is set", () => {
    const clock = new FakeClock();
    const answeredNow = () => ({
      startedAt: 0,
      answeredAt: 0,
      uptimeAt: clock.uptime(),
      wallAt: clock.now(),
    });
    const lateness = new Lateness(WINDOW_MS, clock, answeredNow());
    const sinceMs = clock.now();
    clock.fallAsleep(30_000);
    assert.deepEqual(lateness.observe(answeredNow(), 2000), { ms: 30_000, sinceMs });
    clock.jump(30_000);
    assert.equal(lateness.observe(answeredNow(), 2000), undefined);
    clock.fallAsleep(WINDOW_MS);
    assert.equal(lateness.observe(answeredNow(), 2000), undefined);
  });
});
