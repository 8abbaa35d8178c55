/**
 * All messages of a chat, whichever door it came in by: where a page's menu is dead, the first answer has a
 * whole one, and its token of all messages is taken before anything is sent.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { identify } from "../../../simulator/chat-log.ts";
import type { Failure } from "../../../simulator/index.ts";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../../harness/virtual-relay.ts";
import { pollOf, post, type SessionBody, session } from "../../support/api.ts";
import { asked, failAlways, PLACES } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { assertConsecutive } from "../../support/stream.ts";
import { requestsOf } from "../../support/virtual-room.ts";

const VIDEO = "both-views1";
const IN_TOP = "relay_rooms_in_top_chat";
const CALLS = { live: "get_live_chat", replay: "get_live_chat_replay" } as const;

/** A chat of plain messages whose popout page is a wall, or shows none. */
function watched(scenario: Partial<Scenario> = {}, options: VirtualRelayOptions = {}) {
  const relay = new VirtualRelay(options);
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], foundOn: "watch", ...scenario });
  return { relay, chat, ids: () => chat.ledger.map(({ id }) => id) };
}

/** The view of the room, as it is listed and shown, which must agree with the gauge. */
async function viewOf(relay: VirtualRelay): Promise<string | null | undefined> {
  const [listed] = await relay.when(relay.list.all());
  const shown = await relay.when(relay.list.show(VIDEO, undefined, true));
  assert.equal(listed?.view, shown.view);
  assert.equal(await relay.metric(IN_TOP), listed?.view === "top" ? 1 : 0);
  return listed?.view;
}

const told = (relay: VirtualRelay) => relay.log.filter(({ msg }) => /only Top chat is read/.test(msg));

describe("a chat whose page has a dead menu", () => {
  it("is sent whole and in the order of saying, history and all, for one call more", async () => {
    const { relay, chat, ids } = watched();
    chat.say(30);
    const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 });
    await viewer.untilMessages(30);
    chat.say(10);
    await viewer.untilMessages(40);
    assert.deepEqual(viewer.ids, ids());
    assertConsecutive(viewer.cursors, viewer.init.cursor);
    const opening = ["sw.js", "popout", "watch", CALLS.live, CALLS.live];
    assert.deepEqual(asked(relay).slice(0, 5), opening);
    assert.equal(await viewOf(relay), "all");
    assert.equal(relay.log.find(({ msg }) => msg === "room opened")?.view, "all");
    assert.deepEqual(told(relay), []);
  });

  it("is sent nothing before both answers are there", async () => {
    const { relay, chat } = watched();
    chat.say(30);
    relay.upstream.fault({ on: CALLS.live, times: 1, as: { delayMs: 0 } });
    relay.upstream.fault({ on: CALLS.live, times: 1, as: { delayMs: 3000 } });
    const viewer = relay.visit({ videoId: VIDEO });
    await relay.requested(CALLS.live, { count: 2 });
    await relay.advance(2500);
    assert.deepEqual(await relay.stored(VIDEO), []);
    await relay.when(viewer.entered);
    await viewer.untilMessages(30);
  });

  it("costs nothing more where the popout page's menu is whole", async () => {
    const { relay, chat, ids } = watched({ foundOn: "everywhere" });
    chat.say(30);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(30);
    assert.deepEqual(viewer.ids, ids());
    assert.deepEqual(asked(relay), ["sw.js", "popout", CALLS.live]);
    assert.equal(await viewOf(relay), "all");
  });

  it("is read from its beginning if it is a replay, each message once and in order", async () => {
    const { relay, chat, ids } = watched({ kind: "replay", pageSize: 20 });
    chat.say(90);
    const viewer = await relay.enter({ videoId: VIDEO });
    assert.equal((await viewer.ended())?.event, "end");
    assert.deepEqual(viewer.ids, ids());
    assert.deepEqual(asked(relay).slice(0, 6), [
      "sw.js",
      "popout",
      "watch",
      CALLS.live,
      CALLS.replay,
      CALLS.replay,
    ]);
    assert.equal(await viewOf(relay), "all");
  });

  it("is read whole again by a new page after its token is lost", async () => {
    const { relay, chat, ids } = watched();
    chat.say(10);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(10);
    chat.expireTokens();
    chat.say(20);
    await viewer.untilMessages(30);
    assert.deepEqual(viewer.ids, ids());
    assert.equal(requestsOf(relay, "watch").length, 2);
    assert.equal(await viewOf(relay), "all");
  });

  it("is read on from its checkpoint in its view, after a restart", async () => {
    const { relay, chat, ids } = watched({}, { hasDisk: true });
    chat.say(10);
    const before = await relay.enter({ videoId: VIDEO });
    await before.untilMessages(10);
    await relay.restart();
    chat.say(20);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(30);
    assert.deepEqual(viewer.ids, ids());
    assert.equal(requestsOf(relay, "watch").length, 1);
    assert.equal(await viewOf(relay), "all");
  });

  it("is read in Top chat alone, without a warning, if RELAY_CHAT_VIEW=top", async () => {
    const { relay, chat } = watched({}, { settings: { RELAY_CHAT_VIEW: "top" } });
    chat.say(30);
    const viewer = await relay.enter({ videoId: VIDEO });
    await relay.advance(10_000);
    assert.ok(viewer.ids.length > 0 && viewer.ids.length < 30, `${viewer.ids.length} of 30`);
    const [listed] = await relay.when(relay.list.all());
    assert.deepEqual([listed?.view, await relay.metric(IN_TOP), told(relay)], ["top", 0, []]);
  });
});

describe("the token of all messages that an answer offers", () => {
  const answering = (...continuations: object[]): Failure => ({
    status: 200,
    body: { continuationContents: { liveChatContinuation: { continuations } } },
  });
  const next = { timedContinuationData: { continuation: "made-up", timeoutMs: 1000 } };
  const given: [what: string, as: Failure, why: RegExp][] = [
    ["is refused", { status: 400 }, /invalid argument/],
    ["is denied", { status: 403 }, /403/],
    ["has no chat", "no-contents", /silent/],
    ["is silent", answering(), /silent/],
    ["is silent and goes on", answering(next), /silent/],
  ];
  for (const kind of ["live", "replay"] as const) {
    for (const [what, as, why] of given) {
      it(`leaves a ${kind} chat in Top chat if it ${what}: logged once, shown by room and gauge`, async () => {
        const { relay, chat } = watched({ kind, pageSize: 20, spacingMs: 10 });
        chat.say(30);
        const on = CALLS[kind];
        relay.upstream.fault({ on, times: 1, as: { delayMs: 0 } });
        const fault = relay.upstream.fault({ on, times: 1, as });
        const viewer = await relay.enter({ videoId: VIDEO });
        if (kind === "live") {
          assert.equal(await viewOf(relay), "top");
          chat.say(30);
          await relay.advance(10_000);
        } else await viewer.ended();
        assert.equal(fault.fired, 1);
        assert.ok(viewer.ids.length > 10 && viewer.ids.length < 50, `${viewer.ids.length} messages`);
        assertConsecutive(viewer.cursors, viewer.init.cursor);
        const [line, ...more] = told(relay);
        assert.deepEqual([line?.videoId, line?.view, line?.level, more], [VIDEO, "top", 40, []]);
        assert.match(String(line?.why), why);
        assert.equal(relay.log.find(({ msg }) => msg === "room opened")?.view, "top");
      });
    }

    it(`is asked once more if a ${kind} chat's call fails, and nothing is sent before it answers`, async () => {
      const { relay, chat, ids } = watched({ kind, tokens: "reusable" });
      chat.say(30);
      const on = CALLS[kind];
      relay.upstream.fault({ on, times: 1, as: { delayMs: 0 } });
      const fault = relay.upstream.fault({ on, times: 1, as: { status: 503 } });
      const viewer = await relay.enter({ videoId: VIDEO });
      await viewer.untilMessages(30);
      assert.equal(fault.fired, 1);
      assert.deepEqual(viewer.ids, ids());
      assert.deepEqual(told(relay), []);
    });
  }

  it("is tried again at the next poll after a longer throttle or failure: nothing is missing", async () => {
    const { relay, chat, ids } = watched({ tokens: "reusable" });
    chat.say(30);
    relay.upstream.fault({ on: CALLS.live, times: 1, as: { delayMs: 0 } });
    relay.upstream.fault({ on: CALLS.live, times: 2, as: { status: 503 } });
    const viewer = await relay.enter({ videoId: VIDEO });
    assert.equal(await viewOf(relay), "top");
    assert.equal(told(relay).length, 1);
    await viewer.untilMessages(30);
    assert.deepEqual(new Set(viewer.ids), new Set(ids()));
    assert.equal(await viewOf(relay), "all");
    assert.equal(told(relay).length, 1);
  });

  for (const kind of ["live", "replay"] as const) {
    it(`is tried again at a ${kind} chat's next poll if not answered in time: nothing is missing`, async () => {
      const { relay, chat, ids } = watched({ kind, tokens: "reusable", pageSize: 20 });
      chat.say(30);
      relay.upstream.fault({ on: CALLS[kind], times: 1, as: { delayMs: 0 } });
      const fault = relay.upstream.fault({ on: CALLS[kind], times: 1, as: "silent" });
      const viewer = await relay.enter({ videoId: VIDEO });
      assert.equal(await viewOf(relay), "top");
      await viewer.untilMessages(30);
      assert.deepEqual(new Set(viewer.ids), new Set(ids()));
      assert.equal(await viewOf(relay), "all");
      assert.deepEqual([fault.fired, told(relay).length], [1, 1]);
    });
  }

  it("is given up if two polls in a row get no answer to it", async () => {
    const { relay, chat } = watched({ tokens: "reusable" });
    chat.say(30);
    for (let polls = 0; polls < 2; polls++) {
      relay.upstream.fault({ on: CALLS.live, times: 1, as: { delayMs: 0 } });
      relay.upstream.fault({ on: CALLS.live, times: 1, as: "silent" });
    }
    await relay.enter({ videoId: VIDEO });
    await relay.advance(60_000);
    const [, first, ...later] = requestsOf(relay, CALLS.live);
    const again = later.filter(({ continuation }) => continuation === first?.continuation);
    assert.deepEqual([again.length, later.length > 3, await viewOf(relay)], [1, true, "top"]);
  });

  it("is tried again after each throttling, however many follow each other", async () => {
    const { relay, chat, ids } = watched({ tokens: "reusable" });
    chat.say(30);
    for (let throttlings = 0; throttlings < 3; throttlings++) {
      relay.upstream.fault({ on: CALLS.live, times: 1, as: { delayMs: 0 } });
      relay.upstream.fault({ on: CALLS.live, times: 1, as: { status: 429 } });
    }
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(30);
    assert.deepEqual(new Set(viewer.ids), new Set(ids()));
    assert.equal(await viewOf(relay), "all");
    assert.equal(told(relay).length, 1);
  });

  it("is asked in the lane of polls, although the page came only after failures", async () => {
    const { relay, chat } = watched();
    chat.say(10);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(10);
    const polls = () => relay.metric('relay_gate_lateness_seconds_count{egress="direct",lane="poll"}');
    const mend = failAlways(relay, ["popout", "watch", "next"], { status: 503 });
    chat.expireTokens();
    await relay.requested("next", { count: 2 });
    const before = (await polls()) ?? 0;
    mend();
    await relay.requested(CALLS.live, { count: 2 });
    await relay.advance(200);
    assert.equal(await polls(), before + 1);
  });

  it("is looked for by a page again: a room in Top chat reads all as soon as a re-bootstrap offers it", async () => {
    const { relay, chat } = watched();
    chat.say(10);
    relay.upstream.fault({ on: CALLS.live, times: 1, as: { delayMs: 0 } });
    relay.upstream.fault({ on: CALLS.live, times: 1, as: { status: 400 } });
    const viewer = await relay.enter({ videoId: VIDEO });
    assert.equal(await viewOf(relay), "top");
    chat.expireTokens();
    const said = chat.say(20);
    await viewer.until(() => said.every((id) => viewer.ids.includes(id)));
    assert.equal(await viewOf(relay), "all");
  });
});

describe("a token of all messages whose answer comes later than the upstream keeps messages", () => {
  const DELAYS_MS = [4000, 7000];
  /** A message soon after the first answer is no longer kept when the second is made. */
  const HELD_MS = 5000;
  type Open = (relay: VirtualRelay, chat: Chat) => Promise<number | undefined>;
  async function late(page: number, opens: Open) {
    const { relay, chat, ids } = watched({ tokens: "reusable", page, holdsMs: HELD_MS });
    chat.say(20);
    const wholeAt = await opens(relay, chat);
    for (const delayMs of DELAYS_MS) relay.upstream.fault({ on: CALLS.live, times: 1, as: { delayMs } });
    const viewer = relay.visit({ videoId: VIDEO, backfill: 500, details: true });
    await relay.requested(CALLS.live, { finished: true });
    const readAt = relay.clock.now();
    await relay.advance(1000);
    chat.say(1);
    await relay.advance(HELD_MS);
    chat.say(10);
    await relay.when(viewer.entered);
    await viewer.until(() => viewer.ids.includes(ids().at(-1) ?? ""));
    assertConsecutive(viewer.cursors, viewer.init.cursor);
    return { viewer, said: ids(), wholeAt: wholeAt ?? readAt };
  }
  /** Each resolves to the time at which all messages were read, if they were. */
  const READS: Record<string, Open> = {
    "at an opening": async () => undefined,
    "at a re-bootstrap": async (relay, chat) => {
      const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 });
      await viewer.untilMessages(5);
      const wholeAt = relay.clock.now();
      chat.expireTokens();
      await relay.requested("watch");
      return wholeAt;
    },
  };
  for (const [when, opens] of Object.entries(READS)) {
    it(`${when} marks the gap between the two answers if they do not join`, async () => {
      const { viewer, said, wholeAt } = await late(5, opens);
      const gap = viewer.messages.findIndex(({ message }) => message.type === "gap");
      assert.deepEqual(viewer.ids.slice(gap + 1), said.slice(-10));
      assert.ok(gap > 0 && said.slice(0, 20).includes(viewer.ids[gap - 1] ?? ""), `a gap at ${gap}`);
      const told = viewer.messages[gap]?.message.details as { gap: { since: string } } | undefined;
      const sinceMs = Date.parse(told?.gap.since ?? "");
      assert.ok(Math.abs(sinceMs - wholeAt) < 1000, `since ${sinceMs}, whole until ${wholeAt}`);
    });

    it(`${when} marks none if they join: both are one list`, async () => {
      const { viewer, said } = await late(50, opens);
      assert.deepEqual(viewer.ids, said);
    });
  }
});

it("a gap before Top chat is marked again where all messages begin", async () => {
  const onlyInAll = (action: JsonObject) => ids().indexOf(identify(action).id) % 3 > 0;
  const { relay, chat, ids } = watched({ tokens: "reusable", holdsMs: 5000, onlyInAll });
  chat.say(5);
  const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 });
  await viewer.untilMessages(5);
  const mend = failAlways(relay, PLACES, "silent");
  chat.expireTokens();
  const talk = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 100) {
      chat.say(6);
      await relay.advance(100);
    }
  };
  await talk(30_000);
  for (const delayMs of [0, 4000]) relay.upstream.fault({ on: CALLS.live, times: 1, as: { delayMs } });
  mend();
  await talk(30_000);
  await viewer.until(() => viewer.ids.includes(ids().at(-1) ?? ""));
  const said = ids();
  const gaps = viewer.messages.flatMap(({ message }, at) => (message.type === "gap" ? [at] : []));
  const [first = 0, second = 0] = gaps;
  assert.deepEqual([gaps.length, viewer.ids.slice(0, first)], [2, said.slice(0, 5)]);
  const inTop = viewer.ids.slice(first + 1, second).map((id) => said.indexOf(id));
  const begin = said.indexOf(viewer.ids[second + 1] ?? "");
  assert.ok(begin - (inTop[0] ?? begin) > inTop.length, `${inTop} and ${begin}: none is missing between`);
  assert.deepEqual(viewer.ids.slice(second + 1), said.slice(begin));
});

it("leaves a gap although Top chat reaches back to the stored messages: Top chat omits messages", async () => {
  const onlyInAll = (action: JsonObject) => [6, 8].includes(ids().indexOf(identify(action).id));
  const { relay, chat, ids } = watched({ tokens: "reusable", page: 10, onlyInAll });
  chat.say(5);
  const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 });
  await viewer.untilMessages(5);
  const mend = failAlways(relay, PLACES, "silent");
  chat.expireTokens();
  await relay.advance(20_000);
  chat.say(3);
  relay.upstream.fault({ on: CALLS.live, times: 1, as: "reset" });
  mend();
  await relay.requested("watch", { finished: true });
  chat.say(12); // so the answer with all messages begins at the eleventh
  await viewer.until(() => viewer.ids.includes(ids().at(-1) ?? ""));
  const seen = viewer.messages.map(({ message: { id, type } }) =>
    type === "gap" ? type : ids().indexOf(id),
  );
  assert.deepEqual(seen, [0, 1, 2, 3, 4, "gap", 5, 7, 9, "gap", 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
});

describe("a session", () => {
  for (const [chatView, foundOn] of [
    ["all", "watch"],
    ["all", "everywhere"],
    ["top", "watch"],
  ] as const) {
    it(`has a token and messages of the view "${chatView}" for a chat found on "${foundOn}"`, async () => {
      await using relay = await startRelay({ settings: { RELAY_CHAT_VIEW: chatView } });
      const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], foundOn });
      const said = chat.say(30);
      const first = await session(relay.url, { videoId: VIDEO });
      const later = chat.say(30);
      const { body } = await post<SessionBody>(relay.url, "/v1/poll", pollOf(first));
      for (const [{ messages }, all] of [
        [first, said],
        [body, later],
      ] as const) {
        const ids = messages.map(({ id }) => id);
        if (chatView === "all") assert.deepEqual(ids, all);
        else assert.ok(ids.length > 0 && ids.length < 30, `${ids.length} of 30`);
      }
    });
  }

  it("of a replay without messages gets a good token: a poll with it reports the end again", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, { kind: "replay" });
    const first = await session(relay.url, { videoId: VIDEO });
    const { status, body } = await post<SessionBody>(relay.url, "/v1/poll", pollOf(first));
    assert.deepEqual([status, body.token, body.messages], [200, null, []]);
  });
});
