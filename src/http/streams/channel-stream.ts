/** `GET /v1/stream?channel=`: the chats of a channel's broadcasts, one after the other, on one connection. */

import { type ChannelParts, type ChannelRequest, ChannelViewer } from "../../multiplex/channel-viewer.ts";
import type { BodySink, Multiplex } from "../../multiplex/multiplex.ts";
import { CHANNEL_PLACE, parseChannel } from "../../protocol/channel.ts";
import { invalidRequest } from "../../protocol/errors.ts";
import type { ChannelPlace } from "../../protocol/merged-id.ts";
import { parseCursor } from "../../serving/resume-or-backfill.ts";
import type { StreamQuery } from "../schemas/schemas.ts";
import { formAsked, openMultiplex, partAsked, type StreamInput, type StreamService } from "./stream-parts.ts";

/** Throws `RelayError` INVALID_REQUEST. */
export function channelAsked({ query, headers }: StreamInput<StreamQuery>) {
  const channel = parseChannel(query.channel ?? "");
  const { backfill, from, filter, wantsVideo, facts } = partAsked(query);
  refuseUntil(query);
  const resume = parsePlace(headers["last-event-id"]) ?? parsePlace(query.lastEventId);
  const form = formAsked({ query, headers });
  const wantsAll = query.all === "on";
  const wants = { wantsVideo, facts, wantsAll };
  return { channel, backfill, from, filter, ...wants, resume, form, isBounded: false };
}

/** Throws `RelayError` INVALID_REQUEST if a stream with a channel is asked to end. */
export function refuseUntil({ until }: Pick<StreamQuery, "until">): void {
  if (until === undefined) return;
  const words = "until: a channel has no end; name one of its videos in its place.";
  throw invalidRequest(words);
}

/**
 * Resolves when the answer has begun, which `open` does: the streams are read in the background. Rejects with
 * `RelayError` NO_LIVE_CHAT and CAPACITY, with the reason of `gone`, and with what `open` throws.
 */
export async function openChannel(
  { channel, form, ...asked }: ReturnType<typeof channelAsked>,
  address: string,
  served: StreamService,
  open: () => BodySink,
  gone: AbortSignal,
): Promise<void> {
  const { rooms, channels, videoChannels, clock } = served;
  const request = { ...asked, address };
  using opening = new DisposableStack();
  const watch = opening.use(channels.watch(channel, address));
  await seen({ watch, rooms, clock }, gone);
  const { multiplex, parts } = openMultiplex("channel", form, served, open);
  void follow(multiplex, request, { ...parts, watch, videoChannels }, opening.move());
}

/** A separate function, so that the request can be freed while the connection lasts. */
async function follow(
  multiplex: Multiplex,
  request: ChannelRequest,
  parts: ChannelParts,
  owned: Disposable,
): Promise<void> {
  using _ = owned;
  await new ChannelViewer(multiplex, request, parts).run();
}

/** The place in an id, `<videoId>.<cursor>`; undefined for a text of another form. */
export function parsePlace(text: string | undefined): ChannelPlace | undefined {
  const [, videoId, digits] = CHANNEL_PLACE.exec(text ?? "") ?? [];
  const cursor = parseCursor(digits);
  return videoId === undefined || cursor === undefined ? undefined : { videoId, cursor };
}

/**
 * Resolves as `Broadcasts.firstLook` does. The viewer counts towards the limits meanwhile. Rejects with
 * `RelayError` NO_LIVE_CHAT if the channel does not exist, CAPACITY; and with the reason of `gone`.
 */
async function seen(
  { watch, rooms, clock }: Pick<ChannelParts, "watch" | "rooms" | "clock">,
  gone: AbortSignal,
): Promise<void> {
  rooms.assertBelowMaxViewers(1);
  const stopped = new AbortController();
  const place = { end: () => stopped.abort() };
  try {
    using _ = rooms.countWaiting(place);
    await watch.broadcasts.firstLook(clock, AbortSignal.any([gone, stopped.signal]));
  } catch (error) {
    if (gone.aborted || !stopped.signal.aborted) throw error;
  }
  rooms.assertBelowMaxViewers(1);
}
