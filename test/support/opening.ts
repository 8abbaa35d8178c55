/** How a room is opened, seen from both ends: the first viewer's answer, and the upstream's requests. */
import assert from "node:assert/strict";
import type { Failure } from "../../simulator/faults.ts";
import type { JsonObject } from "../../simulator/plain-json.ts";
import type { RequestKind, RequestRecord } from "../../simulator/requests.ts";
import { inTime } from "./eventually.ts";
import { startRelay, type TestRelay, type TestRelayOptions } from "./relay.ts";
import { Stream, type StreamOptions, streamUrl } from "./stream.ts";

/** A relay whose upstream is simulated, over sockets or in virtual time. */
type Upstreamed = Pick<TestRelay, "upstream">;

/** A relay that polls no more once a room is open: all its calls are then those of a bootstrap. */
export function startAtRest({ settings, ...options }: TestRelayOptions = {}): Promise<TestRelay> {
  const atRest = { RELAY_POLL_MIN_MS: "60000", RELAY_POLL_MAX_MS: "60000" };
  return startRelay({ ...options, settings: { ...atRest, ...settings } });
}

/** The sources that may show a chat. */
export const PLACES = ["popout", "watch", "next"] as const;

/** Orders a fault for all requests of a kind; gives what ends it. */
export function failAlways(
  { upstream }: Upstreamed,
  on: RequestKind | readonly RequestKind[],
  as: Failure,
): () => void {
  const fault = upstream.fault({ on, times: Number.POSITIVE_INFINITY, as });
  return () => fault.cancel();
}

/** The kinds of all requests so far, in order. */
export function asked({ upstream }: Upstreamed): RequestKind[] {
  return upstream.requests.map(({ kind }) => kind);
}

/** The calls to the chat endpoints so far, in order. */
export function chatCalls({ upstream }: Upstreamed): RequestRecord[] {
  return upstream.requests.filter(({ client }) => client !== undefined);
}

/** The client and endpoint of each of them. */
export function tried(relay: Upstreamed): string[] {
  return chatCalls(relay).map(({ client, kind }) => `${client} ${kind}`);
}

export function openStream({ url }: TestRelay, options: StreamOptions): Promise<Stream> {
  return inTime(Stream.open(url, options), `a stream of ${options.videoId}`);
}

/** Opens a stream, waits for its init frame, and closes it. */
export async function opened(relay: TestRelay, videoId: string): Promise<Stream["init"]> {
  await using stream = await openStream(relay, { videoId });
  await stream.until(() => stream.frames.length > 0);
  return stream.init;
}

/** The answer to a stream that is refused; checks its form, and that it contains no credential. */
export async function refused(relay: TestRelay, videoId: string) {
  const response = await inTime(fetch(streamUrl(relay.url, { videoId })), `a refusal of ${videoId}`);
  assert.notEqual(response.status, 200);
  assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
  const body = (await response.json()) as { code: string; message: string };
  assert.deepEqual(Object.keys(body), ["code", "message"]);
  const tokens = chatCalls(relay).flatMap(({ continuation }) => continuation ?? []);
  for (const secret of [relay.upstream.credentials.apiKey, ...tokens]) {
    assert.ok(!body.message.includes(secret), `the message contains a credential: ${body.message}`);
  }
  const retryAfter = response.headers.get("retry-after");
  return { failure: `${response.status} ${body.code}`, message: body.message, retryAfter };
}

/** The action of a plain chat message, which says its id. */
export function textAction(id: string): JsonObject {
  const said = { id, timestampUsec: "1767225600000000", message: { runs: [{ text: id }] } };
  return { addChatItemAction: { item: { liveChatTextMessageRenderer: said } } };
}
