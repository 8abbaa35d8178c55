/**
 * The end of the specification's bootstrap: which client and endpoint read a chat, the pace of polling, and what
 * throttling on the way there leads to. The steps before are in bootstrap.test.ts.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Failure } from "../src/simulator/faults.ts";
import type { RequestKind } from "../src/simulator/requests.ts";
import type { Scenario } from "../src/simulator/scenario.ts";
import { assertFails, bootstraps } from "./support/answered-room.ts";
import {
  asked,
  failAlways,
  inTime,
  opened,
  openStream,
  PLACES,
  refused,
  startAtRest,
  textAction,
  tried,
} from "./support/opening.ts";
import { startRelay } from "./support/relay.ts";

const VIDEO = "bootstrap03";
const OTHER = "bootstrap04";

const PAIRS = [
  { client: "WEB", endpoint: "get_live_chat" },
  { client: "WEB", endpoint: "get_live_chat_replay" },
  { client: "TVHTML5", endpoint: "get_live_chat" },
  { client: "TVHTML5", endpoint: "get_live_chat_replay" },
] as const;
const nameOf = ({ client, endpoint }: (typeof PAIRS)[number]): string => `${client} ${endpoint}`;

describe("4. try WEB, then TVHTML5, each with get_live_chat before get_live_chat_replay", () => {
  for (const [place, pair] of PAIRS.entries()) {
    it(`where ${nameOf(pair)} alone works, it is tried after those before it, and used from then on`, async () => {
      await using relay = await startRelay();
      const chat = relay.upstream.chat(VIDEO, { works: [pair], timeoutMs: 10 });
      await using stream = await openStream(relay, { videoId: VIDEO });
      for (const id of ["one", "two", "three"]) {
        chat.say([textAction(id)]);
        await stream.until(() => stream.ids.includes(id));
      }
      const [before, after] = [PAIRS.slice(0, place), tried(relay).slice(place)];
      assert.deepEqual(tried(relay).slice(0, place), before.map(nameOf));
      assert.deepEqual([...new Set(after)], [nameOf(pair)]);
      assert.ok(after.length >= 3);
      assert.equal(bootstraps(relay), 1);
    });
  }

  it("stops at the first that works", async () => {
    await using relay = await startAtRest();
    relay.upstream.chat(VIDEO, { works: PAIRS.slice(1) });
    await opened(relay, VIDEO);
    assert.deepEqual(tried(relay), PAIRS.slice(0, 2).map(nameOf));
  });

  it("answers NO_WORKING_CLIENT where none does, telling of each, and leaves no room", async () => {
    await using relay = await startAtRest();
    const chat = relay.upstream.chat(VIDEO, { works: [] });
    const { failure, message } = await refused(relay, VIDEO);
    assert.equal(failure, "502 NO_WORKING_CLIENT");
    assert.deepEqual(tried(relay), PAIRS.map(nameOf));
    for (const pair of PAIRS) assert.ok(message.includes(`${nameOf(pair)}: `), message);
    chat.change({ works: undefined });
    await opened(relay, VIDEO);
  });

  it("takes the answer that proved the pair as the first batch: nothing is lost or asked twice", async () => {
    await using relay = await startAtRest();
    const { upstream } = relay;
    const chat = upstream.chat(VIDEO, { works: [PAIRS[1]], page: 2 });
    chat.say(["page 1", "page 2"].map(textAction));
    upstream.fault({ on: "get_live_chat_replay", times: 1, as: { delayMs: 20 } });
    const proved = upstream.requested("get_live_chat_replay").then(() => chat.say([textAction("proof")]));
    await using stream = await openStream(relay, { videoId: VIDEO });
    await proved;
    await stream.untilMessages(3);
    assert.deepEqual(stream.ids, ["page 1", "page 2", "proof"]);
    assert.deepEqual(tried(relay), PAIRS.slice(0, 2).map(nameOf));
  });

  it("keeps the pair for the room's life, and chooses anew for the next room", async () => {
    await using relay = await startRelay({ settings: { RELAY_MAX_FAILURES: "2" } });
    const chat = relay.upstream.chat(VIDEO, { works: [PAIRS[2]], timeoutMs: 10 });
    chat.say(1);
    await using stream = await openStream(relay, { videoId: VIDEO });
    await stream.untilMessages(1);
    chat.change({ works: [PAIRS[0]] });
    await assertFails(stream);
    assert.deepEqual([...new Set(tried(relay).slice(2))], [nameOf(PAIRS[2])]);
    const before = tried(relay).length;
    await opened(relay, VIDEO);
    assert.equal(tried(relay)[before], nameOf(PAIRS[0]));
  });
});

describe("5. poll at the interval the upstream requests, clamped", () => {
  const intervals: [asks: number | null, min: number, max: number, waits: number][] = [
    [60, 5, 5000, 60],
    [0, 50, 5000, 50],
    [60_000, 5, 50, 50],
    // It names none: a second, clamped too.
    [null, 5, 50, 50],
  ];
  for (const [asks, min, max, waits] of intervals) {
    it(`asked for ${asks} ms, it waits ${waits} between ${min} and ${max}`, async () => {
      const settings = { RELAY_POLL_MIN_MS: String(min), RELAY_POLL_MAX_MS: String(max) };
      await using relay = await startRelay({ settings });
      relay.upstream.chat(VIDEO, { timeoutMs: asks });
      await using _ = await openStream(relay, { videoId: VIDEO });
      const calls = relay.upstream.requested("get_live_chat", { count: 4, since: 0, finished: true });
      const polls = await inTime(calls, "three polls");
      // From start to start; a call takes a while to arrive, some longer than others.
      const waited = ((polls.at(-1)?.at ?? Number.NaN) - (polls[0]?.at ?? 0)) / 3;
      assert.ok(waited > waits - 10 && waited < waits + 500, `polls came after ${waited} ms in the mean`);
    });
  }
});

describe("a bootstrap that is throttled answers 429 RATE_LIMITED with Retry-After in whole seconds", () => {
  const steps: [on: RequestKind, Partial<Scenario>][] = [
    ["sw.js", {}],
    ["sw.js_data", {}],
    ["popout", {}],
    ["watch", { foundOn: "watch" }],
    ["get_live_chat", {}],
    ["get_live_chat_replay", { kind: "replay" }],
  ];
  const signals: [what: string, as: Failure][] = [
    ["HTTP 429", { status: 429 }],
    ["a captcha page", "captcha"],
    ["a redirect to a captcha", { redirect: "https://www.google.com/sorry/index?continue=a" }],
  ];
  for (const [on, scenario] of steps) {
    for (const [what, as] of signals) {
      it(`at ${on} by ${what}, and the next video is refused at once without asking`, async () => {
        const settings = { RELAY_COOLDOWN_MS: "30000" };
        await using relay = await startAtRest({ settings, simulator: { serviceWorker: "stub" } });
        for (const videoId of [VIDEO, OTHER]) relay.upstream.chat(videoId, scenario);
        const fault = relay.upstream.fault({ on, times: 1, as });
        const first = await refused(relay, VIDEO);
        assert.equal(fault.fired, 1);
        const requests = asked(relay);
        assert.equal(requests.at(-1), on, "nothing is tried after it");
        const second = await refused(relay, OTHER);
        assert.deepEqual(asked(relay), requests);
        for (const { failure, retryAfter } of [first, second]) {
          assert.equal(failure, "429 RATE_LIMITED");
          assert.match(retryAfter ?? "", /^(2[5-9]|30)$/);
        }
      });
    }
  }

  const PAST = Date.parse("2026-01-01T00:00:00Z"); // by a clock that is behind
  const DATED = {
    Date: new Date(PAST).toUTCString(),
    "Retry-After": new Date(PAST + 600_000).toUTCString(),
  };
  for (const [what, headers, expected] of [
    ["for as long as the upstream says, where it says so", { "Retry-After": "7200" }, /^(7200|719\d)$/],
    ["until a date by the upstream's own clock", DATED, /^(600|59\d)$/],
  ] as const) {
    it(what, async () => {
      await using relay = await startAtRest();
      relay.upstream.fault({ on: "popout", times: 1, as: { status: 429, headers } });
      assert.match((await refused(relay, VIDEO)).retryAfter ?? "", expected);
    });
  }

  for (const [wall, as] of [
    ["a redirect to sign in", { redirect: "https://accounts.google.com/ServiceLogin" }],
    ["HTTP 500", { status: 500 }],
  ] as const) {
    it(`for twice as long the next time, where in between ${wall} came in place of every page`, async () => {
      const settings = { RELAY_COOLDOWN_MS: "1000", RELAY_NO_CHAT_MS: "0" };
      await using relay = await startAtRest({ settings });
      const retryAfters: (string | null)[] = [];
      for (const failure of ["captcha", as, "captcha"] as const) {
        const repair = failAlways(relay, PLACES, failure);
        retryAfters.push((await refused(relay, VIDEO)).retryAfter);
        repair();
        if (failure === "captcha") await delay(1050); // the pause is over, for less time than it took
      }
      assert.deepEqual(retryAfters, ["1", null, "2"]);
    });
  }

  it("and opens the room once the cooldown is over", { timeout: 5000 }, async () => {
    await using relay = await startAtRest({ settings: { RELAY_COOLDOWN_MS: "100" } });
    relay.upstream.chat(VIDEO);
    relay.upstream.fault({ on: "popout", times: 1, as: { status: 429 } });
    const { failure, retryAfter } = await refused(relay, VIDEO);
    assert.equal(`${failure} ${retryAfter}`, "429 RATE_LIMITED 1");
    const [throttled] = relay.upstream.requests.slice(-1);
    let response: Response;
    do {
      await delay(5);
      response = await fetch(`${relay.url}/v1/stream?videoId=${VIDEO}`);
      await response.body?.cancel();
    } while (response.status === 429);
    assert.equal(response.status, 200);
    const again = relay.upstream.requests.find(({ at }) => at > (throttled?.at ?? 0));
    assert.ok((again?.at ?? 0) - (throttled?.at ?? 0) >= 95);
  });
});
