/**
 * Gaps: where a room was not read for a while, a message of type `gap` stands before the first new message, unless
 * what comes next joins what the room holds.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../src/clock.ts";
import type { Chat } from "../src/simulator/chat.ts";
import { startSimulator } from "../src/simulator/index.ts";
import { failAlways, openStream, refused } from "./support/opening.ts";
import { roomsIn, startRelay, type TestRelay } from "./support/relay.ts";
import { temporaryFile } from "./support/store-subject.ts";
import { assertConsecutive, type Stream } from "./support/stream.ts";

const VIDEO = "gaps-told-1";
/** How many messages the page shows: of more it does not reach back to what was said before. */
const PAGE = 10;
/** Longer than any answer takes on a busy machine: one that is late has a gap of its own. */
const WINDOW_MS = 500;

/** A chat that is read, and what ends the time in which nobody reads it. */
interface Scene {
  relay: TestRelay;
  chat: Chat;
  viewer: Stream;
}
type Interruption = (scene: Scene) => Promise<() => Promise<unknown> | unknown>;

const released: Interruption = async ({ relay, viewer }) => {
  await viewer.close();
  await roomsIn(relay, "lingering");
  await roomsIn(relay, "lingering", 0);
  return () => {};
};
const failed: Interruption = async ({ relay, viewer }) => {
  const mend = failAlways(relay, "get_live_chat", { status: 500 });
  assert.equal((await viewer.ended())?.event, "error");
  return mend;
};
const failing: Interruption = async ({ relay }) => {
  const mend = failAlways(relay, "get_live_chat", { status: 500 });
  await delay(2 * WINDOW_MS);
  return mend;
};
const throttled: Interruption = async ({ relay }) => {
  const fault = relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
  while (fault.fired === 0) await relay.upstream.requested("get_live_chat", { finished: true });
  return () => {};
};
const throttledPages: Interruption = async ({ relay, chat }) => {
  const fault = relay.upstream.fault({ on: "popout", times: 1, as: { status: 429 } });
  const { failure } = await refused(relay, "another-one");
  assert.deepEqual([failure, fault.fired], ["429 RATE_LIMITED", 1]);
  chat.expireTokens();
  await relay.upstream.requested("get_live_chat"); // what was under way has been answered before it
  return () => {};
};

/**
 * Reads a chat of five messages, stops reading it, says more, and reads on. Gives what a viewer is sent that resumes
 * after the five ("gap", or a number that says which message it is), and the reasons of the gaps.
 */
async function sentAfter(
  t: TestContext,
  interrupt: Interruption | "restart",
  said: number,
  maxFailures = "99",
) {
  await using stack = new AsyncDisposableStack();
  const beganAt = Date.now();
  const upstream = stack.use(await startSimulator());
  const settings = {
    RELAY_STORE: `sqlite:${await temporaryFile(t)}`,
    RELAY_GRACE_MS: interrupt === released ? "30" : "60000",
    RELAY_COOLDOWN_MS: String(2 * WINDOW_MS),
    RELAY_MAX_FAILURES: maxFailures,
  };
  const options = { upstream, settings, windowMs: WINDOW_MS };
  const chat = upstream.chat(VIDEO, {
    kinds: ["text"],
    timeoutMs: 5,
    page: PAGE,
    holdsMessages: 4,
  });
  chat.say(5);
  let relay = stack.use(await startRelay(options));
  let viewer = stack.use(await openStream(relay, { videoId: VIDEO }));
  const lastEventId = (await viewer.untilMessages(5)).at(-1)?.cursor ?? 0;
  let resume: () => unknown = () => {};
  if (interrupt === "restart") {
    await relay[Symbol.asyncDispose]();
    await delay(2 * WINDOW_MS);
  } else resume = await interrupt({ relay, chat, viewer });
  const readUntil = Date.now();
  chat.say(said);
  if (interrupt === "restart") relay = stack.use(await startRelay(options));
  await resume();
  viewer = stack.use(await openStream(relay, { videoId: VIDEO, lastEventId, details: true }));
  const ids = chat.ledger.map(({ id }) => id);
  await viewer.until(() => viewer.ids.includes(ids.at(-1) ?? ""));
  assertConsecutive(viewer.cursors, lastEventId);
  const reasons = viewer.messages.flatMap(({ cursor, message }) => {
    if (message.type !== "gap") return [];
    const { gap } = message.details as { gap: { since: string; reason: string } };
    assert.deepEqual([message.id, message.author], [`gap:${cursor - 1}`, ""]);
    assert.match(message.message, /^Messages may be missing here: /);
    assert.ok(Date.parse(gap.since) <= readUntil && Date.parse(gap.since) >= beganAt, gap.since);
    return [gap.reason];
  });
  return { sent: sentTo(viewer, chat), reasons, relay };
}

/** "gap", or a number that says which message of the chat it is. */
function sentTo({ messages }: Stream, { ledger }: Chat): ("gap" | number)[] {
  return messages.map(({ message: { type, id } }) =>
    type === "gap" ? type : ledger.findIndex((entry) => entry.id === id) + 1,
  );
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe("a room that is read again", { concurrency: 4 }, () => {
  const rows: [what: string, Interruption | "restart", reason: string, maxFailures?: string][] = [
    ["after its release", released, "unwatched"],
    ["after it failed", failed, "unreachable", "2"],
    ["after polls that failed for too long", failing, "unreachable"],
    ["after a cooldown", throttled, "throttled"],
    ["after a cooldown of pages, and it needs one,", throttledPages, "throttled"],
    ["after a restart", "restart", "down"],
  ];
  for (const [what, interrupt, reason, maxFailures] of rows) {
    it(`${what} says so before the first new message, where the page does not reach back`, async (t) => {
      const { sent, reasons } = await sentAfter(t, interrupt, 30, maxFailures);
      assert.deepEqual(sent, ["gap", ...numbers(26, 35)]);
      assert.deepEqual(reasons, [reason]);
    });

    it(`${what} has no gap where the page shows a message that the room holds`, async (t) => {
      const { sent } = await sentAfter(t, interrupt, PAGE - 1, maxFailures);
      assert.deepEqual(sent, numbers(6, 14));
    });
  }
});

it("a replay has no gaps, however long it was not read: it goes on from its place", async () => {
  await using relay = await startRelay({ windowMs: -1000 });
  const chat = relay.upstream.chat(VIDEO, { kind: "replay", kinds: ["text"], pageSize: 5 });
  const ids = chat.say(30);
  await using viewer = await openStream(relay, { videoId: VIDEO });
  assert.equal((await viewer.ended())?.event, "end");
  assert.deepEqual(viewer.ids, ids);
});

it("a gap stays open through empty answers and a restart, until something new comes", async (t) => {
  await using upstream = await startSimulator();
  const chat = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5, page: 0, holdsMessages: 4 });
  const options = { upstream, settings: { RELAY_STORE: `sqlite:${await temporaryFile(t)}` } };
  {
    await using relay = await startRelay(options);
    await using viewer = await openStream(relay, { videoId: VIDEO });
    await viewer.until(() => viewer.frames.length > 0);
    chat.say(2);
    await viewer.untilMessages(2);
  }
  {
    await using _relay = await startRelay({ ...options, windowMs: 1 });
    await upstream.requested("get_live_chat", { count: 5, finished: true });
  }
  await using relay = await startRelay(options);
  await using viewer = await openStream(relay, { videoId: VIDEO, backfill: 0 });
  await viewer.until(() => viewer.frames.length > 0);
  chat.say(1);
  await viewer.untilMessages(2);
  assert.deepEqual(
    viewer.messages.map(({ message }) => message.type),
    ["gap", "chat"],
  );
});

it("a page that shows nothing stands between what was read and its answer: the gap there is told, however short the time", async () => {
  await using relay = await startRelay();
  const { upstream } = relay;
  const chat = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5, page: PAGE, foundOn: "both" });
  chat.say(5);
  await using viewer = await openStream(relay, { videoId: VIDEO });
  await viewer.untilMessages(5);
  chat.say(1);
  const refusal = upstream.fault({ on: "get_live_chat", times: 2, as: "invalid-argument" }); // the token's, and the first page's
  while (refusal.fired < 2) await upstream.requested("get_live_chat", { finished: true });
  upstream.fault({ on: "popout", times: 1, as: "bot" }); // so that the watch page is asked: it shows no messages
  const ids = chat.say(30);
  await viewer.until(() => viewer.ids.includes(ids.at(-1) ?? ""));
  assert.deepEqual(sentTo(viewer, chat), [...numbers(1, 6), "gap", ...numbers(27, 36)]);
});

it("a computer sleeps between a page and the answer that follows it: the gap there is told", async () => {
  let sleptMs = 0;
  const clock = {
    ...systemClock,
    now: () => Date.now() + sleptMs,
    uptime: () => systemClock.uptime() + sleptMs,
  };
  await using relay = await startRelay({ clock });
  const { upstream } = relay;
  const chat = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5, page: PAGE, holdsMessages: 4 });
  chat.say(5);
  await using viewer = await openStream(relay, { videoId: VIDEO });
  await viewer.untilMessages(5);
  chat.say(1);
  upstream.fault({ on: "get_live_chat", times: 1, as: "invalid-argument" });
  const failure = upstream.fault({ on: "get_live_chat", times: 1, as: { status: 503 } }); // so that time passes behind the page
  while (failure.fired === 0) await upstream.requested("get_live_chat", { finished: true });
  sleptMs = 60_000;
  const ids = chat.say(30);
  await viewer.until(() => viewer.ids.includes(ids.at(-1) ?? ""));
  assert.deepEqual(sentTo(viewer, chat), [...numbers(1, 6), "gap", ...numbers(33, 36)]);
});
