/** What distinguishes a finished chat from a wall that hides it, for an open room and for a first viewer. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failure } from "../../../simulator/index.ts";
import type { RequestKind } from "../../../simulator/requests.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../harness/virtual-viewer.ts";
import { asked, failAlways, PLACES, textAction } from "../../support/opening.ts";
import { assertConsecutive } from "../../support/stream.ts";
import { requestsOf, virtualRoom } from "../../support/virtual-room.ts";

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

describe("a room whose token is refused ends, not fails, if its video's page says that it is over", () => {
  const over: [what: string, Partial<Scenario>][] = [
    ["the chat is disabled", { kind: "disabled" }],
    ["the video has no chat", { kind: "none" }],
    ["the video is gone", { kind: "unavailable" }],
    ["the video is for members, and its stream has ended", { kind: "members-only", stream: "ended" }],
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
    ["pages that fail", {}, [PLACES, NO]],
    ["a failing popout page, the only one with the chat", { foundOn: "popout" }, ["popout", NO]],
    ["a failing watch page, the only one with the chat", { foundOn: "watch" }, ["watch", NO]],
    ["a failing next, the only source with the chat", { foundOn: "next" }, ["next", NO]],
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

describe("a first viewer learns the standing of the chat, which is remembered unless it is a wall", () => {
  const cases: [what: string, Partial<Scenario>, Trouble[], why: RegExp, isKept: boolean][] = [
    ["a chat that is disabled", { kind: "disabled" }, [], /^No live chat found: .*disabled/, true],
    ["a video without one", { kind: "none" }, [], /^No live chat found: the video has no live chat$/, true],
    ["a sign-in", {}, [[PLACES, "bot"]], /but there may be one: .*asks this server to sign in/, false],
    ["consent", {}, [[PLACES, "consent"]], /but there may be one: .*consent/, false],
    ["no data", {}, [[PLACES, "no-data"]], /but there may be one: .*no initial data/, false],
    ["another video", {}, [[PLACES, "other-video"]], /but there may be one: .*another video/, false],
    ["not live", {}, [[PLACES, "offline"]], /^No live chat found: .*is not live/, true],
    ["a chat that is off", { kind: "off" }, [], /^No live chat found: .*disabled/, true],
    ["a private video", { kind: "private" }, [], /^No live chat found: the video is private/, true],
    ["a video for members", { kind: "members-only" }, [], /^No live chat found: .*for members/, true],
    [
      "a sign-in for an age limit",
      { kind: "age-limit" },
      [],
      /^No live chat found: .*confirm your age/,
      true,
    ],
    ["a check of age", { kind: "age-check" }, [], /^No live chat found: YouTube asks for a confirm/, true],
    [
      "a check of content",
      { kind: "content-check" },
      [],
      /^No live chat found: YouTube asks for a con/,
      true,
    ],
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

/** How many walls were counted, by what they concern. */
async function counted(relay: VirtualRelay) {
  const of = (concerns: string) => relay.metric(`relay_walls_total{egress="direct",concerns="${concerns}"}`);
  return { address: await of("address"), video: await of("video") };
}

/** The level and reason of each line of the log that reports a refused room. */
function reported({ log }: VirtualRelay): string[] {
  return log.filter(({ msg }) => msg === "room not opened").map(({ level, why }) => `${level} ${why}`);
}

describe("a wall is counted by what it concerns, and logged as a warning that says what it is", () => {
  const SCRIPTS: RequestKind[] = ["sw.js", "sw.js_data"];
  const CHAT: RequestKind[] = ["get_live_chat", "get_live_chat_replay"];
  const REFUSED: Failure = { status: 403 };
  const CONSENT_HOST: Failure = { redirect: "https://consent.youtube.com/m?continue=a" };
  const ADDRESS = { address: 1, video: 0 };
  const ONE_VIDEO = { address: 0, video: 1 };
  const cases: [what: string, Partial<Scenario>, Trouble[], counts: object, said: RegExp][] = [
    ["consent", {}, [[PLACES, "consent"]], ADDRESS, /^40 .*asks for consent to cookies/],
    ["consent on another host", {}, [[PLACES, CONSENT_HOST]], ADDRESS, /^40 .*asks for consent to cookies/],
    [
      "consent in place of scripts and pages",
      {},
      [
        [SCRIPTS, "consent"],
        [PLACES, "consent"],
      ],
      ADDRESS,
      /^40 Neither sw\.js .*asks for consent to cookies/,
    ],
    ["a sign-in for bots", {}, [[PLACES, "bot"]], ADDRESS, /^40 .*asks this server to sign in .*not a bot/],
    ["pages that are refused", {}, [[PLACES, REFUSED]], ADDRESS, /^40 .*HTTP 403/],
    ["chat calls that are refused", {}, [[CHAT, REFUSED]], ADDRESS, /^40 No client .*HTTP 403/],
    ["a sign-in for an age limit", { kind: "age-limit" }, [], ONE_VIDEO, /^40 .*sign in .*confirm your age/],
    ["no wall, but no chat", { kind: "disabled" }, [], { address: 0, video: 0 }, /^30 .*disabled/],
  ];
  for (const [what, scenario, troubles, counts, said] of cases) {
    it(what, async () => {
      const relay = new VirtualRelay();
      relay.upstream.chat(VIDEO, scenario);
      assert.deepEqual(await counted(relay), { address: 0, video: 0 });
      for (const [on, as] of troubles) failAlways(relay, on, as);
      await relay.refusal({ videoId: VIDEO });
      assert.deepEqual(await counted(relay), counts);
      assert.equal(reported(relay).length, 1);
      assert.match(reported(relay).join(), said);
    });
  }

  it("a consent page in place of a channel's pages", async () => {
    const relay = new VirtualRelay();
    relay.upstream.channel("@somebody");
    failAlways(relay, ["live", "streams"], "consent");
    using _ = relay.channels.watch("@somebody", "192.0.2.1");
    await relay.advance(1000);
    assert.deepEqual(await counted(relay), ADDRESS);
  });
});

it("walls of three videos within minutes, with no chat in between, concern the address", async () => {
  const relay = new VirtualRelay({ settings: { RELAY_NO_CHAT_MS: "0" } });
  for (const n of [1, 2, 3, 4]) relay.upstream.chat(`age-limit-${n}`, { kind: "age-limit" });
  relay.upstream.chat(VIDEO, { kind: "disabled" });
  const ask = (videoId: string) => relay.refusal({ videoId });
  for (const n of [1, 1, 1, 2]) await ask(`age-limit-${n}`);
  await ask(VIDEO);
  for (const n of [3, 4]) await ask(`age-limit-${n}`);
  assert.deepEqual(await counted(relay), { address: 0, video: 6 });
  await ask("age-limit-1");
  assert.deepEqual(await counted(relay), { address: 1, video: 6 });
  await relay.advance(16 * 60_000);
  await ask("age-limit-2");
  assert.deepEqual(await counted(relay), { address: 1, video: 7 });
});
