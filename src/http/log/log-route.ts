/**
 * `GET /v1/log/{videoId}`: the chat of a video as a durable stream (Durable Streams protocol), to read in
 * pages, by long polling, or as Server-Sent Events.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { RelayError } from "../../protocol/errors.ts";
import { parseVideoId } from "../../protocol/video-id.ts";
import { parseOffset } from "../../serving/log-position.ts";
import { networkOf } from "../access/address-limit.ts";
import { isPrivate } from "../access/private-answers.ts";
import { clientGone } from "../client-gone.ts";
import { acceptsGzip, gzippedTag, isKnown, varyBy } from "../negotiation.ts";
import type { PassOn } from "../origin-routes.ts";
import { LogParams, LogQuery } from "../schemas/log-schemas.ts";
import { LogResponse, routeOptions } from "../schemas/responses.ts";
import { isAlone, openBody, STREAM_HEADERS } from "../streams/stream-head.ts";
import type { StreamParts } from "../streams/stream-parts.ts";
import { knownParametersOnly } from "../strict-query.ts";
import type { LogAnswer } from "./log-answer.ts";
import type { LogAsked, LogReads } from "./log-reads.ts";
import type { PollSink } from "./poll-sink.ts";
import { headerLines, type WaitingParts, WaitingPoll } from "./poll-socket.ts";

interface LogParts extends StreamParts {
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
  const { reads, viewerPlaces, clock, inFlight, handsOver, compresses } = parts;
  const varies = compresses ? ["Accept-Encoding"] : [];
  /** What waiting polls share, by the headers of their answers: these are the same for most. */
  const waiting = new Map<string, WaitingParts>();

  const asked = ({ params, query, headers, ip }: LogRequest): LogAsked => {
    const { chat, offset, live, cursor } = query;
    const videoId = parseVideoId(params.videoId);
    const position = parseOffset(offset);
    if (position === undefined)
      throw invalid("offset: must be -1, now, or an offset that this log has given out.");
    if (live !== undefined && offset === undefined) throw invalid("offset: is required with live.");
    const isGzip = compresses && acceptsGzip(headers["accept-encoding"]);
    return { videoId, chat, position, cursor, isGzip, address: () => networkOf(ip) };
  };

  const passOn = (request: LogRequest, reply: FastifyReply) => {
    if (!parts.pass) throw new Error("this instance has the pages of its logs itself");
    return parts.pass(`/v1/log/${parseVideoId(request.params.videoId)}`, request as FastifyRequest, reply);
  };

  const sendPage = async (request: LogRequest, reply: FastifyReply, gone: AbortSignal) => {
    const wanted = asked(request);
    const page = await reads.page(wanted, gone, () => viewerPlaces.take(request, gone));
    if (!page) return passOn(request, reply);
    const { body } = page;
    const headers = wanted.isGzip ? zippedHeaders(page.headers) : page.headers;
    reply.headers(headers);
    varyBy(reply, ...varies);
    if (headers.etag && isKnown(headers.etag, request.headers["if-none-match"]))
      return reply.code(304).send();
    gone.throwIfAborted();
    return reply.send(body);
  };

  const sendPoll = async (request: LogRequest, reply: FastifyReply, gone: AbortSignal) => {
    const place = await viewerPlaces.take(request, gone);
    const { giveBack } = place;
    let sink: PollSink;
    try {
      sink = await reads.poll(asked(request), gone);
    } catch (error) {
      giveBack();
      throw error;
    }
    if (!sink.answer) place.keep(sink);
    if (!sink.answer && mayTake(reply)) {
      reply.hijack();
      inFlight.forget(request.raw.socket);
      varyBy(reply, ...varies);
      const head = headerLines(reply.getHeaders());
      const isOwn = isPrivate(request as FastifyRequest);
      const shared = waiting.getOrInsertComputed(`${isOwn} ${head}`, () => ({
        server: app.server,
        clock,
        head,
        isPrivate: isOwn,
      }));
      new WaitingPoll(reply.raw, sink, shared, giveBack);
      return reply;
    }
    gone.addEventListener("abort", () => sink.end(), { once: true });
    const answer = sink.answer ?? (await new Promise<LogAnswer>((resolve) => (sink.onAnswer = resolve)));
    giveBack();
    varyBy(reply, ...varies);
    return reply.code(answer.status).headers(answer.headers).send(answer.body);
  };

  /** Whether the connection can be taken while its request waits, and be given back after the answer. */
  const mayTake = ({ raw, request }: FastifyReply) =>
    handsOver &&
    raw.shouldKeepAlive &&
    request.raw.socket.writable &&
    isAlone(request.raw) &&
    inFlight.stream(request.raw);

  const openEvents = async (request: LogRequest, reply: FastifyReply, gone: AbortSignal): Promise<void> => {
    const place = await viewerPlaces.take(request, gone);
    try {
      await reads.events(asked(request), gone, (forms, forget) =>
        place.keep(
          openBody(
            reply,
            { forms, headers: EVENT_HEADERS, vary: [], endsByItself: false },
            gone,
            parts,
            () => {
              forget();
              place.giveBack();
            },
          ),
        ),
      );
    } catch (error) {
      place.giveBack();
      throw error;
    }
  };

  app.head<LogRoute>("/v1/log/:videoId", HEAD_OPTIONS, async (request, reply) => {
    const answer = await reads.head(
      { videoId: parseVideoId(request.params.videoId), chat: request.query.chat },
      clientGone(reply.raw),
    );
    return answer ? reply.headers(answer.headers).send() : passOn(request, reply);
  });

  app.get<LogRoute>("/v1/log/:videoId", LOG_OPTIONS, async (request, reply) => {
    const { live } = request.query;
    const gone = clientGone(reply.raw, { endsByItself: live !== "sse" });
    request.raw.resume(); // as in /v1/stream
    if (live === "sse") return openEvents(request, reply, gone);
    return live === undefined ? sendPage(request, reply, gone) : sendPoll(request, reply, gone);
  });
}

function zippedHeaders({ etag, ...others }: LogAnswer["headers"]): LogAnswer["headers"] {
  return { ...others, ...(etag && { etag: gzippedTag(etag) }) };
}

function invalid(message: string): RelayError {
  return new RelayError("INVALID_REQUEST", message);
}
