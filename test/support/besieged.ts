/**
 * A relay whose upstream turns evil for chosen requests and is sane for all others: a room that is opened, watched,
 * polled and re-bootstrapped through it all.
 */
import assert from "node:assert/strict";
import type { Chat } from "../../src/simulator/chat.ts";
import type { RequestKind } from "../../src/simulator/requests.ts";
import type { SimulatorOptions } from "../../src/simulator/simulator.ts";
import { startSimulator } from "../../src/simulator/simulator.ts";
import type { Deadlines } from "../../src/upstream/calls.ts";
import { type Answer, assertRefused, post } from "./api.ts";
import { type Evil, Front, type Order } from "./front.ts";
import { inTime, openStream, textAction } from "./opening.ts";
import { startRelay, type TestRelay } from "./relay.ts";
import { assertConsecutive, type Stream } from "./stream.ts";

export const VIDEO = "under-siege";

export interface Besieged extends AsyncDisposable {
  relay: TestRelay;
  front: Front;
  chat: Chat;
}

/** A relay behind a front, and a chat in which "first" was said. */
export async function besieged(deadlines: Deadlines, simulator: SimulatorOptions = {}): Promise<Besieged> {
  await using stack = new AsyncDisposableStack();
  const upstream = stack.use(await startSimulator(simulator));
  const front = stack.use(await Front.before(upstream));
  const settings = { RELAY_POLL_MAX_MS: "20" };
  const relay = stack.use(await startRelay({ upstream, front, deadlines, settings }));
  const chat = upstream.chat(VIDEO, { tokens: "reusable", timeoutMs: 5, page: 10 });
  chat.say([textAction("first")]);
  const owned = stack.move();
  return { relay, front, chat, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/**
 * Asserts that a room lives through an evil that every kind of its requests meets, and its caller too, who is told
 * as `says`; and that no connection to it is kept.
 */
export async function assertSurvived(evil: Evil, deadlineMs: number, says: RegExp): Promise<void> {
  await using siege = await besieged({ chatMs: deadlineMs, pageMs: deadlineMs });
  await using stream = await openedDespite(siege, evil, ["sw.js", "sw.js_data", "popout", "get_live_chat"]);
  await assertPolledDespite(siege, stream, evil);
  const [answer] = await Promise.all([
    callerDespite(siege, evil),
    assertReopenedDespite(siege, stream, evil),
  ]);
  assert.match(assertRefused(answer, 502, "UPSTREAM_ERROR"), says);
  assert.ok(JSON.stringify(answer.body).length < 400);
  await assertUnharmed(siege, stream, ["first", "second", "third"]);
  await inTime(siege.front.left(), "the end of the evil's connections");
}

/** Opens the room while each of these requests is met by the evil once. */
export async function openedDespite(
  siege: Besieged,
  evil: Evil,
  kinds: readonly RequestKind[],
): Promise<Stream> {
  const orders = kinds.map((kind) => siege.front.order(kind, evil));
  const stream = await openStream(siege.relay, { videoId: VIDEO });
  await stream.untilMessages(1);
  assertMet(orders);
  return stream;
}

/** Asserts that the room goes on to what is said after its next poll has met the evil. */
export async function assertPolledDespite(siege: Besieged, stream: Stream, evil: Evil): Promise<void> {
  const { front, relay, chat } = siege;
  const order = front.order("get_live_chat", evil);
  await untilMet(order);
  const pages = relay.upstream.requests.filter(({ kind }) => kind === "popout").length;
  chat.say([textAction("second")]);
  await stream.until(() => stream.ids.includes("second"));
  assert.equal(
    relay.upstream.requests.filter(({ kind }) => kind === "popout").length,
    pages,
    "re-bootstraps",
  );
}

/** Asserts that the room goes on although its re-bootstrap meets the evil at both pages, and must be repeated. */
async function assertReopenedDespite(siege: Besieged, stream: Stream, evil: Evil): Promise<void> {
  const { front, chat } = siege;
  const orders = [front.order("popout", evil), front.order("watch", evil)];
  chat.expireTokens();
  await Promise.all(orders.map(untilMet));
  chat.say([textAction("third")]);
  await stream.until(() => stream.ids.includes("third"));
}

/** Asserts that the viewer was there all the time and missed nothing, and that its cursor still resumes. */
export async function assertUnharmed(
  { relay }: Besieged,
  stream: Stream,
  ids: readonly string[],
): Promise<void> {
  assert.equal(stream.over, false);
  assert.deepEqual(stream.ids, ids);
  assertConsecutive(stream.cursors, stream.init.cursor);
  assert.deepEqual([...new Set(stream.frames.map(({ event }) => event))], ["init", "message"]);
  await using resumed = await openStream(relay, { videoId: VIDEO, lastEventId: stream.init.cursor });
  await resumed.untilMessages(ids.length);
  assert.deepEqual(resumed.messages, stream.messages);
  assert.equal(resumed.init.cursor, stream.init.cursor);
}

/** The answer to a caller whose poll meets the evil. */
export async function callerDespite({ relay, front }: Besieged, evil: Evil): Promise<Answer> {
  const order = front.order("get_live_chat_replay", evil);
  const answer = await inTime(post(relay.url, "/v1/poll", POLL), "a poll's answer");
  assertMet([order]);
  return answer;
}

/** A token of nobody's chat: whether the upstream accepts it, the evil decides. */
const POLL = {
  token: "token",
  client: "WEB",
  endpoint: "get_live_chat_replay",
  apiKey: "AIzaSyExampleExample",
  webVersion: "2.20260101.00.00",
  details: true,
};

export async function untilMet(order: Order): Promise<void> {
  await inTime(order.whenMet, "a request that the evil meets");
}

function assertMet(orders: readonly Order[]): void {
  assert.deepEqual(
    orders.map(({ met }) => met),
    orders.map(() => 1),
    "each evil was met",
  );
}
