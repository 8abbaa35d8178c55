/**
 * An upstream whose scripts, pages and answers hold what none should: what is beyond all bounds is unusable as a
 * whole, what is merely absurd is cut down to a message or left out, and the chat goes on.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertRefused, type PollBody } from "./support/api.ts";
import {
  assertPolledDespite,
  assertUnharmed,
  type Besieged,
  besieged,
  callerDespite,
  openedDespite,
  untilMet,
  VIDEO,
} from "./support/besieged.ts";
import { ABSURD, TAKEN, UNUSABLE } from "./support/evil-answers.ts";
import { acting, changed, PAGES, polluted, SCRIPTS, saying, withChat } from "./support/evil-content.ts";
import type { Evil } from "./support/front.ts";
import { peakGrowthMb } from "./support/memory.ts";
import { inTime, openStream, refused, textAction } from "./support/opening.ts";
import type { Stream } from "./support/stream.ts";

/** Nothing here waits for a deadline. */
const DEADLINES = { chatMs: 30_000, pageMs: 30_000 };
const LIMIT = { timeout: 30_000 };
/** A few times the largest answer. */
const MOST_MB = 150;
/** Of one message as it is sent. */
const MOST_LENGTH = 150_000;

async function assertFrugal(work: () => Promise<void>): Promise<void> {
  const grownMb = await peakGrowthMb(work);
  assert.ok(grownMb < MOST_MB, `${Math.round(grownMb)} MB more`);
  assert.equal("polluted" in {}, false, "a polluted prototype");
}

/** Asserts that the room goes on to what is said next. */
async function assertGoesOn({ chat }: Besieged, stream: Stream, id: string): Promise<void> {
  chat.say([textAction(id)]);
  await stream.until(() => stream.ids.includes(id));
}

describe("a script without usable credentials leaves them to the page", () => {
  for (const [name, script] of Object.entries(SCRIPTS)) {
    it(name, LIMIT, () =>
      assertFrugal(async () => {
        await using siege = await besieged(DEADLINES);
        await using stream = await openedDespite(siege, saying(script), ["sw.js", "sw.js_data"]);
        await assertUnharmed(siege, stream, ["first"]);
      }),
    );
  }
});

describe("a page without a usable chat leaves it to the other page, and is told where that is no better", () => {
  for (const [name, page] of Object.entries(PAGES)) {
    it(name, LIMIT, () =>
      assertFrugal(async () => {
        await using siege = await besieged(DEADLINES);
        const { front, relay, chat } = siege;
        front.order("watch", saying(page));
        await Promise.all([
          front.order("popout", saying(page)).whenMet,
          refused(relay, VIDEO).then(({ failure }) => assert.equal(failure, "404 NO_LIVE_CHAT")),
        ]);
        await using stream = await openedDespite(siege, saying(page), ["popout"]);
        const order = front.order("popout", saying(page));
        chat.expireTokens();
        await untilMet(order);
        await assertGoesOn(siege, stream, "second");
        await assertUnharmed(siege, stream, ["first", "second"]);
      }),
    );
  }

  it("does not end a room where neither is a page of a video", LIMIT, async () => {
    await using siege = await besieged(DEADLINES);
    const { front, chat } = siege;
    await using stream = await openedDespite(siege, saying("<html>"), []);
    const orders = [front.order("popout", saying("<html>")), front.order("watch", saying("<html>"))];
    chat.expireTokens();
    await Promise.all(orders.map(untilMet));
    await assertGoesOn(siege, stream, "second");
    await assertUnharmed(siege, stream, ["first", "second"]);
  });
});

describe("an answer beyond all bounds is unusable, and asked for again", () => {
  for (const [name, evil] of Object.entries(UNUSABLE)) {
    it(name, LIMIT, () =>
      assertFrugal(async () => {
        await using siege = await besieged(DEADLINES);
        await using stream = await openedDespite(siege, evil, ["get_live_chat"]);
        await assertPolledDespite(siege, stream, evil);
        assertRefused(await callerDespite(siege, evil), 502, "UPSTREAM_ERROR");
        await assertUnharmed(siege, stream, ["first", "second"]);
      }),
    );
  }
});

describe("an absurd action becomes a message of bounded size, or none, and touches no other", () => {
  for (const [name, { actions, ids }] of Object.entries(ABSURD)) {
    it(name, LIMIT, () =>
      assertFrugal(async () => {
        await using siege = await besieged(DEADLINES);
        const { front, relay } = siege;
        const evil = acting(textAction("before"), ...actions, textAction("after"));
        await using stream = await openedDespite(siege, evil, []);
        await using detailed = await openStream(relay, { videoId: VIDEO, details: true });
        await untilMet(front.order("get_live_chat", evil));
        for (const viewer of [stream, detailed]) await viewer.until(() => viewer.ids.includes("after"));
        await assertGoesOn(siege, stream, "last");
        await assertUnharmed(siege, stream, ["first", "before", ...ids, "after", "last"]);
        for (const { message } of [...stream.messages, ...detailed.messages]) {
          const { length } = JSON.stringify(message);
          assert.ok(length < MOST_LENGTH, `a message of ${length} characters`);
        }
      }),
    );
  }
});

describe("an absurd answer is taken for what it is", () => {
  const answers: Record<string, Evil> = {
    "__proto__ and constructor everywhere": changed(polluted),
    ...Object.fromEntries(Object.entries(TAKEN).map(([name, change]) => [name, withChat(change)])),
  };
  for (const [name, evil] of Object.entries(answers)) {
    it(name, LIMIT, () =>
      assertFrugal(async () => {
        await using siege = await besieged(DEADLINES);
        await using stream = await openedDespite(siege, evil, ["get_live_chat"]);
        await assertPolledDespite(siege, stream, evil);
        await assertUnharmed(siege, stream, ["first", "second"]);
      }),
    );
  }

  it("a page full of __proto__ and constructor", LIMIT, () =>
    assertFrugal(async () => {
      await using siege = await besieged(DEADLINES);
      await using stream = await openedDespite(siege, changed(polluted), ["sw.js", "popout"]);
      await assertUnharmed(siege, stream, ["first"]);
      assert.equal(siege.relay.upstream.requests.filter(({ kind }) => kind === "watch").length, 0);
    }),
  );

  it("a caller is told no wait that a timer cannot keep", LIMIT, async () => {
    await using siege = await besieged(DEADLINES);
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
      const answer = await callerDespite(siege, saying(body, "application/json"));
      assert.equal((answer.body as PollBody).timeoutMs, told);
    }
  });

  it("an error of four million brackets is an expired token, told in few words", LIMIT, () =>
    assertFrugal(async () => {
      await using siege = await besieged(DEADLINES);
      const evil = saying(JSON.stringify({ error: { code: 400, message: "<".repeat(4e6) } }));
      await using stream = await openedDespite(siege, evil, ["get_live_chat"]);
      await untilMet(siege.front.order("get_live_chat", evil));
      await assertGoesOn(siege, stream, "second");
      assertRefused(await callerDespite(siege, evil), 410, "TOKEN_EXPIRED");
      await assertUnharmed(siege, stream, ["first", "second"]);
    }),
  );
});

describe("Retry-After", { concurrency: true }, () => {
  const DAY_S = 24 * 60 * 60;
  const rows: [sent: string, seconds: number][] = [
    ["1e30", 1],
    ["99999999999999999999", 1],
    ["-5", 1],
    ["Infinity", 1],
    [`${"9".repeat(10_000)}x`, 1],
    ["999999999", DAY_S],
    ["Fri, 31 Dec 9999 23:59:59 GMT", DAY_S],
  ];
  for (const [sent, seconds] of rows) {
    it(`${sent.slice(0, 30)} is a cooldown of ${seconds} s, during which viewers stay`, LIMIT, async () => {
      await using siege = await besieged(DEADLINES);
      await using stream = await openedDespite(siege, saying(""), []);
      const evil: Evil = (response) => response.writeHead(429, { "retry-after": sent }).end();
      const order = siege.front.order("get_live_chat", evil, Number.POSITIVE_INFINITY);
      await untilMet(order);
      const retryAfter = async () => {
        const response = await fetch(`${siege.relay.url}/v1/stream?videoId=another-one`);
        await response.body?.cancel();
        return Number(response.headers.get("retry-after"));
      };
      let told = await retryAfter();
      while (told === 0) told = await inTime(retryAfter(), "a cooldown");
      assert.equal(told, seconds);
      await assertUnharmed(siege, stream, ["first"]);
    });
  }
});
