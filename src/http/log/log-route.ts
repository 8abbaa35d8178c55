/**
 * `GET /v1/log/{videoId}`: the chat of a video as a durable stream (Durable Streams protocol), to read in
 * pages, by long polling, or as Server-Sent Events.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Clock } from "../../base/clock.ts";
import { invalidRequest } from "../../protocol/errors.ts";
import { parseVideoId } from "../../protocol/video-id.ts";
import { parseLogOffset } from "../../serving/log-position.ts";
import { networkOf } from "../access/address-limit.ts";
import type { ViewerPlaces } from "../access/viewer-places.ts";
import { clientGone } from "../connections/client-gone.ts";
import { acceptsGzip, gzippedTag, isKnown, varyBy } from "../negotiation.ts";
import type { PassOn } from "../origin-routes.ts";
import { LogParams, LogQuery } from "../schemas/log-schemas.ts";
import { LogResponse, routeOptions } from "../schemas/responses.ts";
import { isAlone, type OpenParts, openBody, STREAM_HEADERS } from "../streams/stream-head.ts";
import { knownParametersOnly } from "../strict-query.ts";
import type { LogAnswer } from "./log-answer.ts";
import type { LogAsked, LogReads } from "./log-reads.ts";
import { WaitingPolls } from "./poll-socket.ts";

interface LogParts extends OpenParts {
  viewerPlaces: ViewerPlaces;
  clock: Clock;
  reads: LogReads;
  /** Answers a request that only the origin of an edge can answer. */
  pass: PassOn | undefined;
}

type LogRoute = { Params: LogParams; Querystring: LogQuery };
type LogRequest = FastifyRequest<LogRoute>;

const EXPECTED = {
  summary: "Read the chat of a video as a durable stream",
  params: LogParams,
  querystring: LogQuery,
};

const LOG_OPTIONS = {
  ...routeOptions("/v1/log/{videoId}", EXPECTED, LogResponse),
  preValidation: knownParametersOnly(LogQuery),
  exposeHeadRoute: false,
};

const HEAD_OPTIONS = { ...LOG_OPTIONS, schema: { params: LogParams, querystring: LogQuery } };

/** What browsers need to know of each answer (protocol, section 12.8). */
const GUARDS = { "x-content-type-options": "nosniff", "cross-origin-resource-policy": "cross-origin" };

const EVENT_HEADERS = { "content-type": "text/event-stream", ...STREAM_HEADERS };

/** Guards all answers of logs, also preflights and refusals. Call it before other hooks are added. */
export function guardLogs(app: FastifyInstance): void {
  app.addHook("onRequest", async ({ url }, reply) => void reply.headers(logGuards(url)));
}

/** What guards an answer to a request for a log; nothing for others. */
export function logGuards(url: string): Readonly<Record<string, string>> {
  return url.startsWith("/v1/log/") ? GUARDS : {};
}

export function logRoute(app: FastifyInstance, parts: LogParts): void {
  const waiting = new WaitingPolls(app.server, parts.clock);

  app.head<LogRoute>("/v1/log/:videoId", HEAD_OPTIONS, async (request, reply) => {
    const asked = logAsked(request, parts);
    const answer = await parts.reads.head(asked, clientGone(reply.raw));
    return answer ? reply.headers(answer.headers).send() : await passOn(asked.videoId, reply, parts);
  });

  app.get<LogRoute>("/v1/log/:videoId", LOG_OPTIONS, async (request, reply) => {
    const { live } = request.query;
    const gone = clientGone(reply.raw, { endsByItself: live !== "sse" });
    request.raw.resume(); // as in /v1/stream
    const asked = logAsked(request, parts);
    if (live === "sse") return await openEvents(asked, reply, gone, parts);
    return live === undefined
      ? await sendPage(asked, reply, gone, parts)
      : await sendPoll(asked, reply, gone, parts, waiting);
  });
}

/** Throws `RelayError` INVALID_REQUEST and INVALID_VIDEO_ID. */
function logAsked({ params, query, headers, ip }: LogRequest, { compresses }: LogParts): LogAsked {
  const { chat, offset, live, cursor } = query;
  const videoId = parseVideoId(params.videoId);
  const position = parseLogOffset(offset);
  if (position === undefined)
    throw invalidRequest("offset: must be -1, now, or an offset that this log has given out.");
  if (live !== undefined && offset === undefined) throw invalidRequest("offset: is required with live.");
  const isGzip = compresses && acceptsGzip(headers["accept-encoding"]);
  return { videoId, chat, position, cursor, isGzip, address: () => networkOf(ip) };
}

async function passOn(videoId: string, reply: FastifyReply, { pass }: LogParts): Promise<FastifyReply> {
  if (!pass) throw new Error("this instance has the pages of its logs itself");
  return await pass(`/v1/log/${videoId}`, reply.request, reply);
}

async function sendPage(
  asked: LogAsked,
  reply: FastifyReply,
  gone: AbortSignal,
  parts: LogParts,
): Promise<FastifyReply> {
  const { request } = reply;
  const page = await parts.reads.page(asked, gone, () => parts.viewerPlaces.take(request, gone));
  if (!page) return await passOn(asked.videoId, reply, parts);
  const headers = asked.isGzip ? zippedHeaders(page.headers) : page.headers;
  reply.headers(headers);
  varyByCoding(reply, parts);
  if (headers.etag && isKnown(headers.etag, request.headers["if-none-match"])) return reply.code(304).send();
  gone.throwIfAborted();
  return reply.send(page.body);
}

async function sendPoll(
  asked: LogAsked,
  reply: FastifyReply,
  gone: AbortSignal,
  parts: LogParts,
  waiting: WaitingPolls,
): Promise<FastifyReply> {
  return await parts.viewerPlaces.takeFor(reply.request, gone, async (place) => {
    const sink = await parts.reads.poll(asked, gone);
    varyByCoding(reply, parts);
    if (!sink.answer) place.keep(sink);
    if (!sink.answer && mayTake(reply, parts)) {
      reply.hijack();
      parts.inFlight.forget(reply.request.raw.socket);
      waiting.add(reply, sink, place.giveBack);
      return reply;
    }
    gone.addEventListener("abort", () => sink.end(), { once: true });
    const answer = sink.answer ?? (await new Promise<LogAnswer>((resolve) => (sink.onAnswer = resolve)));
    place.giveBack();
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  });
}

/** Whether the connection can be taken while its request waits, and be given back after the answer. */
function mayTake({ raw, request }: FastifyReply, { handsOver, inFlight }: LogParts): boolean {
  return (
    handsOver &&
    raw.shouldKeepAlive &&
    request.raw.socket.writable &&
    isAlone(request.raw) &&
    inFlight.stream(request.raw)
  );
}

async function openEvents(
  asked: LogAsked,
  reply: FastifyReply,
  gone: AbortSignal,
  parts: LogParts,
): Promise<void> {
  await parts.viewerPlaces.takeFor(reply.request, gone, (place) =>
    parts.reads.events(asked, gone, (forms, forget) => {
      const body = { forms, headers: EVENT_HEADERS, vary: [], endsByItself: false };
      const onClosed = () => {
        forget();
        place.giveBack();
      };
      return place.keep(openBody(reply, body, gone, parts, onClosed));
    }),
  );
}

function varyByCoding(reply: FastifyReply, { compresses }: LogParts): void {
  if (compresses) varyBy(reply, "Accept-Encoding");
}

function zippedHeaders({ etag, ...others }: LogAnswer["headers"]): LogAnswer["headers"] {
  return { ...others, ...(etag && { etag: gzippedTag(etag) }) };
}
