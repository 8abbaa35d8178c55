/** What distinguishes a finished chat from a wall that hides it, for an open room and for a first viewer. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { VirtualRelay } from "../harness/virtual-relay.ts";
import type { VirtualViewer } from "../harness/virtual-viewer.ts";
import type { Failure } from "../src/simulator/index.ts";
import type { RequestKind } from "../src/simulator/requests.ts";
import type { Scenario } from "../src/simulator/scenario.ts";
import { asked, failAlways, PLACES, textAction } from "./support/opening.ts";
import { assertConsecutive } from "./support/stream.ts";
import { requestsOf, virtualRoom } from "./support/virtual-room.ts";

const VIDEO = "walled-chat";
type Trouble = [on: RequestKind | readonly RequestKind[], as: Failure];
const NO: Failure = { status: 503 };

/**
 * A room whose viewer was sent "before", and whose token is then refused while the upstream is as the test
 * says.
 */
async function afterExpiry(scenario: Partial<Scenario>, troubles: readonly Trouble[]) {
  const relay = new VirtualRelay();
  const chat = relay.upstream.chat(VIDEO, { tokens: "reusable" });
  chat.say([textAction("before")]);
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(1);
  chat.change(scenario);
  const repairs = troubles.map(([on, as]) => failAlways(relay, on, as));
  chat.expireTokens();
  const repair = () => {
    for (const each of repairs) each();
  };
  return { relay, chat, viewer, repair };
}

describe("a room whose token is refused ends if its chat is over: a page of its video says so and nothing failed", () => {
  const over: [what: string, Partial<Scenario>][] = [
    ["the chat is disabled", { kind: "disabled" }],
    ["the video has no chat", { kind: "none" }],
    ["the video is private", { kind: "private" }],
    ["the video is gone", { kind: "unavailable" }],
    ["the video is for members", { kind: "members-only" }],
    ["the chat is a replay now", { kind: "replay" }],
    ["the chat is a replay now, as only the watch page shows", { kind: "replay", foundOn: "watch" }],
  ];
  for (const [what, scenario] of over) {
    it(what, async () => {
      const { viewer } = await afterExpiry(scenario, []);
      const end = { event: "end", data: { reason: "no more continuations" } };
      assert.deepEqual(await viewer.ended(), end);
      assert.deepEqual(viewer.ids, ["before"]);
    });
  }
});

describe("a room whose token is refused waits behind a wall and tries again", () => {
  const walls: [what: string, Partial<Scenario>, ...Trouble[]][] = [
    ["a sign-in for bots", {}, [PLACES, "bot"]],
    ["a consent page", {}, [PLACES, "consent"]],
    [
      "a redirect to the consent page",
      {},
      [PLACES, { redirect: "https://consent.youtube.com/m?continue=a" }],
    ],
    ["a captcha", {}, ["popout", "captcha"]],
    [
      "a redirect to a captcha",
      {},
      ["popout", { redirect: "https://www.google.com/sorry/index", status: 429 }],
    ],
    ["pages without data", {}, [PLACES, "no-data"]],
    ["pages of another video", {}, [PLACES, "other-video"]],
    ["pages that say the stream is not live", {}, [PLACES, "offline"]],
    ["pages that fail", {}, [PLACES, NO]],
    ["a failing popout page, the only one with the chat", { foundOn: "popout" }, ["popout", NO]],
    ["a failing watch page, the only one with the chat", { foundOn: "watch" }, ["watch", NO]],
    ["a failing next, the only source with the chat", { foundOn: "next" }, ["next", NO]],
    ["sources that show no chat of a live video", { foundOn: "popout" }, ["popout", "offline"]],
    ["a failing popout page before a replay", { kind: "replay" }, ["popout", NO]],
    ["a failing popout page, while the others show no chat", { kind: "disabled" }, ["popout", NO]],
    ["a sign-in on the watch page, while the others show no chat", { kind: "none" }, ["watch", "bot"]],
    ["a next of another video, while the others show no chat", { kind: "none" }, ["next", "other-video"]],
  ];
  for (const [what, scenario, ...troubles] of walls) {
    it(what, async () => {
      const { relay, chat, viewer, repair } = await afterExpiry(scenario, troubles);
      await relay.requested("popout", { count: 2 });
      repair();
      chat.change({ kind: "live", foundOn: "everywhere" });
      chat.say([textAction("after")]);
      await viewer.until(() => viewer.ids.includes("after"));
      assert.deepEqual(viewer.ids, ["before", "after"]);
      assertConsecutive(viewer.cursors, viewer.init.cursor);
    });
  }
});

it("a wall that several rooms meet counts against its own room, and pauses none", async () => {
  const relay = new VirtualRelay({ settings: { RELAY_MAX_FAILURES: "3", RELAY_FAILING_MS: "0" } });
  const chats = [1, 2, 3, 4].map((n) => relay.upstream.chat(`walled----${n}`, { tokens: "reusable" }));
  const viewers: VirtualViewer[] = [];
  for (const { videoId } of chats) viewers.push(await relay.enter({ videoId }));
  failAlways(relay, PLACES, "bot");
  for (const chat of chats) chat.expireTokens();
  for (const viewer of viewers) assert.equal((await viewer.ended())?.event, "error");
  assert.equal(await relay.metric('relay_egress_up{egress="direct"}'), 1);
});

describe("pages that are throttled", () => {
  for (const as of [{ status: 429, headers: { "retry-after": "90" } }, "captcha"] as const) {
    it(`refuse a new video, and leave open rooms alone: ${JSON.stringify(as)}`, async () => {
      const { relay, chat, viewer } = await virtualRoom(1, { RELAY_COOLDOWN_MS: "90000" });
      relay.upstream.fault({ on: "sw.js", times: 1, as });
      const first = await relay.refusal({ videoId: "another-one" });
      const answeredAt = relay.clock.monotonic();
      await relay.advance(30_000);
      const second = await relay.refusal({ videoId: "another-one" });
      assert.deepEqual([first.code, second.code], ["RATE_LIMITED", "RATE_LIMITED"]);
      assert.equal(first.retryAfterMs, 90_000);
      assert.equal(second.retryAfterMs, 90_000 - (relay.clock.monotonic() - answeredAt));
      chat.say(1);
      await viewer.untilMessages(2);
      assert.equal(requestsOf(relay, "sw.js").length, 2);
    });
  }
});

describe("a first viewer learns whether the chat is over or hidden, and only a finished one is remembered", () => {
  const cases: [what: string, Partial<Scenario>, Trouble[], why: RegExp, isKept: boolean][] = [
    ["a chat that is disabled", { kind: "disabled" }, [], /^No live chat found: .*disabled/, true],
    ["a video without one", { kind: "none" }, [], /^No live chat found: the video has no live chat$/, true],
    ["a sign-in", {}, [[PLACES, "bot"]], /but there may be one: .*asks this server to sign in/, false],
    ["consent", {}, [[PLACES, "consent"]], /but there may be one: .*consent/, false],
    ["no data", {}, [[PLACES, "no-data"]], /but there may be one: .*no initial data/, false],
    ["another video", {}, [[PLACES, "other-video"]], /but there may be one: .*another video/, false],
    ["not live", {}, [[PLACES, "offline"]], /but there may be one: .*is not live/, false],
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
      const relay = new VirtualRelay();
      relay.upstream.chat(VIDEO, scenario);
      for (const [on, as] of troubles) failAlways(relay, on, as);
      const { code, message } = await relay.refusal({ videoId: VIDEO });
      assert.equal(code, "NO_LIVE_CHAT");
      assert.match(message, why);
      const calls = asked(relay).length;
      await relay.refusal({ videoId: VIDEO });
      assert.equal(asked(relay).length, isKept ? calls : 2 * calls);
    });
  }
});
