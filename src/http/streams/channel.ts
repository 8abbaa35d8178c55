/** `GET /v1/stream?channel=`: the chats of a channel's streams, one after the other, on one connection. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { parseChannel } from "../../protocol/channel.ts";
import { RelayError } from "../../protocol/errors.ts";
import { Multiplex } from "../../serving/multiplex/multiplex.ts";
import { PART_FORMS } from "../../serving/multiplex/parts.ts";
import { clientGone } from "../client-gone.ts";
import { errorConverter } from "../errors.ts";
import type { StreamHeaders, StreamQuery } from "../schemas/schemas.ts";
import { networkOf } from "./address-limit.ts";
import {
  type ChannelParts,
  type ChannelRequest,
  ChannelViewer,
  firstLook,
  parsePlace,
} from "./channel-viewer.ts";
import { formatFor, openSink } from "./open-sink.ts";
import { partAsked, type StreamParts } from "./stream-parts.ts";

/** Rejects with `RelayError` before the answer has begun: for an invalid request, NO_LIVE_CHAT, CAPACITY. */
export async function openChannel(
  { query, headers, raw, ip }: FastifyRequest<{ Querystring: StreamQuery; Headers: StreamHeaders }>,
  reply: FastifyReply,
  parts: StreamParts,
): Promise<void> {
  const { rooms, channels, addresses, clock, telemetry, keepaliveMs } = parts;
  const gone = clientGone(reply.raw);
  const channel = parseChannel(query.channel ?? "");
  const details = query.details === "true";
  const format = formatFor(headers.accept);
  const { backfill, from, filter } = partAsked(query);
  const request = {
    ...{ backfill, from, filter },
    resume: parsePlace(headers["last-event-id"]) ?? parsePlace(query.lastEventId),
    cameAt: clock.monotonic(),
    address: networkOf(ip),
  };
  if (query.until !== undefined)
    throw new RelayError(
      "INVALID_REQUEST",
      "until: a channel has no end; name one of its videos as videoId.",
    );
  raw.resume(); // as for a video
  const giveBack = addresses.take({ ip });
  try {
    using opening = new DisposableStack();
    const watch = opening.use(channels.watch(channel));
    await firstLook({ watch, rooms, clock }, gone);
    const line = new Multiplex(openSink(reply, details, gone, parts, giveBack), format);
    telemetry.sources.connections.add("channel", line.gone);
    void line.keepOpen({ clock, telemetry, keepaliveMs });
    const toRelayError = errorConverter("/v1/stream", telemetry);
    const form = PART_FORMS[format][details ? "detailed" : "plain"];
    void follow(line, request, { watch, rooms, clock, form, toRelayError }, opening.move());
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** Apart from the request, which is released while the connection lasts. */
async function follow(
  line: Multiplex,
  request: ChannelRequest,
  parts: ChannelParts,
  owned: Disposable,
): Promise<void> {
  using _ = owned;
  await new ChannelViewer(line, request, parts).run();
}
