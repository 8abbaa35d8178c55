/**
 * Busy chats whose pages show little: tokens expire, pages are walls, the upstream is away, and each gap is
 * marked.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { realisticHold } from "../../../simulator/index.ts";
import { Random } from "../../../simulator/random.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { gapsIn } from "../../support/gaps-in.ts";

const MINUTES = 5;
const VIDEO = "fast-chat-1";
const CHAT = ["get_live_chat"] as const;
const PAGES = ["popout", "watch", "next"] as const;

/** Incidents that hit the chat from time to time, and their lengths in milliseconds. */
const TROUBLES = {
  "tokens expire": { on: [], as: "lost", forMs: 0 },
  "a wall on its pages": { on: PAGES, as: "bot", forMs: 8000 },
  "an outage": { on: [...CHAT, ...PAGES], as: { status: 503 }, forMs: 20_000 },
} as const;

/** A menu's token is answered late, with the backlog of that moment; so are the first ones of the chat. */
const SLOW_CALLS = { on: CHAT, as: { delayMs: 4500 }, forMs: 12_000 } as const;

describe("each gap of a chat is marked, with at most one needless gap per incident", () => {
  for (const [page, perSecond, backlogOf, foundOn] of [
    [8, 25, "token", "everywhere"],
    [75, 60, "token", "everywhere"],
    [60, 20, "call", "popout"],
    [60, 20, "call", "watch"],
  ] as const) {
    const what = `pages of ${page}, found on ${foundOn}, and the backlog of its ${backlogOf}`;
    it(`${perSecond} messages a second, ${what}`, async () => {
      const random = new Random(page, `fast ${perSecond}`);
      const relay = new VirtualRelay({ seed: page + perSecond });
      const { clock, upstream } = relay;
      const scenario = { ...realisticHold, kinds: ["text" as const], page, timeoutMs: 5000 };
      const chat = upstream.chat(VIDEO, { ...scenario, tokens: "reusable", backlogOf, foundOn });
      chat.speak(perSecond);
      relay.visit({ videoId: VIDEO });
      const known = [...Object.values(TROUBLES), ...(backlogOf === "call" ? [SLOW_CALLS] : [])];
      if (backlogOf === "call") upstream.fault({ ...SLOW_CALLS, times: 2 });
      let troubles = 0;
      void (async () => {
        for (;;) {
          await clock.sleep(6000 + random.next() * 12_000);
          const { on, as, forMs } = random.pick(known);
          chat.expireTokens();
          troubles += 1;
          const fault = upstream.fault({ on, videoId: VIDEO, times: Number.POSITIVE_INFINITY, as });
          await clock.sleep(forMs);
          fault.cancel();
        }
      })();
      await relay.advance(MINUTES * 60_000);
      const found = await gapsIn(relay, chat);
      assert.equal(found.untold, 0);
      assert.ok(found.needless <= troubles, `${found.needless} needless gaps in ${troubles} troubles`);
      assert.ok(troubles >= 8 && (page > 8 || found.told > 3), JSON.stringify({ troubles, ...found }));
    });
  }
});

it("a token that a quiet chat loses makes no gap, though its page shows no earlier message", async () => {
  const relay = new VirtualRelay({ seed: 1 });
  const { clock, upstream } = relay;
  const scenario = { ...realisticHold, kinds: ["text" as const], page: 0, timeoutMs: 5000 };
  const chat = upstream.chat(VIDEO, { ...scenario, tokens: "reusable" });
  chat.say(1);
  relay.visit({ videoId: VIDEO });
  void (async () => {
    for (;;) {
      await clock.sleep(120_000);
      chat.expireTokens();
      await clock.sleep(20_000);
      chat.say(1);
    }
  })();
  await relay.advance(8 * 60_000);
  assert.deepEqual(await gapsIn(relay, chat), { untold: 0, told: 0, needless: 0 });
  assert.ok((await relay.stored(VIDEO)).length >= 3);
});

it("the rate of a chat unread for a minute is unknown: a burst between two pages leaves a gap", async () => {
  const relay = new VirtualRelay({ seed: 1 });
  const { upstream } = relay;
  const scenario = { ...realisticHold, kinds: ["text" as const], page: 1, timeoutMs: 5000 };
  const chat = upstream.chat(VIDEO, { ...scenario, tokens: "reusable" });
  const speech = chat.speak(0.1);
  relay.visit({ videoId: VIDEO });
  await relay.advance(115_000);
  speech.stop();
  upstream.fault({
    on: CHAT,
    videoId: VIDEO,
    times: 1,
    as: { status: 429, headers: { "retry-after": "65" } },
  });
  await relay.advance(65_000);
  const dead = upstream.fault({ on: CHAT, videoId: VIDEO, times: 2, as: { status: 403 } });
  await relay.requested("popout", { finished: true });
  chat.say(5);
  await relay.advance(60_000);
  chat.say(1);
  await relay.advance(10_000);
  assert.equal(dead.fired, 2);
  assert.deepEqual(await gapsIn(relay, chat), { untold: 0, told: 1, needless: 0 });
});
