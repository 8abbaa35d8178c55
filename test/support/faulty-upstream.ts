/**
 * A relay whose upstream gives chosen requests hostile answers and all others what it should: a room that is
 * opened, watched, polled and re-bootstrapped through it all.
 */
import assert from "node:assert/strict";
import type { RequestKind } from "../../simulator/requests.ts";
import type { Chat } from "../../simulator/simulated-chat.ts";
import { type SimulatorOptions, startSimulator } from "../../simulator/simulator.ts";
import type { Deadlines } from "../../src/upstream/calls.ts";
import { type Answer, assertRefused, post } from "./api.ts";
import { inTime } from "./eventually.ts";
import { type HostileAnswer, type Order, order } from "./hostile-call.ts";
import { openStream, PLACES, textAction } from "./opening.ts";
import { startRelay, type TestRelay } from "./relay.ts";
import type { Stream } from "./stream.ts";

/** Requests that concern no video; a caller's poll has a token without a chat. */
const OF_NO_CHAT: readonly RequestKind[] = ["sw.js", "sw.js_data", "get_live_chat_replay"];

export interface FaultyUpstream extends AsyncDisposable {
  relay: TestRelay;
  chat: Chat;
  /** For requests of its chat, or of scripts, or of a poll without a chat. */
  order(on: RequestKind, hostile: HostileAnswer, times?: number): Order;
  /** The same relay with another such chat. */
  another(): FaultyUpstream;
  /** Resolves when every connection that had a hostile answer is closed. */
  left(): Promise<unknown>;
}

/** A relay and a chat in which "first" was said. */
export async function startFaulty(
  deadlines: Deadlines,
  simulator: SimulatorOptions = {},
): Promise<FaultyUpstream> {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startSimulator(simulator));
  const settings = { RELAY_POLL_MAX_MS: "20", RELAY_GRACE_MS: "0" };
  const relay = stack.use(await startRelay({ upstream, deadlines, settings }));
  const owned = stack.move();
  let chats = 0;
  const withChat = (): FaultyUpstream => {
    chats += 1;
    const videoId = `faulty${String(chats).padStart(5, "-")}`;
    const chat = upstream.chat(videoId, { tokens: "reusable", timeoutMs: 5, page: 10 });
    chat.say([textAction("first")]);
    const orders: Order[] = [];
    return {
      relay,
      chat,
      order: (on, hostile, times = 1) => {
        const asked = OF_NO_CHAT.includes(on) ? { on, times } : { on, times, videoId };
        const placed = order(upstream, asked, hostile);
        orders.push(placed);
        return placed;
      },
      another: withChat,
      left: () => Promise.all(orders.map((one) => one.left())),
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  };
  return withChat();
}

/**
 * Asserts that a room survives a hostile answer to every kind of its requests, that its caller does too and
 * gets the error `says`, and that no connection to the answer is kept.
 */
export async function assertSurvived(
  hostile: HostileAnswer,
  deadlineMs: number,
  says: RegExp,
): Promise<void> {
  await using faulty = await startFaulty({ chatMs: deadlineMs, pageMs: deadlineMs });
  await using stream = await openedDespite(faulty, hostile, [
    "sw.js",
    "sw.js_data",
    "popout",
    "get_live_chat",
  ]);
  await assertPolledDespite(faulty, stream, hostile);
  const [answer] = await Promise.all([
    callerDespite(faulty, hostile),
    assertReopenedDespite(faulty, stream, hostile),
  ]);
  assert.match(assertRefused(answer, 502, "UPSTREAM_ERROR"), says);
  assert.ok(JSON.stringify(answer.body).length < 400);
  await assertUnharmed(faulty, stream, ["first", "second", "third"]);
  await inTime(faulty.left(), "the end of the hostile answer's connections");
}

/** Opens the room while each of these requests is met by the hostile answer once. */
export async function openedDespite(
  faulty: FaultyUpstream,
  hostile: HostileAnswer,
  kinds: readonly RequestKind[],
): Promise<Stream> {
  const orders = kinds.map((kind) => faulty.order(kind, hostile));
  const stream = await openStream(faulty.relay, { videoId: faulty.chat.videoId });
  await stream.untilMessages(1);
  assertMet(orders);
  return stream;
}

/** Asserts that the room continues to later messages after its next poll has met the hostile answer. */
export async function assertPolledDespite(
  faulty: FaultyUpstream,
  stream: Stream,
  hostile: HostileAnswer,
): Promise<void> {
  const { relay, chat } = faulty;
  await untilMet(faulty.order("get_live_chat", hostile));
  const pages = relay.upstream.requests.filter(({ kind }) => kind === "popout").length;
  chat.say([textAction("second")]);
  await stream.until(() => stream.ids.includes("second"));
  assert.equal(
    relay.upstream.requests.filter(({ kind }) => kind === "popout").length,
    pages,
    "re-bootstraps",
  );
}

/**
 * Asserts that the room continues although its re-bootstrap meets the hostile answer everywhere, and must be
 * repeated.
 */
async function assertReopenedDespite(
  faulty: FaultyUpstream,
  stream: Stream,
  hostile: HostileAnswer,
): Promise<void> {
  const orders = PLACES.map((kind) => faulty.order(kind, hostile));
  faulty.chat.expireTokens();
  await Promise.all(orders.map(untilMet));
  faulty.chat.say([textAction("third")]);
  await stream.until(() => stream.ids.includes("third"));
}

/** Asserts that the viewer was there all the time and missed nothing, and that its cursor still resumes. */
export async function assertUnharmed(
  { relay, chat: { videoId } }: FaultyUpstream,
  stream: Stream,
  ids: readonly string[],
): Promise<void> {
  assert.equal(stream.over, false);
  assert.deepEqual(stream.ids, ids);
  assert.deepEqual([...new Set(stream.frames.map(({ event }) => event))], ["init", "message"]);
  await using resumed = await openStream(relay, { videoId, lastEventId: stream.init.cursor });
  await resumed.untilMessages(ids.length);
  assert.deepEqual(resumed.messages, stream.messages);
  assert.equal(resumed.init.cursor, stream.init.cursor);
}

/** The answer to a caller whose poll meets the hostile answer. */
export async function callerDespite(faulty: FaultyUpstream, hostile: HostileAnswer): Promise<Answer> {
  const order = faulty.order("get_live_chat_replay", hostile);
  const answer = await inTime(post(faulty.relay.url, "/v1/poll", POLL), "a poll's answer");
  assertMet([order]);
  return answer;
}

/** A token without a chat: the hostile answer decides whether the upstream accepts it. */
const POLL = {
  token: "token",
  client: "WEB",
  endpoint: "get_live_chat_replay",
  apiKey: "AIzaSyExampleExample",
  webVersion: "2.20260101.00.00",
  details: true,
};

export async function untilMet(order: Order): Promise<void> {
  await inTime(order.whenMet, "a request that the hostile answer meets");
}

function assertMet(orders: readonly Order[]): void {
  assert.deepEqual(
    orders.map(({ fault }) => fault.fired),
    orders.map(() => 1),
    "each hostile answer was met",
  );
}
