/**
 * A virtual relay with one room, of a chat of plain text, and a viewer in it who has been sent all that was
 * said so far.
 */
import assert from "node:assert/strict";
import type { RequestKind, RequestRecord } from "../../simulator/requests.ts";
import type { Scenario } from "../../simulator/scenario.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../harness/virtual-relay.ts";
import type { Visit } from "../harness/virtual-viewer.ts";
import { chatCalls } from "./opening.ts";

export const VIDEO = "watched-one";

export async function virtualRoom(
  said: number,
  settings: VirtualRelayOptions["settings"] = {},
  scenario: Partial<Scenario> = {},
  options: VirtualRelayOptions = {},
) {
  const relay = new VirtualRelay({ settings, ...options });
  const { upstream } = relay;
  const chat = upstream.chat(VIDEO, { kinds: ["text"], ...scenario });
  chat.say(said);
  const viewer = await relay.enter({ videoId: VIDEO });
  await viewer.untilMessages(said);
  return {
    relay,
    upstream,
    chat,
    viewer,
    /** Opens another stream of the room. */
    open: (visit: Partial<Visit> = {}) => relay.enter({ videoId: VIDEO, ...visit }),
    /** The ids of all that the chat said, in order. */
    ids: () => chat.ledger.map(({ id }) => id),
    /** How often the room, or a room before it, was bootstrapped. */
    bootstraps: () => requestsOf(relay, "popout").filter(({ videoId }) => videoId === VIDEO).length,
  };
}

/**
 * A virtual room that nobody has read to its end: its service is killed after three messages, and started
 * again ten minutes after four more (`missed`) and the end of the chat.
 */
export async function unreadEnd() {
  const scenario = { timeoutMs: 5000 };
  const room = await virtualRoom(3, { RELAY_GRACE_MS: "1000" }, scenario, { hasDisk: true });
  const { relay, chat } = room;
  await relay.advance(10_000);
  relay.kill();
  const missed = chat.say(4);
  chat.end("reload-only");
  await relay.advance(600_000);
  relay.start();
  return { ...room, missed };
}

/** Without the messages of type `gap`. */
export const withoutGaps = (ids: readonly string[]): string[] => ids.filter((id) => !id.startsWith("gap:"));

export function requestsOf({ upstream }: Pick<VirtualRelay, "upstream">, on: RequestKind): RequestRecord[] {
  return upstream.requests.filter(({ kind }) => kind === on);
}

/** The times between calls of a kind, in milliseconds. */
export function intervals(relay: VirtualRelay, on: RequestKind): number[] {
  const calls = requestsOf(relay, on);
  return calls.slice(1).map(({ at }, i) => Math.round(at - (calls[i]?.at ?? 0)));
}

/** The refusal of a viewer, as `/v1/stream` answers it; it contains no credential. */
export async function refused(relay: VirtualRelay, videoId: string) {
  const { status, code, message, retryAfterMs } = await relay.refusal({ videoId });
  const tokens = chatCalls(relay).flatMap(({ continuation }) => continuation ?? []);
  for (const secret of [relay.upstream.credentials.apiKey, ...tokens])
    assert.ok(!message.includes(secret), `the message contains a credential: ${message}`);
  return { failure: `${status} ${code}`, message, retryAfterMs };
}
