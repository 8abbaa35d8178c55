/**
 * Gaps: if a room was not read for a while, a message of type `gap` comes before the first new message,
 * unless the next answer overlaps the stored messages.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../harness/virtual-viewer.ts";
import { failAlways } from "../../support/opening.ts";
import { assertConsecutive } from "../../support/stream.ts";

const VIDEO = "gaps-told-1";
const OTHER = "gaps-told-2";
/** The number of messages on a page: after more of them, the page does not reach back to earlier ones. */
const PAGE = 10;
/** Longer than the upstream keeps messages. */
const AWAY_MS = 20_000;
const GRACE_MS = 5000;

/** A chat that is read, and what ends the time in which nobody reads it. */
interface Scene {
  relay: VirtualRelay;
  chat: Chat;
  viewer: VirtualViewer;
}
type Interruption = (scene: Scene) => Promise<() => void>;

const released: Interruption = async ({ relay, viewer }) => {
  viewer.leave();
  await relay.advance(GRACE_MS + AWAY_MS);
  const [room] = await relay.when(relay.list.all());
  assert.equal(room?.state, "released");
  return () => {};
};
const failed: Interruption = async ({ relay, viewer }) => {
  const mend = failAlways(relay, "get_live_chat", { status: 500 });
  assert.equal((await viewer.ended())?.event, "error");
  return mend;
};
const failing: Interruption = async ({ relay }) => {
  const mend = failAlways(relay, "get_live_chat", { status: 500 });
  await relay.advance(AWAY_MS);
  return mend;
};
const throttled: Interruption = async ({ relay }) => {
  const fault = relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
  await relay.until(() => fault.fired === 1);
  return () => {};
};
const throttledPages: Interruption = async ({ relay, chat, viewer }) => {
  const fault = relay.upstream.fault({ on: "popout", times: 1, as: { status: 429 } });
  const { code } = await relay.refusal({ videoId: "another-one" });
  assert.deepEqual([code, fault.fired], ["RATE_LIMITED", 1]);
  return tokenLost({ relay, chat, viewer });
};
const tokenLost: Interruption = async ({ relay, chat }) => {
  chat.expireTokens();
  await relay.requested("get_live_chat"); // calls in flight were answered before it
  return () => {};
};
const throttledAndTokenLost: Interruption = async (scene) => {
  await throttled(scene);
  return tokenLost(scene);
};
const throttledWhileItQueues: Interruption = async ({ relay }) => {
  relay.network.latency = { leastMs: 1000, jitterMs: 0 }; // the poll queues before the other one is answered
  const fault = relay.upstream.fault({ on: "get_live_chat", videoId: OTHER, times: 1, as: "quota" });
  relay.visit({ videoId: OTHER }).entered.catch(() => {});
  await relay.until(() => fault.fired === 1);
  await relay.advance(2000);
  return () => {};
};
const restart: Interruption = async ({ relay }) => {
  await relay.restart(AWAY_MS);
  return () => {};
};
const restartAndTokenLost: Interruption = async (scene) => {
  scene.chat.expireTokens();
  return restart(scene);
};

/**
 * Reads a chat of five messages, stops reading it, says more, and reads on. Gives what a viewer is sent that
 * resumes after the five ("gap", or a number that says which message it is), and the reasons of the gaps.
 */
async function sentAfter(interrupt: Interruption, said: number, settings = {}) {
  const relay = new VirtualRelay({
    hasDisk: true,
    settings: { RELAY_GRACE_MS: String(GRACE_MS), RELAY_COOLDOWN_MS: String(AWAY_MS), ...settings },
  });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], page: PAGE, holdsMessages: 4 });
  relay.upstream.chat(OTHER);
  chat.say(5);
  const beganAt = relay.clock.now();
  const opener = await relay.enter({ videoId: VIDEO });
  const lastEventId = (await opener.untilMessages(5)).at(-1)?.cursor ?? 0;
  const resume = await interrupt({ relay, chat, viewer: opener });
  const readUntil = relay.clock.now();
  chat.say(said);
  resume();
  const viewer = await relay.enter({ videoId: VIDEO, lastEventId, details: true });
  const ids = chat.ledger.map(({ id }) => id);
  await viewer.until(() => viewer.ids.includes(ids.at(-1) ?? ""));
  assertConsecutive(viewer.cursors, lastEventId);
  const reasons = viewer.messages.flatMap(({ cursor, message }) => {
    if (message.type !== "gap") return [];
    const { gap } = message.details as { gap: { since: string; reason: string } };
    assert.deepEqual([message.id, message.author], [`gap:${cursor - 1}`, ""]);
    assert.match(message.message, /^Messages may be missing here: /);
    assert.ok(Date.parse(gap.since) <= readUntil && Date.parse(gap.since) > beganAt, gap.since);
    return [gap.reason];
  });
  return { sent: sentTo(viewer, chat), reasons };
}

/** "gap", or a number that says which message of the chat it is. */
function sentTo({ messages }: VirtualViewer, { ledger }: Chat): ("gap" | number)[] {
  return messages.map(({ message: { type, id } }) =>
    type === "gap" ? type : ledger.findIndex((entry) => entry.id === id) + 1,
  );
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe("a room that is read again", () => {
  const soon = { RELAY_MAX_FAILURES: "5", RELAY_FAILING_MS: "0" };
  const lingers = { RELAY_GRACE_MS: "60000" }; // so the room continues from its checkpoint
  const spaced = { RELAY_GATE_SPACING_MS: "1500" };
  const rows: [what: string, Interruption, reason: string, settings?: object][] = [
    ["after its release", released, "unwatched"],
    ["after it failed", failed, "unreachable", soon],
    ["after polls that failed for too long", failing, "unreachable"],
    ["after a cooldown", throttled, "throttled"],
    ["after a cooldown of pages, and it needs one,", throttledPages, "throttled"],
    ["after a cooldown that its token does not survive", throttledAndTokenLost, "throttled"],
    ["after a cooldown that began while its poll waited", throttledWhileItQueues, "throttled", spaced],
    ["after a restart", restart, "down"],
    ["after a restart that its token does not survive", restartAndTokenLost, "down", lingers],
    ["after its token was refused", tokenLost, "unreachable"],
  ];
  for (const [what, interrupt, reason, settings] of rows) {
    it(`${what} has a gap first if no page reaches back`, async () => {
      const { sent, reasons } = await sentAfter(interrupt, 30, settings);
      assert.deepEqual(sent, ["gap", ...numbers(26, 35)]);
      assert.deepEqual(reasons, [reason]);
    });

    it(`${what} has no gap if the page reaches back`, async () => {
      const { sent } = await sentAfter(interrupt, PAGE - 1, settings);
      assert.deepEqual(sent, numbers(6, 14));
    });
  }
});

it("a replay has no gaps, however long it was not read: it continues from its position", async () => {
  const relay = new VirtualRelay({ settings: { RELAY_COOLDOWN_MS: String(AWAY_MS) } });
  const chat = relay.upstream.chat(VIDEO, { kind: "replay", kinds: ["text"], pageSize: 5 });
  const ids = chat.say(30);
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(5);
  const quota = relay.upstream.fault({ on: "get_live_chat_replay", times: 1, as: "quota" });
  assert.equal((await viewer.ended())?.event, "end");
  assert.deepEqual([viewer.ids, quota.fired], [ids, 1]);
});

it("a gap stays open through empty answers and a restart, until a new message comes", async () => {
  const relay = new VirtualRelay({ hasDisk: true });
  const { upstream } = relay;
  const chat = upstream.chat(VIDEO, { kinds: ["text"], page: 0, holdsMessages: 4 });
  const opener = await relay.enter({ videoId: VIDEO });
  chat.say(2);
  await opener.untilMessages(2);
  await relay.restart(AWAY_MS);
  relay.visit({ videoId: VIDEO });
  await relay.requested("get_live_chat", { count: 5, finished: true });
  await relay.restart();
  const viewer = await relay.enter({ videoId: VIDEO, backfill: 0 });
  chat.say(1);
  await viewer.untilMessages(2);
  assert.deepEqual(
    viewer.messages.map(({ message }) => message.type),
    ["gap", "chat"],
  );
});

it("two gaps without a message between are one, from the first's begin to the second's end", async () => {
  const relay = new VirtualRelay({ hasDisk: true });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], page: 0, holdsMessages: 4 });
  const opener = await relay.enter({ videoId: VIDEO });
  chat.say(2);
  await opener.untilMessages(2);
  const readAt = relay.clock.now();
  await relay.restart(AWAY_MS);
  relay.visit({ videoId: VIDEO });
  await relay.requested("get_live_chat", { count: 5, finished: true });
  await relay.restart(AWAY_MS);
  const againAt = relay.clock.now();
  const viewer = await relay.enter({ videoId: VIDEO, backfill: 0, details: true });
  chat.say(1);
  await viewer.untilMessages(2);
  const [first] = viewer.messages.map(({ message }) => message);
  assert.ok(first?.type === "gap");
  const { since, until } = (first.details as { gap: { since: string; until: string } }).gap;
  assert.ok(
    Date.parse(since) < readAt + AWAY_MS,
    `${since}, not read from ${new Date(readAt).toISOString()}`,
  );
  assert.ok(Date.parse(until) >= againAt, `${until}, read again at ${new Date(againAt).toISOString()}`);
});

for (const [what, graceMs] of [
  ["restart", 60_000],
  ["long restart", 5000],
] as const)
  it(`a gap after a ${what} begins at the last good answer, however slow the store is`, async () => {
    const settings = { RELAY_GRACE_MS: String(graceMs) };
    const relay = new VirtualRelay({ hasDisk: true, settings });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], page: 0, holdsMessages: 4 });
    const opener = await relay.enter({ videoId: VIDEO });
    chat.say(2);
    await opener.untilMessages(2);
    await relay.stop();
    const readAt = relay.clock.now() - relay.clock.monotonic() + (relay.answers.get(VIDEO)?.at(-1) ?? 0);
    await relay.advance(AWAY_MS);
    relay.disk.commit = { leastMs: 2000, jitterMs: 0 };
    relay.start();
    chat.say(9);
    const viewer = await relay.enter({ videoId: VIDEO, backfill: 5, details: true });
    chat.say(1);
    await viewer.until(() => viewer.messages.some(({ message }) => message.type === "gap"));
    const gap = viewer.messages.find(({ message }) => message.type === "gap")?.message;
    const { since } = (gap?.details as { gap: { since: string } } | undefined)?.gap ?? { since: "" };
    const readUntil = new Date(readAt).toISOString();
    assert.ok(Math.abs(Date.parse(since) - readAt) <= 1000, `${since}, read until ${readUntil}`);
  });

it("two messages said at once in a quiet chat, while its token is lost, follow no gap", async () => {
  const relay = new VirtualRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], page: 2, timeoutMs: 500 });
  chat.say(2);
  const viewer = await relay.enter({ videoId: VIDEO });
  await relay.advance(90_000);
  await relay.requested("get_live_chat", { finished: true });
  chat.say(2);
  chat.expireTokens();
  await relay.advance(5000);
  assert.deepEqual(sentTo(viewer, chat), numbers(1, 4));
});

for (const [when, quietMs, isGap] of [
  ["soon", 5000, true],
  ["a quiet minute", 65_000, false],
] as const)
  it(`a token lost ${when} after a lively start leaves ${isGap ? "a" : "no"} gap if the page does not join`, async () => {
    const relay = new VirtualRelay();
    const scenario = { kinds: ["text" as const], page: 100, timeoutMs: 5000, onlyInAll: () => false };
    const chat = relay.upstream.chat(VIDEO, scenario);
    for (let second = 0; second < 10; second++) {
      chat.say(10);
      await relay.advance(1000);
    }
    const viewer = await relay.enter({ videoId: VIDEO, backfill: 100 });
    await viewer.untilMessages(100);
    await relay.advance(quietMs - 5000);
    chat.say(2);
    chat.change({ page: 1 }); // so the page shows the last one alone
    chat.expireTokens();
    await relay.requested("popout", { finished: true });
    chat.say(1);
    await viewer.until(() => viewer.ids.includes(chat.ledger.at(-1)?.id ?? ""));
    assert.deepEqual(sentTo(viewer, chat), [...numbers(1, 100), ...(isGap ? ["gap"] : []), 102, 103]);
  });

it("messages between two pages follow a gap, although the chat is quiet afterwards", async () => {
  const relay = new VirtualRelay();
  const scenario = { kinds: ["text" as const], page: PAGE, timeoutMs: 500, onlyInAll: () => false };
  const chat = relay.upstream.chat(VIDEO, scenario);
  chat.say(5);
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(5);
  const mend = failAlways(relay, "get_live_chat", "invalid-argument");
  await relay.requested("popout", { finished: true });
  chat.say(30); // of which the next page shows the last ten
  await relay.requested("popout", { finished: true });
  for (let n = 0; n < 20; n++) {
    await relay.advance(2000);
    chat.say(1); // all later pages join
  }
  mend();
  await viewer.untilMessages(36);
  assert.deepEqual(sentTo(viewer, chat), [...numbers(1, 5), "gap", ...numbers(26, 55)]);
});

for (const view of ["all", "top"] as const)
  it(`an empty page between the stored messages and its answer leaves a gap, however soon (${view})`, async () => {
    const relay = new VirtualRelay({ settings: { RELAY_CHAT_VIEW: view } });
    const { upstream } = relay;
    const chat = upstream.chat(VIDEO, {
      kinds: ["text"],
      page: PAGE,
      foundOn: "both",
      onlyInAll: () => false,
    });
    chat.say(5);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(5);
    chat.say(1);
    // The token's poll is refused, and the one by the first page's token.
    const refusal = upstream.fault({ on: "get_live_chat", times: 2, as: "invalid-argument" });
    await relay.until(() => refusal.fired === 2);
    // So the watch page is asked, which shows no messages.
    upstream.fault({ on: "popout", times: 1, as: "bot" });
    const ids = chat.say(30);
    await viewer.until(() => viewer.ids.includes(ids.at(-1) ?? ""));
    // A page in Top chat may leave out messages before the sixth.
    const before = view === "all" ? ["gap"] : [];
    assert.deepEqual(sentTo(viewer, chat), [...numbers(1, 5), ...before, 6, "gap", ...numbers(27, 36)]);
  });

describe("a page that no answer has followed", () => {
  /**
   * The token of a chat of five messages, which is polled every nine seconds, is refused. The page shows a
   * sixth. Its token's poll fails, and `failingMs` later a page finds what `change` made of the chat.
   */
  async function onPage(failingMs: number, change: (chat: Chat) => void) {
    const relay = new VirtualRelay({ settings: { RELAY_LOOK_MS: "5000" } });
    const { upstream } = relay;
    const scenario = { kinds: ["text" as const], page: PAGE, timeoutMs: 9500, onlyInAll: () => false };
    const chat = upstream.chat(VIDEO, scenario);
    chat.say(5);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(5);
    await relay.advance(40_000); // so no message is expected within seconds
    await relay.requested("get_live_chat", { finished: true });
    chat.say(1);
    upstream.fault({ on: "get_live_chat", times: 1, as: "invalid-argument" });
    await relay.requested("popout", { finished: true });
    const mend = failAlways(relay, "get_live_chat", { status: 503 });
    await relay.advance(failingMs);
    change(chat);
    chat.expireTokens();
    mend();
    await relay.requested("popout", { finished: true });
    return { relay, chat, viewer };
  }

  it("does not hide the time until the chat is found over: a last gap marks it", async () => {
    const { chat, viewer } = await onPage(60_000, (chat) => {
      chat.say(30);
      chat.end("reload-only");
    });
    assert.equal((await viewer.ended())?.event, "end");
    assert.deepEqual(sentTo(viewer, chat), [...numbers(1, 6), "gap"]);
  });

  it("counts as a reading of the chat: no gap follows if the chat is over soon after", async () => {
    const { chat, viewer } = await onPage(1000, (chat) => chat.end("reload-only"));
    assert.equal((await viewer.ended())?.event, "end");
    assert.deepEqual(sentTo(viewer, chat), numbers(1, 6));
  });

  it("counts as a reading of the chat: no gap follows if the chat is off soon after", async () => {
    const { relay, chat, viewer } = await onPage(1000, (chat) => chat.change({ kind: "off" }));
    await relay.requested("next", { finished: true });
    chat.change({ kind: "live", page: 0 });
    await relay.requested("get_live_chat", { finished: true });
    chat.say(1);
    await viewer.until(() => viewer.messages.at(-1)?.message.id === chat.ledger.at(-1)?.id);
    assert.deepEqual(sentTo(viewer, chat), numbers(1, 7));
  });
});

describe("an answer that says that the chat is over", () => {
  async function overWhileStoring(): Promise<{ relay: VirtualRelay; chat: Chat; viewer: VirtualViewer }> {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], page: PAGE });
    chat.say(5);
    const viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(5);
    relay.disk.commit = { leastMs: AWAY_MS, jitterMs: 0 };
    chat.say(1);
    chat.end("continuations-absent", { lastWords: true });
    return { relay, chat, viewer };
  }

  it("is not followed by a gap if it is stored late", async () => {
    const { chat, viewer } = await overWhileStoring();
    assert.equal((await viewer.ended())?.event, "end");
    assert.deepEqual(sentTo(viewer, chat), numbers(1, 6));
  });

  it("is not followed by a gap if the service is killed before the end is stored", async () => {
    const { relay, chat, viewer } = await overWhileStoring();
    await viewer.untilMessages(6);
    relay.kill();
    relay.disk.calm();
    await relay.advance(AWAY_MS);
    relay.start();
    const later = await relay.enter({ videoId: VIDEO, lastEventId: viewer.messages.at(-1)?.cursor });
    assert.equal((await later.ended())?.event, "end");
    assert.deepEqual(sentTo(later, chat), []);
  });
});

it("a computer sleeps between a page and the answer that follows it: a gap marks the place", async () => {
  const relay = new VirtualRelay();
  const { upstream } = relay;
  const scenario = { kinds: ["text" as const], page: PAGE, holdsMessages: 4, onlyInAll: () => false };
  const chat = upstream.chat(VIDEO, scenario);
  chat.say(5);
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(5);
  chat.say(1);
  upstream.fault({ on: "get_live_chat", times: 1, as: "invalid-argument" });
  // So time passes after the page.
  const failure = upstream.fault({ on: "get_live_chat", times: 1, as: { status: 503 } });
  await relay.until(() => failure.fired === 1);
  relay.computer.sleptMs = 60_000;
  const ids = chat.say(30);
  await viewer.until(() => viewer.ids.includes(ids.at(-1) ?? ""));
  // The page in Top chat may leave out messages before the sixth.
  assert.deepEqual(sentTo(viewer, chat), [...numbers(1, 5), "gap", 6, "gap", ...numbers(27, 36)]);
});

it("an empty page without an answer before a restart does not show the chat as read till then", async () => {
  const relay = new VirtualRelay({ hasDisk: true });
  const { upstream } = relay;
  const options = { kinds: ["text" as const], page: PAGE, holdsMessages: 4, timeoutMs: 9000 };
  const chat = upstream.chat(VIDEO, { ...options, foundOn: "both" });
  chat.say(5);
  const opener = await relay.enter({ videoId: VIDEO });
  const lastEventId = (await opener.untilMessages(5)).at(-1)?.cursor ?? 0;
  chat.say(30);
  // Its token is refused, then that of the watch page, which shows no messages; then no page comes at all.
  const refusal = upstream.fault({ on: "get_live_chat", times: 2, as: "invalid-argument" });
  upstream.fault({ on: "popout", times: 1, as: "bot" });
  await relay.until(() => refusal.fired === 2);
  upstream.fault({ on: "popout", times: 1, as: "silent" });
  await relay.advance(2000);
  await relay.restart();
  const viewer = await relay.enter({ videoId: VIDEO, lastEventId });
  await viewer.until(() => viewer.ids.includes(chat.ledger.at(-1)?.id ?? ""));
  assert.deepEqual(sentTo(viewer, chat), ["gap", ...numbers(26, 35)]);
});
