/**
 * A room that continues from a fresh page of its chat: at its opening, after its token was refused, after a
 * late answer, and after a long silence of the chat.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import { SETTINGS } from "../../../src/cli/setting-table.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../../harness/virtual-relay.ts";
import { failAlways } from "../../support/opening.ts";
import { POLL_CLOSED, POLL_OPENED, POLL_UPDATED } from "../../support/poll-items.ts";
import { assertConsecutive } from "../../support/stream.ts";
import { intervals, requestsOf } from "../../support/virtual-room.ts";

const VIDEO = "fresh-page-";
/** From the page of an opening to the first poll. */
const SPACING_MS = Number(SETTINGS.RELAY_GATE_SPACING_MS.default);

/** Makes text messages with numbers as their ids, said just now, each as many microseconds later. */
function speaker({ clock }: VirtualRelay) {
  const said = (number: number): JsonObject => ({
    addChatItemAction: {
      item: {
        liveChatTextMessageRenderer: {
          id: String(number),
          timestampUsec: String(clock.now() * 1000 + number),
          authorName: { simpleText: "Ann" },
          message: { runs: [{ text: `message ${number}` }] },
        },
      },
    },
  });
  return (from: number, to = from) => numbers(from, to).map(said);
}
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
/** The page shows a selection of the chat: the even ones. */
const isOdd = (action: JsonObject) => /"id":"\d*[13579]"/.test(JSON.stringify(action));

/** The page and each answer show much of the same. */
const OVERLAPPING = { tokens: "reusable", page: 50, overlap: 60 } as const;

/** A room that has read messages 1 to `said`. */
async function readUntil(said: number, scenario: Partial<Scenario>, options: VirtualRelayOptions = {}) {
  const relay = new VirtualRelay(options);
  const saidFrom = speaker(relay);
  const chat = relay.upstream.chat(VIDEO, scenario);
  chat.say(saidFrom(1, said));
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(said);
  return { relay, saidFrom, chat, viewer };
}

describe("a page and the answer that follows it", () => {
  for (const [shows, onlyInAll] of [
    ["the same", () => false],
    ["different selections", isOdd],
  ] as const) {
    it(`that show ${shows} are one list in sending order, at opening and re-bootstrap`, async () => {
      const relay = new VirtualRelay();
      const saidFrom = speaker(relay);
      const chat = relay.upstream.chat(VIDEO, { ...OVERLAPPING, onlyInAll });
      chat.say(saidFrom(1, 100));
      const opener = await relay.enter({ videoId: VIDEO, backfill: 0 });
      await relay.requested("get_live_chat", { count: 3 });
      assert.deepEqual(opener.messages, []);
      const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 });
      await viewer.untilMessages(60);
      assert.deepEqual(viewer.ids.map(Number), numbers(41, 100));
      chat.expireTokens();
      chat.say(saidFrom(101, 120));
      await viewer.untilMessages(80);
      assert.deepEqual(viewer.ids.map(Number), numbers(41, 120));
      assert.deepEqual(opener.ids.map(Number), numbers(101, 120));
    });
  }

  it("keep the place that the answer gives a poll, because the page may lack its neighbours", async () => {
    const relay = new VirtualRelay();
    const saidFrom = speaker(relay);
    const chat = relay.upstream.chat(VIDEO, { page: 6, overlap: 5, onlyInAll: isOdd });
    chat.say([POLL_OPENED, ...saidFrom(1, 4)]);
    const viewer = await relay.enter({ videoId: VIDEO, details: true });
    await viewer.untilMessages(5);
    for (const [from, event] of [
      [5, POLL_UPDATED],
      [9, POLL_CLOSED],
    ] as const) {
      chat.expireTokens();
      chat.say([...saidFrom(from, from + 2), event, ...saidFrom(from + 3)]);
      await viewer.until(() => viewer.ids.includes(`${from + 3}`));
    }
    const words = viewer.messages.map(({ message }) =>
      message.details && "poll" in message.details ? message.details.poll?.state : Number(message.id),
    );
    assert.deepEqual(words, ["open", ...numbers(1, 7), "updated", 8, ...numbers(9, 11), "closed", 12]);
  });

  it("are also one list if the answer comes late, after failed polls", async () => {
    const { relay, saidFrom, chat, viewer } = await readUntil(5, { ...OVERLAPPING, onlyInAll: isOdd });
    chat.expireTokens();
    chat.say(saidFrom(6, 9));
    await relay.requested("popout");
    const fault = relay.upstream.fault({ on: "get_live_chat", times: 2, as: { status: 503 } });
    await viewer.untilMessages(9);
    assert.deepEqual(viewer.ids.map(Number), numbers(1, 9));
    assert.equal(fault.fired, 2);
  });

  it("are stored together at a stop, even if the store has failed since the answer", async () => {
    const scenario = { ...OVERLAPPING, onlyInAll: isOdd };
    const { relay, saidFrom, chat } = await readUntil(5, scenario, { hasDisk: true });
    chat.expireTokens();
    chat.say(saidFrom(6, 9));
    await relay.requested("popout");
    relay.disk.goneUntil = relay.clock.monotonic() + 6000;
    await relay.requested("get_live_chat", { finished: true });
    await relay.advance(4200); // the appends are some seconds apart by now
    await relay.stop();
    assert.deepEqual(
      (await relay.stored(VIDEO)).map(({ id }) => Number(id)),
      numbers(1, 9),
    );
  });

  /** A room that has read messages 1 to 5, and a page with those up to 9 whose answer fails. */
  async function unanswered(onlyInAll: Scenario["onlyInAll"], view: "all" | "top") {
    const options = { hasDisk: true, settings: { RELAY_CHAT_VIEW: view } };
    const room = await readUntil(5, { ...OVERLAPPING, onlyInAll }, options);
    room.chat.expireTokens();
    room.chat.say(room.saidFrom(6, 9));
    await room.relay.requested("popout");
    const mend = failAlways(room.relay, "get_live_chat", { status: 503 });
    await room.relay.requested("get_live_chat", { finished: true, count: 2 });
    return { ...room, mend };
  }

  it("are read again after a stop between the two, and are one list then", async () => {
    const { relay, viewer, mend } = await unanswered(isOdd, "all");
    await relay.stop();
    mend();
    relay.start();
    const again = await relay.enter({ videoId: VIDEO, lastEventId: viewer.cursors.at(-1) });
    await again.untilMessages(4);
    assert.deepEqual(again.ids.map(Number), numbers(6, 9));
  });

  it("are the page alone at a stop between the two if the room reads Top chat", async () => {
    const { relay } = await unanswered(() => false, "top");
    await relay.stop();
    assert.deepEqual(
      (await relay.stored(VIDEO)).map(({ id }) => Number(id)),
      numbers(1, 9),
    );
  });

  it("are the page alone if the room ends before any answer", async () => {
    const scenario = { page: 50, onlyInAll: () => false };
    const settings = { RELAY_FAILING_MS: "0" };
    const { relay, saidFrom, chat, viewer } = await readUntil(5, scenario, { settings });
    chat.expireTokens();
    chat.say(saidFrom(6, 9));
    await relay.requested("popout");
    failAlways(relay, "get_live_chat", { status: 503 });
    assert.equal((await viewer.ended())?.event, "error");
    assert.deepEqual(viewer.ids.map(Number), numbers(1, 9));
  });

  it("leave what the page of a late answer shows beyond it to the next answer", () => late(0));
  it("leave it to the next answer if the service's clock is an hour behind", () => late(-3_600_000));
  it("leave it to the next answer if the service's clock is an hour ahead", () => late(3_600_000));

  /** A room that has read messages 1 and 2, and whose next answer comes late. */
  async function throttled(aheadMs = 0) {
    const { relay, saidFrom, chat, viewer } = await readUntil(2, { page: 5 }, { aheadMs: () => aheadMs });
    const fault = relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
    while (fault.fired === 0) await relay.requested("get_live_chat", { finished: true });
    return { relay, saidFrom, chat, viewer };
  }

  async function late(aheadMs: number): Promise<void> {
    const { relay, saidFrom, chat, viewer } = await throttled(aheadMs);
    chat.say(saidFrom(3, 9));
    await relay.requested("get_live_chat", { finished: true });
    chat.say([...saidFrom(10, 29), POLL_OPENED, POLL_UPDATED, ...saidFrom(30, 31)]);
    await viewer.untilMessages(34);
    const words = viewer.messages.map(({ message: { type, id } }) =>
      type === "poll" || type === "gap" ? type : Number(id),
    );
    assert.deepEqual(words, [1, 2, "gap", ...numbers(3, 29), "poll", "poll", 30, 31]);
    assert.equal(requestsOf(relay, "popout").length, 2);
  }

  it("keep messages that only the page of a late answer shows, even if no answer brings them", () =>
    left(false));
  it("keep them before the gap if the next answer is late, too", () => left(true));

  async function left(isLateAgain: boolean): Promise<void> {
    const { relay, saidFrom, chat, viewer } = await throttled();
    chat.change({ page: 20, holdsMs: 1000 });
    const before = requestsOf(relay, "get_live_chat").length;
    for (let said = 3; said < 30; said++) {
      chat.say(saidFrom(said));
      await relay.advance(1000);
    }
    assert.equal(requestsOf(relay, "get_live_chat").length, before, "the cooldown takes half a minute");
    await relay.requested("popout", { finished: true });
    await relay.requested("get_live_chat", { finished: true }); // of all messages, by the page's token
    if (isLateAgain) {
      relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
      await relay.advance(10_000);
      chat.say(saidFrom(30, 59));
      await relay.advance(120_000);
    } else await relay.advance(15_000);
    const read = viewer.ids.map((id) => (id.startsWith("gap:") ? "gap" : Number(id)));
    const rest = isLateAgain ? ["gap", ...numbers(40, 59)] : [];
    assert.deepEqual(read, [1, 2, "gap", ...numbers(10, 29), ...rest]);
  }

  it("are read if the `Date` of the late answer is not of the form that servers write", async () => {
    const { relay, saidFrom, chat, viewer } = await throttled();
    chat.say(saidFrom(3, 5));
    const continuations = [{ timedContinuationData: { continuation: "unknown", timeoutMs: 1000 } }];
    const body = { continuationContents: { liveChatContinuation: { continuations, actions: [] } } };
    const headers = { date: "-271821-04-20T00:00:00Z" };
    relay.upstream.fault({ on: "get_live_chat", times: 1, as: { status: 200, headers, body } });
    await viewer.untilMessages(5);
    assert.deepEqual(viewer.ids.map(Number), numbers(1, 5));
  });
});

describe("history, for the viewer that opens a room,", () => {
  /**
   * The ids that the opener is sent, of five on the page and three that came between page and first answer.
   */
  async function sentTo(backfill: number, foundOn: "both" | "watch") {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], foundOn, page: 5, onlyInAll: () => false });
    chat.say(5);
    const viewer = relay.visit({ videoId: VIDEO, backfill });
    await relay.requested(foundOn === "watch" ? "watch" : "popout", { finished: true });
    chat.say(3);
    await relay.when(viewer.entered);
    chat.say(1);
    await viewer.until(() => viewer.ids.at(-1) === chat.ledger.at(-1)?.id, "the live message");
    assertConsecutive(viewer.cursors, viewer.init.cursor);
    const ids = chat.ledger.map(({ id }) => id);
    return viewer.ids.map((id) => ids.indexOf(id) + 1);
  }

  it("is the page's messages; the first answer is live already", async () => {
    assert.deepEqual(await sentTo(0, "both"), [6, 7, 8, 9]);
    assert.deepEqual(await sentTo(2, "both"), [4, 5, 6, 7, 8, 9]);
  });

  it("is the first answer if the page has no messages", async () => {
    assert.deepEqual(await sentTo(0, "watch"), [9]);
    assert.deepEqual(await sentTo(2, "watch"), [7, 8, 9]);
  });
});

describe("a live chat that was busy and has been silent for long", () => {
  const QUIET_MS = 60_000;

  async function silentRoom(timeoutMs = 3000) {
    const settings = { RELAY_MAX_FAILURES: "1", RELAY_FAILING_MS: "0" };
    const room = await readUntil(5, { page: 5, timeoutMs }, { settings });
    room.chat.say(room.saidFrom(6));
    await room.viewer.untilMessages(6);
    return room;
  }

  it("loads a page after a minute, and then after twice as long each time, while nothing new comes", async () => {
    const { relay, viewer } = await silentRoom();
    await relay.advance(8 * QUIET_MS);
    assert.equal(viewer.messages.length, 6);
    // The first answer after the time is over asks for the page, in the place of the next poll.
    const [sinceOpening = Number.NaN, ...further] = intervals(relay, "popout");
    assert.ok(sinceOpening > QUIET_MS && sinceOpening <= QUIET_MS + 6000 + SPACING_MS, `${sinceOpening}`);
    assert.deepEqual(
      further.map((ms) => Math.round(ms / 1000)),
      [120, 240],
    );
  });

  for (const [what, breaks] of [
    ["cannot be loaded", ({ relay }) => void failAlways(relay, ["popout", "watch", "next"], { status: 500 })],
    ["shows no chat", ({ chat }) => chat.change({ foundOn: "watch", page: 0 })],
  ] satisfies [string, (room: Awaited<ReturnType<typeof silentRoom>>) => void][]) {
    it(`continues by its token, without counting a failure, if the page ${what}`, async () => {
      const room = await silentRoom(9000);
      const { relay, chat, viewer, saidFrom } = room;
      breaks(room);
      await relay.requested("popout", { count: 3 });
      chat.say(saidFrom(7));
      await viewer.untilMessages(7);
      assert.equal(await relay.metric("relay_failed_polls_total"), 0);
    });
  }

  it("is polled again before the upstream drops messages, though its page does not come", async () => {
    const { relay } = await silentRoom(9000);
    relay.upstream.fault({ on: ["popout"], times: Number.POSITIVE_INFINITY, as: { delayMs: 60_000 } });
    await relay.advance(4 * QUIET_MS);
    assert.ok(requestsOf(relay, "popout").length > 2);
    const longest = Math.max(...intervals(relay, "get_live_chat"));
    assert.ok(longest <= 10_500, `${longest} ms`);
  });

  it("continues from the page if its token is dead", async () => {
    const { relay, chat, viewer, saidFrom } = await silentRoom();
    const dead = failAlways(relay, "get_live_chat", { status: 200, body: deadAnswer(relay) });
    chat.say(saidFrom(7, 9));
    await relay.requested("popout");
    dead();
    await viewer.untilMessages(9);
    assert.deepEqual(viewer.ids.map(Number), numbers(1, 9));
  });
});

/** An answer without actions whose token is the one that was sent last. */
function deadAnswer(relay: VirtualRelay): JsonObject {
  const continuation = requestsOf(relay, "get_live_chat").at(-1)?.continuation ?? "";
  return {
    responseContext: {},
    continuationContents: {
      liveChatContinuation: { continuations: [{ timedContinuationData: { timeoutMs: 1000, continuation } }] },
    },
  };
}

it("a live chat whose token brings nothing from the first poll on loads a page after ten minutes", async () => {
  const scenario = { mute: true, timeoutMs: 3000, onlyInAll: () => false };
  const { relay, saidFrom, chat, viewer } = await readUntil(5, scenario);
  chat.say(saidFrom(6, 9));
  await relay.advance(600_000);
  assert.deepEqual(intervals(relay, "popout"), []);
  await viewer.untilMessages(9);
  assert.deepEqual(viewer.ids.map(Number), numbers(1, 9));
  const [tookMs = Number.NaN] = intervals(relay, "popout");
  assert.ok(tookMs > 600_000 && tookMs <= 603_000 + SPACING_MS, `${tookMs}`);
});

it("loads a page for a mute token, and goes on by that page's, although the first poll fails", async () => {
  const scenario = { mute: true, timeoutMs: 3000, onlyInAll: () => false };
  const { relay, saidFrom, chat, viewer } = await readUntil(5, scenario);
  chat.say(saidFrom(6, 9));
  chat.change({ mute: false });
  await relay.advance(590_000);
  await relay.requested("popout");
  relay.upstream.fault({ on: "get_live_chat", times: 1, as: "reset" });
  await viewer.untilMessages(9);
  chat.say(saidFrom(10));
  await relay.advance(10_000);
  assert.deepEqual(viewer.ids.map(Number), numbers(1, 10));
});

it("a gap behind a mute token begins with the last answer that brought something", async () => {
  const { relay, saidFrom, chat, viewer } = await readUntil(5, { page: 5, timeoutMs: 3000 });
  await relay.advance(30_000);
  chat.say(saidFrom(6));
  await viewer.untilMessages(6);
  const newsAt = relay.clock.now();
  const dead = failAlways(relay, "get_live_chat", { status: 200, body: deadAnswer(relay) });
  chat.say(saidFrom(7, 20));
  await relay.requested("popout");
  dead();
  await viewer.until(() => viewer.messages.some(({ message }) => message.type === "gap"), "a gap");
  const told = relay.log.find(({ msg }) => /^messages may be missing/.test(String(msg)));
  const since = String(told?.since);
  assert.ok(Math.abs(Date.parse(since) - newsAt) < 3000, `since ${since}, new until ${newsAt}`);
});

describe("a replay with one token that the upstream always refuses", () => {
  it("stops with an error frame, although each fresh page is followed by good answers", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_MAX_FAILURES: "3", RELAY_FAILING_MS: "0" } });
    const chat = relay.upstream.chat(VIDEO, { kind: "replay", tokens: "reusable", pageSize: 20 });
    chat.say(speaker(relay)(1, 100));
    const on = "get_live_chat_replay";
    const refusals = Array.from({ length: 10 }, () => {
      relay.upstream.fault({ on, times: 3, as: { delayMs: 0 } });
      return relay.upstream.fault({ on, times: 1, as: "invalid-argument" });
    });
    const viewer = await relay.enter({ videoId: VIDEO });
    assert.equal((await viewer.ended())?.event, "error");
    assert.deepEqual(viewer.ids.map(Number), numbers(1, 40));
    assert.equal(refusals.filter(({ fired }) => fired > 0).length, 4); // the first is free
  });
});
