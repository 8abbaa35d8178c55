/**
 * A room one of whose polls is answered as a test orders: the first answer proves its pair, the next is the
 * ordered one, and all further ones are as usual. Seen at its stream and at the upstream.
 */
import assert from "node:assert/strict";
import type { Failure } from "../../simulator/faults.ts";
import type { Scenario } from "../../simulator/scenario.ts";
import { inTime } from "./eventually.ts";
import { asked, openStream, textAction } from "./opening.ts";
import { startRelay, type TestRelay } from "./relay.ts";
import type { Stream } from "./stream.ts";

const VIDEO = "any-answers";
/** This many failed polls in a row stop the room. */
export const MAX_FAILURES = 3;

type Room = Awaited<ReturnType<typeof roomWith>>;

/** The room, when its viewer has been sent the one message "before". */
export async function roomWith(failure: Failure, scenario: Partial<Scenario> = {}) {
  await using stack = new AsyncDisposableStack();
  const settings = {
    RELAY_POLL_MAX_MS: "20",
    RELAY_COOLDOWN_MS: "60",
    RELAY_MAX_FAILURES: String(MAX_FAILURES),
  };
  const relay = stack.use(await startRelay({ settings }));
  const chat = relay.upstream.chat(VIDEO, { tokens: "reusable", timeoutMs: 5, page: 1, ...scenario });
  chat.say([textAction("before")]);
  const on = scenario.kind === "replay" ? "get_live_chat_replay" : "get_live_chat";
  relay.upstream.fault({ on, times: 1, as: { delayMs: 0 } });
  const fault = relay.upstream.fault({ on, times: 1, as: failure });
  const stream = stack.use(await openStream(relay, { videoId: VIDEO }));
  await stream.untilMessages(1);
  const owned = stack.move();
  const dispose = () => owned.disposeAsync();
  return { relay, chat, fault, stream, [Symbol.asyncDispose]: dispose };
}

/** Waits for the call after the one that was answered as ordered; gives both. */
export async function around({ relay }: Room) {
  const calls = relay.upstream.requested("get_live_chat", { count: 3, since: 0 });
  const [, call, next] = await inTime(calls, "a call after the ordered answer");
  assert.ok(call && next);
  return { call, next };
}

/** Asserts that the stream ends as that of a chat that is over. */
export async function assertEnds(stream: Stream): Promise<void> {
  const end = { event: "end", id: undefined, data: { reason: "no more continuations" } };
  assert.deepEqual(await inTime(stream.ended(), "the end of the stream"), end);
}

/** Asserts that the stream ends as that of a room that failed. */
export async function assertFails(stream: Stream): Promise<void> {
  const frame = await inTime(stream.ended(), "the end of the stream");
  assert.equal(frame?.event, "error");
  assert.match(JSON.stringify(frame.data), /^{"code":"UPSTREAM_ERROR","message":"[^"]+"}$/);
}

/** How often the room, or a room before it, was bootstrapped. */
export function bootstraps(relay: TestRelay): number {
  return asked(relay).filter((kind) => kind === "popout").length;
}
