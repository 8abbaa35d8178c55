/** What tells a chat that is over from a wall that hides it, for a room that was open and for a first viewer. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Chat } from "../src/simulator/chat.ts";
import type { Failure } from "../src/simulator/index.ts";
import type { RequestKind } from "../src/simulator/requests.ts";
import type { Scenario } from "../src/simulator/scenario.ts";
import { assertEnds } from "./support/answered-room.ts";
import {
  asked,
  failAlways,
  inTime,
  openStream,
  PLACES,
  refused,
  startAtRest,
  textAction,
} from "./support/opening.ts";
import { metric, startRelay } from "./support/relay.ts";
import { assertConsecutive, Stream } from "./support/stream.ts";

const VIDEO = "walled-chat";
type Trouble = [on: RequestKind | readonly RequestKind[], as: Failure];
const NO: Failure = { status: 503 };

/** A room whose viewer was sent "before", and whose token is then refused while the upstream is as the test says. */
async function afterExpiry(scenario: Partial<Scenario>, troubles: readonly Trouble[]) {
  await using stack = new AsyncDisposableStack();
  const relay = stack.use(await startRelay({ settings: { RELAY_POLL_MAX_MS: "20" } }));
  const chat = relay.upstream.chat(VIDEO, { tokens: "reusable", timeoutMs: 5, page: 1 });
  chat.say([textAction("before")]);
  const stream = stack.use(await openStream(relay, { videoId: VIDEO }));
  await stream.untilMessages(1);
  chat.change(scenario);
  const repairs = troubles.map(([on, as]) => failAlways(relay, on, as));
  const looks = relay.upstream.requested("popout", { count: 2 });
  chat.expireTokens();
  const owned = stack.move();
  const repair = () => {
    for (const each of repairs) each();
  };
  return { chat, stream, looks, repair, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

describe("a room whose token is refused ends where its chat is over: a page of its video says so and nothing failed", () => {
  const over: [what: string, Partial<Scenario>][] = [
    ["the chat is disabled", { kind: "disabled" }],
    ["the video has none", { kind: "none" }],
    ["the video is private", { kind: "private" }],
    ["the video is gone", { kind: "unavailable" }],
    ["the video is for members", { kind: "members-only" }],
    ["the chat is a replay now", { kind: "replay" }],
    ["the chat is a replay now, which the watch page alone shows", { kind: "replay", foundOn: "watch" }],
  ];
  for (const [what, scenario] of over) {
    it(what, async () => {
      await using room = await afterExpiry(scenario, []);
      await assertEnds(room.stream);
      assert.deepEqual(room.stream.ids, ["before"]);
    });
  }
});

describe("a room whose token is refused waits and looks again behind a wall", () => {
  const walls: [what: string, Partial<Scenario>, ...Trouble[]][] = [
    ["a sign-in wanted of bots", {}, [PLACES, "bot"]],
    ["a question about cookies", {}, [PLACES, "consent"]],
    ["a redirect to it", {}, [PLACES, { redirect: "https://consent.youtube.com/m?continue=a" }]],
    ["a captcha", {}, ["popout", "captcha"]],
    ["a redirect to one", {}, ["popout", { redirect: "https://www.google.com/sorry/index", status: 429 }]],
    ["pages without data", {}, [PLACES, "no-data"]],
    ["pages of another video", {}, [PLACES, "other-video"]],
    ["streams said not to be live", {}, [PLACES, "offline"]],
    ["pages that fail", {}, [PLACES, NO]],
    ["a popout page that alone has the chat and fails", { foundOn: "popout" }, ["popout", NO]],
    ["a watch page that alone has the chat and fails", { foundOn: "watch" }, ["watch", NO]],
    ["next that alone has the chat and fails", { foundOn: "next" }, ["next", NO]],
    ["no source that shows the chat of a live video", { foundOn: "popout" }, ["popout", "offline"]],
    ["a popout page that fails before a replay", { kind: "replay" }, ["popout", NO]],
    ["a popout page that fails where the others show no chat", { kind: "disabled" }, ["popout", NO]],
    ["a watch page that asks to sign in where the others show no chat", { kind: "none" }, ["watch", "bot"]],
    [
      "next that is of another video where the others show no chat",
      { kind: "none" },
      ["next", "other-video"],
    ],
  ];
  for (const [what, scenario, ...troubles] of walls) {
    it(what, async () => {
      await using room = await afterExpiry(scenario, troubles);
      const { stream, chat } = room;
      await inTime(room.looks, "a second look");
      room.repair();
      chat.change({ kind: "live", foundOn: "everywhere" });
      chat.say([textAction("after")]);
      await stream.until(() => stream.ids.includes("after"));
      assert.deepEqual(stream.ids, ["before", "after"]);
      assertConsecutive(stream.cursors, stream.init.cursor);
    });
  }
});

it("a wall that several rooms meet counts against its own room, and pauses none", async () => {
  const settings = { RELAY_MAX_FAILURES: "3", RELAY_FAILING_MS: "0" };
  await using relay = await startRelay({ settings });
  const videos = ["walled----1", "walled----2", "walled----3", "walled----4"];
  await using streams = new AsyncDisposableStack();
  const viewers: Stream[] = [];
  const chats: Chat[] = [];
  for (const videoId of videos) {
    const chat = relay.upstream.chat(videoId, { timeoutMs: 20, tokens: "reusable" });
    chat.say(1);
    viewers.push(streams.use(await Stream.open(relay.url, { videoId })));
    await viewers.at(-1)?.untilMessages(1);
    chats.push(chat);
  }
  failAlways(relay, PLACES, "bot");
  for (const chat of chats) chat.expireTokens();
  for (const viewer of viewers)
    assert.equal((await inTime(viewer.ended(), "the room's end"))?.event, "error");
  assert.equal(await metric(relay, 'relay_egress_up{egress="direct"}'), 1);
});

describe("pages that are throttled", () => {
  for (const as of [{ status: 429, headers: { "retry-after": "90" } }, "captcha"] as const) {
    it(`refuse a new video, and leave open rooms alone: ${JSON.stringify(as)}`, async () => {
      await using relay = await startRelay({ settings: { RELAY_COOLDOWN_MS: "90000" } });
      const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5 });
      await using stream = await openStream(relay, { videoId: VIDEO });
      relay.upstream.fault({ on: "sw.js", times: 1, as });
      for (let i = 0; i < 2; i++) {
        const { failure, retryAfter } = await refused(relay, "another-one");
        assert.equal(failure, "429 RATE_LIMITED");
        assert.ok(Number(retryAfter) > 80, `Retry-After: ${retryAfter}`);
      }
      chat.say([textAction("after")]);
      await stream.until(() => stream.ids.includes("after"));
      assert.equal(asked(relay).filter((kind) => kind === "sw.js").length, 2);
    });
  }
});

describe("a first viewer is told which it is, and only what is over is remembered", () => {
  const cases: [what: string, Partial<Scenario>, Trouble[], why: RegExp, isKept: boolean][] = [
    ["a chat that is disabled", { kind: "disabled" }, [], /^No live chat found: .*disabled/, true],
    ["a video without one", { kind: "none" }, [], /^No live chat found: the video has no live chat$/, true],
    ["a sign-in", {}, [[PLACES, "bot"]], /but there may be one: .*asks this server to sign in/, false],
    ["consent", {}, [[PLACES, "consent"]], /but there may be one: .*consent/, false],
    ["no data", {}, [[PLACES, "no-data"]], /but there may be one: .*no initial data/, false],
    ["another video", {}, [[PLACES, "other-video"]], /but there may be one: .*another video/, false],
    ["not live", {}, [[PLACES, "offline"]], /but there may be one: .*not to be live/, false],
    [
      "a page that fails",
      { foundOn: "popout" },
      [["popout", NO]],
      /but there may be one: .*live_chat: HTTP 503/,
      false,
    ],
  ];
  for (const [what, scenario, troubles, why, isKept] of cases) {
    it(what, async () => {
      await using relay = await startAtRest({ settings: { RELAY_NO_CHAT_MS: "60000" } });
      relay.upstream.chat(VIDEO, scenario);
      for (const [on, as] of troubles) failAlways(relay, on, as);
      const { failure, message } = await refused(relay, VIDEO);
      assert.equal(failure, "404 NO_LIVE_CHAT");
      assert.match(message, why);
      const calls = asked(relay).length;
      await refused(relay, VIDEO);
      assert.equal(asked(relay).length, isKept ? calls : 2 * calls);
    });
  }
});
