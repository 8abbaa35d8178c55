/**
 * An upstream whose scripts, pages and answers have absurd contents: beyond all bounds, they are unusable as
 * a whole; otherwise they are cut down to a message or skipped, and the chat continues.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { assertRefused, type PollBody } from "../../support/api.ts";
import { PATIENCE_MS } from "../../support/eventually.ts";
import {
  assertPolledDespite,
  assertUnharmed,
  callerDespite,
  type FaultyUpstream,
  openedDespite,
  startFaulty,
  untilMet,
} from "../../support/faulty-upstream.ts";
import { ABSURD, TAKEN, UNUSABLE } from "../../support/hostile-answers.ts";
import type { HostileAnswer } from "../../support/hostile-call.ts";
import {
  acting,
  changed,
  PAGES,
  polluted,
  SCRIPTS,
  saying,
  withChat,
} from "../../support/hostile-content.ts";
import { peakGrowthMb } from "../../support/memory.ts";
import { openStream, PLACES, refused, textAction } from "../../support/opening.ts";
import type { Stream } from "../../support/stream.ts";
import { virtualRoom } from "../../support/virtual-room.ts";

/** Nothing here waits for a deadline. */
const DEADLINES = { chatMs: 30_000, pageMs: 30_000 };
const LIMIT = { timeout: PATIENCE_MS };
/** A few times the largest answer. */
const MAX_MB = 110;
/** The maximum size of one message as it is sent. */
const MAX_LENGTH = 150_000;

/** The relay of all tests that leave it as it was, each with a chat of its own. */
let all: FaultyUpstream;
before(async () => {
  all = await startFaulty(DEADLINES);
});
after(() => all[Symbol.asyncDispose]());

/** A test that must cost little memory. */
function itIsFrugal(name: string, work: (faulty: FaultyUpstream) => Promise<void>): void {
  it(name, LIMIT, async () => {
    const grownMb = await peakGrowthMb(() => work(all.another()));
    assert.ok(grownMb < MAX_MB, `${Math.round(grownMb)} MB more`);
    assert.equal("polluted" in {}, false, "a polluted prototype");
  });
}

/** Asserts that the room continues to the next message. */
async function assertGoesOn({ chat }: FaultyUpstream, stream: Stream, id: string): Promise<void> {
  chat.say([textAction(id)]);
  await stream.until(() => stream.ids.includes(id));
}

describe("credentials come from the page if the script has none that are usable", () => {
  for (const [name, script] of Object.entries(SCRIPTS)) {
    itIsFrugal(name, async (faulty) => {
      await using stream = await openedDespite(faulty, saying(script), ["sw.js", "sw.js_data"]);
      await assertUnharmed(faulty, stream, ["first"]);
    });
  }
});

describe("a page without a usable chat is replaced by the other page, or refused with NO_LIVE_CHAT", () => {
  for (const [name, page] of Object.entries(PAGES)) {
    itIsFrugal(name, async (faulty) => {
      const { relay, chat } = faulty;
      for (const kind of ["watch", "next"] as const) faulty.order(kind, saying(page));
      await Promise.all([
        faulty.order("popout", saying(page)).whenMet,
        refused(relay, chat.videoId).then(({ failure }) => assert.equal(failure, "404 NO_LIVE_CHAT")),
      ]);
      await using stream = await openedDespite(faulty, saying(page), ["popout"]);
      const order = faulty.order("popout", saying(page));
      chat.expireTokens();
      await untilMet(order);
      await assertGoesOn(faulty, stream, "second");
      await assertUnharmed(faulty, stream, ["first", "second"]);
    });
  }

  it("does not end a room if neither is a page of its video", LIMIT, async () => {
    await using faulty = await startFaulty(DEADLINES);
    const { chat } = faulty;
    await using stream = await openedDespite(faulty, saying("<html>"), []);
    const orders = PLACES.map((kind) => faulty.order(kind, saying("<html>")));
    chat.expireTokens();
    await Promise.all(orders.map(untilMet));
    await assertGoesOn(faulty, stream, "second");
    await assertUnharmed(faulty, stream, ["first", "second"]);
  });
});

describe("an answer beyond all bounds is unusable, and requested again", () => {
  for (const [name, hostile] of Object.entries(UNUSABLE)) {
    itIsFrugal(name, async (faulty) => {
      await using stream = await openedDespite(faulty, hostile, ["get_live_chat"]);
      await assertPolledDespite(faulty, stream, hostile);
      assertRefused(await callerDespite(faulty, hostile), 502, "UPSTREAM_ERROR");
      await assertUnharmed(faulty, stream, ["first", "second"]);
    });
  }
});

describe("an absurd action becomes a message of bounded size or none, and touches no other", () => {
  for (const [name, { actions, ids }] of Object.entries(ABSURD)) {
    itIsFrugal(name, async (faulty) => {
      const { relay, chat } = faulty;
      const hostile = acting(textAction("before"), ...actions, textAction("after"));
      await using stream = await openedDespite(faulty, hostile, []);
      await using detailed = await openStream(relay, { videoId: chat.videoId, details: true });
      await untilMet(faulty.order("get_live_chat", hostile));
      for (const viewer of [stream, detailed]) await viewer.until(() => viewer.ids.includes("after"));
      await assertGoesOn(faulty, stream, "last");
      await assertUnharmed(faulty, stream, ["first", "before", ...ids, "after", "last"]);
      for (const { message } of [...stream.messages, ...detailed.messages]) {
        const { length } = JSON.stringify(message);
        assert.ok(length < MAX_LENGTH, `a message of ${length} characters`);
      }
    });
  }
});

describe("an absurd answer is read for what it contains", () => {
  const answers: Record<string, HostileAnswer> = {
    "__proto__ and constructor everywhere": changed(polluted),
    ...Object.fromEntries(Object.entries(TAKEN).map(([name, change]) => [name, withChat(change)])),
  };
  for (const [name, hostile] of Object.entries(answers)) {
    itIsFrugal(name, async (faulty) => {
      await using stream = await openedDespite(faulty, hostile, ["get_live_chat"]);
      await assertPolledDespite(faulty, stream, hostile);
      await assertUnharmed(faulty, stream, ["first", "second"]);
    });
  }

  itIsFrugal("a page full of __proto__ and constructor", async (faulty) => {
    await using stream = await openedDespite(faulty, changed(polluted), ["sw.js", "popout"]);
    await assertUnharmed(faulty, stream, ["first"]);
    const { relay, chat } = faulty;
    const asked = relay.upstream.requests.filter(({ videoId }) => videoId === chat.videoId);
    assert.equal(asked.filter(({ kind }) => kind === "watch").length, 0);
  });

  it("a caller gets no wait that is too long for a timer", LIMIT, async () => {
    await using faulty = await startFaulty(DEADLINES);
    const waits: [asked: unknown, told: number][] = [
      [1e308, 600_000],
      ["99999999999", 600_000],
      [-1, 1000],
      ["NaN", 1000],
      [{}, 1000],
    ];
    for (const [timeoutMs, told] of waits) {
      const continuations = [{ timedContinuationData: { timeoutMs, continuation: "next" } }];
      const body = JSON.stringify({ continuationContents: { liveChatContinuation: { continuations } } });
      const answer = await callerDespite(faulty, saying(body, "application/json"));
      assert.equal((answer.body as PollBody).timeoutMs, told);
    }
  });

  itIsFrugal("an error of a million brackets is an expired token, reported briefly", async (faulty) => {
    const hostile = saying(JSON.stringify({ error: { code: 400, message: "<".repeat(1e6) } }));
    await using stream = await openedDespite(faulty, hostile, ["get_live_chat"]);
    await untilMet(faulty.order("get_live_chat", hostile));
    await assertGoesOn(faulty, stream, "second");
    assertRefused(await callerDespite(faulty, hostile), 410, "TOKEN_EXPIRED");
    await assertUnharmed(faulty, stream, ["first", "second"]);
  });
});

describe("Retry-After", () => {
  /** At most for an answer. */
  const LATENCY_MS = 150;
  const DAY_S = 24 * 60 * 60;
  const rows: [sent: string, seconds: number][] = [
    ["1e30", 1],
    ["99999999999999999999", 1],
    ["-5", 1],
    ["Infinity", 1],
    ["later 2030", 1],
    [`${"9".repeat(10_000)}x`, 1],
    ["999999999", DAY_S],
    ["Fri, 31 Dec 9999 23:59:59 GMT", DAY_S],
  ];
  for (const [sent, seconds] of rows) {
    it(`${sent.slice(0, 30)} is a cooldown of ${seconds} s, during which viewers stay`, async () => {
      const { relay, upstream, viewer } = await virtualRoom(1, { RELAY_COOLDOWN_MS: "1000" });
      const hostile = { status: 429, headers: { "retry-after": sent } };
      const fault = upstream.fault({ on: "get_live_chat", times: Number.POSITIVE_INFINITY, as: hostile });
      await relay.until(() => fault.fired > 0);
      await relay.advance(LATENCY_MS);
      const { code, retryAfterMs = 0 } = await relay.refusal({ videoId: "another-one" });
      assert.equal(code, "RATE_LIMITED");
      assert.equal(Math.ceil(retryAfterMs / 1000), seconds);
      assert.deepEqual([viewer.end, viewer.ids.length], [undefined, 1]);
    });
  }
});
