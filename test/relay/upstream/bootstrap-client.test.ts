/**
 * The end of the specification's bootstrap: which client and endpoint read a chat, the pace of polling, and
 * what throttling on the way there leads to. The steps before are in bootstrap.test.ts.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failure } from "../../../simulator/faults.ts";
import type { RequestKind } from "../../../simulator/requests.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { asked, failAlways, PLACES, textAction, tried } from "../../support/opening.ts";
import { intervals, refused, requestsOf } from "../../support/virtual-room.ts";

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
    it(`if only ${nameOf(pair)} works, tries it after those before it, and keeps it`, async () => {
      const relay = new VirtualRelay();
      const chat = relay.upstream.chat(VIDEO, { works: [pair], timeoutMs: 1000 });
      const stream = await relay.enter({ videoId: VIDEO });
      for (const id of ["one", "two", "three"]) {
        chat.say([textAction(id)]);
        await stream.until(() => stream.ids.includes(id));
      }
      const [before, after] = [PAIRS.slice(0, place), tried(relay).slice(place)];
      assert.deepEqual(tried(relay).slice(0, place), before.map(nameOf));
      assert.deepEqual([...new Set(after)], [nameOf(pair)]);
      assert.ok(after.length >= 3);
      assert.equal(requestsOf(relay, "popout").length, 1);
    });
  }

  it("stops at the first pair that works", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO, { works: PAIRS.slice(1) });
    await relay.enter({ videoId: VIDEO });
    assert.deepEqual(tried(relay), PAIRS.slice(0, 2).map(nameOf));
  });

  it("answers NO_WORKING_CLIENT if no pair works, naming each, and leaves no room", async () => {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { works: [] });
    const { failure, message } = await refused(relay, VIDEO);
    assert.equal(failure, "502 NO_WORKING_CLIENT");
    assert.deepEqual(tried(relay), PAIRS.map(nameOf));
    for (const pair of PAIRS) assert.ok(message.includes(`${nameOf(pair)}: `), message);
    chat.change({ works: undefined });
    await relay.enter({ videoId: VIDEO });
  });

  it("uses the answer that proved the pair as the first batch: nothing is lost or requested twice", async () => {
    const relay = new VirtualRelay();
    const { upstream } = relay;
    const chat = upstream.chat(VIDEO, { works: [PAIRS[1]], page: 2 });
    chat.say(["page 1", "page 2"].map(textAction));
    upstream.fault({ on: "get_live_chat_replay", times: 1, as: { delayMs: 200 } });
    const stream = relay.visit({ videoId: VIDEO });
    await relay.requested("get_live_chat_replay");
    chat.say([textAction("proof")]);
    await stream.untilMessages(3);
    assert.deepEqual(stream.ids, ["page 1", "page 2", "proof"]);
    assert.deepEqual(tried(relay), PAIRS.slice(0, 2).map(nameOf));
  });

  it("keeps the pair for the room's life, and chooses again for the next room", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_MAX_FAILURES: "2", RELAY_FAILING_MS: "0" } });
    const chat = relay.upstream.chat(VIDEO, { works: [PAIRS[2]], timeoutMs: 1000 });
    chat.say(1);
    const stream = await relay.enter({ videoId: VIDEO });
    await stream.untilMessages(1);
    chat.change({ works: [PAIRS[0]] });
    assert.equal((await stream.ended())?.event, "error");
    assert.deepEqual([...new Set(tried(relay).slice(2))], [nameOf(PAIRS[2])]);
    const before = tried(relay).length;
    await relay.enter({ videoId: VIDEO });
    assert.equal(tried(relay)[before], nameOf(PAIRS[0]));
  });
});

describe("5. poll at the interval the upstream requests, clamped", () => {
  const rows: [asks: number | null, min: number, max: number, waits: number][] = [
    [3000, 500, 15_000, 3000],
    [0, 700, 15_000, 700],
    [60_000, 500, 4000, 4000],
    // It names none: a second, clamped too.
    [null, 500, 15_000, 1000],
    [null, 2000, 15_000, 2000],
    [null, 500, 800, 800],
  ];
  for (const [asks, min, max, waits] of rows) {
    it(`waits ${waits} if the upstream asks for ${asks} ms, between ${min} and ${max}`, async () => {
      const settings = { RELAY_POLL_MIN_MS: String(min), RELAY_POLL_MAX_MS: String(max) };
      const relay = new VirtualRelay({ settings });
      relay.upstream.chat(VIDEO, { timeoutMs: asks });
      await relay.enter({ videoId: VIDEO });
      await relay.advance(10 * waits);
      assert.deepEqual(intervals(relay, "get_live_chat"), Array(10).fill(waits));
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
      it(`at ${on} by ${what}, refusing the next video without a call`, async () => {
        const relay = new VirtualRelay({ simulator: { serviceWorker: "stub" } });
        for (const videoId of [VIDEO, OTHER]) relay.upstream.chat(videoId, scenario);
        const fault = relay.upstream.fault({ on, times: 1, as });
        const first = await refused(relay, VIDEO);
        assert.equal(fault.fired, 1);
        const requests = asked(relay);
        assert.equal(requests.at(-1), on, "nothing is tried after it");
        const second = await refused(relay, OTHER);
        assert.deepEqual(asked(relay), requests);
        for (const { failure, retryAfterMs } of [first, second])
          assert.deepEqual([failure, retryAfterMs], ["429 RATE_LIMITED", 30_000]);
      });
    }
  }

  const DATED = {
    Date: new Date(Date.UTC(2001, 0, 1)).toUTCString(), // by a clock that is behind
    "Retry-After": new Date(Date.UTC(2001, 0, 1, 0, 10)).toUTCString(),
  };
  for (const [what, headers, expectedMs] of [
    ["for as long as the upstream says", { "Retry-After": "7200" }, 7_200_000],
    ["until a date by the upstream's own clock", DATED, 600_000],
  ] as const) {
    it(what, async () => {
      const relay = new VirtualRelay();
      relay.upstream.fault({ on: "popout", times: 1, as: { status: 429, headers } });
      assert.equal((await refused(relay, VIDEO)).retryAfterMs, expectedMs);
    });
  }

  for (const [wall, as] of [
    ["a redirect to sign in", { redirect: "https://accounts.google.com/ServiceLogin" }],
    ["HTTP 500", { status: 500 }],
  ] as const) {
    it(`for twice as long the next time if ${wall} came for every page in between`, async () => {
      const relay = new VirtualRelay({ settings: { RELAY_NO_CHAT_MS: "0" } });
      const retryAfters: (number | undefined)[] = [];
      for (const failure of ["captcha", as, "captcha"] as const) {
        const repair = failAlways(relay, PLACES, failure);
        retryAfters.push((await refused(relay, VIDEO)).retryAfterMs);
        repair();
        // The pause has ended, less time ago than it lasted.
        if (failure === "captcha") await relay.advance(30_001);
      }
      assert.deepEqual(retryAfters, [30_000, undefined, 60_000]);
    });
  }

  it("and opens the room once the cooldown is over", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO);
    relay.upstream.fault({ on: "popout", times: 1, as: { status: 429 } });
    assert.equal((await refused(relay, VIDEO)).failure, "429 RATE_LIMITED");
    const calls = asked(relay).length;
    await relay.advance(29_999);
    assert.equal((await refused(relay, VIDEO)).retryAfterMs, 1);
    assert.equal(asked(relay).length, calls);
    await relay.advance(1);
    await relay.enter({ videoId: VIDEO });
  });
});
