/**
 * A room that goes on from a fresh page of its chat: at its opening, when its token was refused, when an answer came
 * late, when the chat has been silent for long.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Clock, systemClock } from "../src/clock.ts";
import type { JsonObject } from "../src/simulator/json.ts";
import { session } from "./support/api.ts";
import { failAlways, openStream } from "./support/opening.ts";
import { POLL_CLOSED, POLL_OPENED, POLL_UPDATED } from "./support/poll-items.ts";
import { metric, startRelay, type TestRelay } from "./support/relay.ts";
import { assertConsecutive } from "./support/stream.ts";

const VIDEO = "fresh-page-";

/** A text message with the number as its id, said just now, as many microseconds later. */
const said = (number: number): JsonObject => ({
  addChatItemAction: {
    item: {
      liveChatTextMessageRenderer: {
        id: String(number),
        timestampUsec: String(Date.now() * 1000 + number),
        authorName: { simpleText: "Ann" },
        message: { runs: [{ text: `message ${number}` }] },
      },
    },
  },
});
const saidFrom = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => said(from + i));
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);
/** The page shows a selection of the chat: the even ones. */
const isOdd = (action: JsonObject) => /"id":"\d*[13579]"/.test(JSON.stringify(action));

const popouts = ({ upstream }: TestRelay) => upstream.requests.filter(({ kind }) => kind === "popout");

describe("a page and the answer that follows it", () => {
  for (const [shows, onlyInAll] of [
    ["the same", () => false],
    ["different selections", isOdd],
  ] as const) {
    it(`that show ${shows} are one list in the order of saying, at an opening and a re-bootstrap`, async () => {
      await using relay = await startRelay();
      const chat = relay.upstream.chat(VIDEO, {
        tokens: "reusable",
        timeoutMs: 5,
        page: 50,
        overlap: 60,
        onlyInAll,
      });
      chat.say(saidFrom(1, 100));
      await using opener = await openStream(relay, { videoId: VIDEO, backfill: 0 });
      await relay.upstream.requested("get_live_chat", { count: 3 });
      assert.deepEqual(opener.messages, []);
      await using viewer = await openStream(relay, { videoId: VIDEO, backfill: 500 });
      await viewer.untilMessages(60);
      assert.deepEqual(viewer.ids.map(Number), numbers(41, 100));
      const { messages } = await session(relay.url, { videoId: VIDEO });
      assert.deepEqual(
        messages.map(({ id }) => Number(id)),
        numbers(41, 100),
      );
      chat.expireTokens();
      chat.say(saidFrom(101, 120));
      await viewer.untilMessages(80);
      assert.deepEqual(viewer.ids.map(Number), numbers(41, 120));
      assert.deepEqual(opener.ids.map(Number), numbers(101, 120));
    });
  }

  it("give a poll that both show where the answer has it: on a page it has no time, and its neighbours may be missing", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5, page: 6, overlap: 5, onlyInAll: isOdd });
    chat.say([POLL_OPENED, ...saidFrom(1, 4)]);
    await using viewer = await openStream(relay, { videoId: VIDEO, details: true });
    await viewer.untilMessages(5);
    for (const [from, event] of [
      [5, POLL_UPDATED],
      [9, POLL_CLOSED],
    ] as const) {
      chat.expireTokens();
      chat.say([...saidFrom(from, from + 2), event, said(from + 3)]);
      await viewer.until(() => viewer.ids.includes(`${from + 3}`));
    }
    const words = viewer.messages.map(({ message }) =>
      message.details && "poll" in message.details ? message.details.poll?.state : Number(message.id),
    );
    assert.deepEqual(words, ["open", ...numbers(1, 7), "updated", 8, ...numbers(9, 11), "closed", 12]);
  });

  it("are one list too where the answer comes late, after polls that failed", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, {
      tokens: "reusable",
      timeoutMs: 5,
      page: 50,
      overlap: 60,
      onlyInAll: isOdd,
    });
    chat.say(saidFrom(1, 5));
    await using viewer = await openStream(relay, { videoId: VIDEO });
    await viewer.untilMessages(5);
    chat.expireTokens();
    chat.say(saidFrom(6, 9));
    await relay.upstream.requested("popout");
    const fault = relay.upstream.fault({ on: "get_live_chat", times: 2, as: { status: 503 } });
    await viewer.untilMessages(9);
    assert.deepEqual(viewer.ids.map(Number), numbers(1, 9));
    assert.equal(fault.fired, 2);
  });

  it("are the page alone where the room ends before any answer", async () => {
    await using relay = await startRelay({ settings: { RELAY_MAX_FAILURES: "2" } });
    const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5, page: 50 });
    chat.say(saidFrom(1, 5));
    await using viewer = await openStream(relay, { videoId: VIDEO });
    await viewer.untilMessages(5);
    chat.expireTokens();
    chat.say(saidFrom(6, 9));
    await relay.upstream.requested("popout");
    failAlways(relay, "get_live_chat", { status: 503 });
    assert.equal((await viewer.ended())?.event, "error");
    assert.deepEqual(viewer.ids.map(Number), numbers(1, 9));
  });

  for (const hours of [-1, 1]) {
    it(`leave it to the next answer also where the service's clock is wrong by ${hours} h`, () =>
      late({ ...systemClock, now: () => Date.now() + hours * 3_600_000 }));
  }

  it("leave what the page of a late answer shows beyond it to the next answer", () => late(systemClock));

  async function late(clock: Clock): Promise<void> {
    await using relay = await startRelay({
      clock,
      windowMs: 500,
      settings: { RELAY_COOLDOWN_MS: "900" },
    });
    const chat = relay.upstream.chat(VIDEO, { timeoutMs: 20, page: 5 });
    chat.say(saidFrom(1, 2));
    await using viewer = await openStream(relay, { videoId: VIDEO });
    await viewer.untilMessages(2);
    const throttled = relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
    while (throttled.fired === 0) await relay.upstream.requested("get_live_chat", { finished: true });
    chat.say(saidFrom(3, 9));
    await relay.upstream.requested("get_live_chat", { finished: true });
    chat.say([...saidFrom(10, 29), POLL_OPENED, POLL_UPDATED, ...saidFrom(30, 31)]);
    await viewer.untilMessages(34);
    const words = viewer.messages.map(({ message: { type, id } }) =>
      type === "poll" || type === "gap" ? type : Number(id),
    );
    assert.deepEqual(words, [1, 2, "gap", ...numbers(3, 29), "poll", "poll", 30, 31]);
    assert.equal(popouts(relay).length, 2);
  }
});

describe("what is history to the viewer that opens a room", () => {
  /** The ids that the opener is sent, of five on the page and three that came between page and first answer. */
  async function sentTo(backfill: number, foundOn: "both" | "watch") {
    await using relay = await startRelay({ settings: { RELAY_GATE_SPACING_MS: "200" } });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5, foundOn, page: 5 });
    chat.say(5);
    const page = relay.upstream.requested(foundOn === "watch" ? "watch" : "popout", { finished: true });
    const opening = openStream(relay, { videoId: VIDEO, backfill });
    await page;
    chat.say(3);
    await using viewer = await opening;
    chat.say(1);
    await viewer.until(() => viewer.ids.at(-1) === chat.ledger.at(-1)?.id, "the live message");
    assertConsecutive(viewer.cursors, viewer.init.cursor);
    const ids = chat.ledger.map(({ id }) => id);
    return viewer.ids.map((id) => ids.indexOf(id) + 1);
  }

  it("is what the page held; the first answer is live already", async () => {
    assert.deepEqual(await sentTo(0, "both"), [6, 7, 8, 9]);
    assert.deepEqual(await sentTo(2, "both"), [4, 5, 6, 7, 8, 9]);
  });

  it("is the first answer where the page held nothing", async () => {
    assert.deepEqual(await sentTo(0, "watch"), [9]);
    assert.deepEqual(await sentTo(2, "watch"), [7, 8, 9]);
  });
});

describe("a live chat that was lively and has been silent for long", () => {
  const QUIET_MS = 100;

  async function silentRoom() {
    await using owned = new AsyncDisposableStack();
    const relay = owned.use(await startRelay({ quietMs: QUIET_MS, settings: { RELAY_MAX_FAILURES: "2" } }));
    const chat = relay.upstream.chat(VIDEO, { timeoutMs: 2, page: 5 });
    chat.say(saidFrom(1, 5));
    const viewer = owned.use(await openStream(relay, { videoId: VIDEO }));
    chat.say(saidFrom(6, 6));
    await viewer.untilMessages(6);
    const running = owned.move();
    return { relay, chat, viewer, [Symbol.asyncDispose]: () => running.disposeAsync() };
  }

  it("asks for a page after the time, then each time after twice as long, while nothing new comes", async () => {
    await using room = await silentRoom();
    await room.relay.upstream.requested("popout", { count: 3 });
    const [first, second, third] = popouts(room.relay)
      .slice(-3)
      .map(({ at }) => at);
    // A page is requested a call or two after it was due.
    assert.ok((second ?? 0) - (first ?? 0) >= 1.7 * QUIET_MS);
    assert.ok((third ?? 0) - (second ?? 0) >= 3.4 * QUIET_MS);
    assert.equal(room.viewer.messages.length, 6);
  });

  for (const [what, breaks] of [
    [
      "cannot be loaded",
      ({ relay }) => {
        for (const on of ["popout", "watch"] as const) failAlways(relay, on, { status: 500 });
      },
    ],
    ["shows no chat", ({ chat }) => chat.change({ foundOn: "watch", page: 0 })],
  ] satisfies [string, (room: Awaited<ReturnType<typeof silentRoom>>) => void][]) {
    it(`goes on by its token, without counting a failure, where the page ${what}`, async () => {
      await using room = await silentRoom();
      breaks(room);
      await room.relay.upstream.requested("popout", { count: 3 });
      room.chat.say(saidFrom(7, 7));
      await room.viewer.untilMessages(7);
      assert.equal(await metric(room.relay, "relay_failed_polls_total"), 0);
    });
  }

  it("goes on from the page where the token at hand is dead", async () => {
    await using room = await silentRoom();
    const dead = room.relay.upstream.fault({
      on: "get_live_chat",
      times: Number.POSITIVE_INFINITY,
      as: { status: 200, body: deadAnswer(room.relay) },
    });
    room.chat.say(saidFrom(7, 9));
    await room.relay.upstream.requested("popout");
    dead.cancel();
    await room.viewer.untilMessages(9);
    assert.deepEqual(room.viewer.ids.map(Number), numbers(1, 9));
  });
});

/** An answer without actions whose token is the one that was sent last. */
function deadAnswer({ upstream }: TestRelay): JsonObject {
  const continuation = upstream.requests.findLast(({ kind }) => kind === "get_live_chat")?.continuation ?? "";
  return {
    responseContext: {},
    continuationContents: {
      liveChatContinuation: { continuations: [{ timedContinuationData: { timeoutMs: 2, continuation } }] },
    },
  };
}

it("a live chat whose token brings nothing from the first poll on asks for a page after ten times as long", async () => {
  const quietMs = 30;
  await using relay = await startRelay({ quietMs });
  const chat = relay.upstream.chat(VIDEO, { timeoutMs: 2, mute: true });
  chat.say(saidFrom(1, 5));
  await using viewer = await openStream(relay, { videoId: VIDEO });
  await viewer.untilMessages(5);
  chat.say(saidFrom(6, 9));
  await viewer.untilMessages(9);
  assert.deepEqual(viewer.ids.map(Number), numbers(1, 9));
  const [opening, fresh] = popouts(relay).map(({ at }) => at);
  assert.ok((fresh ?? 0) - (opening ?? 0) >= 10 * quietMs);
});

describe("a replay with a page that the upstream always refuses", () => {
  it("stops with an error frame, though each fresh page is followed by good answers", async () => {
    await using relay = await startRelay({ settings: { RELAY_MAX_FAILURES: "3" } });
    const chat = relay.upstream.chat(VIDEO, { kind: "replay", tokens: "reusable", pageSize: 20 });
    chat.say(saidFrom(1, 100));
    const on = "get_live_chat_replay";
    const refusals = Array.from({ length: 10 }, () => {
      relay.upstream.fault({ on, times: 2, as: { delayMs: 0 } });
      return relay.upstream.fault({ on, times: 1, as: "invalid-argument" });
    });
    await using viewer = await openStream(relay, { videoId: VIDEO });
    assert.equal((await viewer.ended())?.event, "error");
    assert.deepEqual(viewer.ids.map(Number), numbers(1, 40));
    assert.equal(refusals.filter(({ fired }) => fired > 0).length, 4); // the first is free
  });
});
