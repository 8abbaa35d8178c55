/** The API in virtual time: the routes themselves, apart from HTTP; for viewers, and for edges in NDJSON. */
import { Readable } from "node:stream";
import { errorConverter } from "../../src/http/error-answers.ts";
import { readQuery } from "../../src/http/history-query.ts";
import type { LogAnswer } from "../../src/http/log/log-answer.ts";
import type { LogAsked, LogReads } from "../../src/http/log/log-reads.ts";
import { historyPage } from "../../src/http/messages.ts";
import type { MessagesQuery } from "../../src/http/schemas/history-schemas.ts";
import type { MergedQuery } from "../../src/http/schemas/schemas.ts";
import { mergedAsked, openMerged } from "../../src/http/streams/merged.ts";
import { openStream, streamAsked } from "../../src/http/streams/stream.ts";
import type { StreamService } from "../../src/http/streams/stream-parts.ts";
import type { BodySink } from "../../src/multiplex/multiplex.ts";
import {
  OPENING_TIMEOUT_MS,
  type OriginAnswer,
  type OriginRequest,
} from "../../src/origin/origin-connections.ts";
import { CHATS } from "../../src/protocol/chat.ts";
import { ChatAbsent, STANDING_HEADER } from "../../src/protocol/chat-standing.ts";
import { RelayError } from "../../src/protocol/errors.ts";
import { type BodyForm, FORMS } from "../../src/serving/form.ts";
import { parseLogOffset } from "../../src/serving/log-position.ts";
import { refuseUnavailable } from "../../src/serving/store-refusal.ts";
import { SimulatedSink } from "./sink.ts";

/** A service that edges can follow. */
export interface OriginService extends StreamService {
  /** Answers `GET /v1/messages`, with the query as it is in a URL. Rejects as the route refuses. */
  pages(query: string, signal: AbortSignal): Promise<OriginAnswer>;
  /** Its logs, and how it answers a request that only its own origin can answer. */
  readonly reads: LogReads;
  passOn?(request: OriginRequest, signal: AbortSignal): Promise<OriginAnswer>;
}

/** A page of a stored history, as `OriginService.pages` answers. */
export async function historyAnswer(
  text: string,
  parts: Parameters<typeof historyPage>[2],
  signal: AbortSignal,
): Promise<OriginAnswer> {
  const query = Object.fromEntries(new URLSearchParams(text)) as unknown as MessagesQuery;
  const { headers, body } = await historyPage(query, readQuery(query, undefined), parts, signal);
  return { statusCode: 200, headers, body: Readable.from([body]) };
}

/** Answers everything but streams. */
export async function answerPage(
  service: OriginService,
  request: OriginRequest,
  signal: AbortSignal,
): Promise<OriginAnswer> {
  const { pathname, search } = new URL(request.path, "http://origin");
  if (pathname === "/healthz") return json(200, { status: "alive" });
  if (pathname.startsWith("/v1/videos/")) return await requestVideo(service, request, "edge", signal);
  if (pathname.startsWith("/v1/log/")) return await requestLog(service, request, "edge", signal);
  return await service.pages(search, signal).catch((error) => refusal(error, service, signal));
}

/**
 * Opens a stream as its route does with a request whose query and headers are valid; `open` begins the
 * answer. Resolves then; rejects as the route refuses.
 */
export async function requestStream(
  served: StreamService,
  { path, headers }: Pick<OriginRequest, "path" | "headers">,
  address: string,
  open: () => BodySink,
  gone: AbortSignal,
): Promise<void> {
  const { pathname, searchParams } = new URL(path, "http://origin");
  const query = Object.fromEntries(searchParams);
  if (pathname === "/v1/merged")
    openMerged(mergedAsked({ query: query as MergedQuery, headers }), address, served, open);
  else await openStream(streamAsked({ query, headers }), () => address, served, open, gone);
}

/** Answers a request for the channel of a video, whose values are valid, as the route does. */
async function requestVideo(
  service: OriginService,
  request: OriginRequest,
  address: string,
  gone: AbortSignal,
): Promise<OriginAnswer> {
  const { pathname, searchParams } = new URL(request.path, "http://origin");
  const videoId = pathname.replace(/.*\//, "");
  const question = { videoId, channels: searchParams.get("channels")?.split(",") };
  try {
    const asked = service.videoChannels.namesOf(question, () => address, gone);
    return json(200, { videoId, channels: await asked.catch(refuseUnavailable) });
  } catch (error) {
    gone.throwIfAborted();
    return refusal(errorConverter("/v1/videos/{videoId}", service.telemetry)(error), service, gone);
  }
}

/** The request for a log, whose values are valid. */
function logAsked(path: string, address: string): LogAsked & { live: string | null } {
  const { pathname, searchParams } = new URL(path, "http://origin");
  return {
    videoId: pathname.replace(/.*\//, ""),
    chat: CHATS.find((chat) => chat === searchParams.get("chat")),
    position: parseLogOffset(searchParams.get("offset") ?? undefined) ?? "begin",
    cursor: searchParams.get("cursor") ?? undefined,
    isGzip: false,
    address: () => address,
    live: searchParams.get("live"),
  };
}

/** Answers a page of a log, a long poll or HEAD, as the route does. */
export async function requestLog(
  service: OriginService,
  request: OriginRequest,
  address: string,
  gone: AbortSignal,
): Promise<OriginAnswer> {
  try {
    const { live, ...asked } = logAsked(request.path, address);
    const { reads } = service;
    if (live === "long-poll") {
      const sink = await reads.poll(asked, gone);
      gone.addEventListener("abort", () => sink.end(), { once: true });
      return logAnswer(sink.answer ?? (await new Promise((resolve) => (sink.onAnswer = resolve))));
    }
    const isHead = request.method === "HEAD";
    const answer = await (isHead ? reads.head(asked, gone) : reads.page(asked, gone));
    if (answer) return logAnswer(answer);
    if (!service.passOn) throw new Error("an instance has all of its logs");
    return await service.passOn({ ...request, timeoutMs: OPENING_TIMEOUT_MS }, gone);
  } catch (error) {
    return refusal(error, service, gone);
  }
}

function logAnswer({ status, headers, body }: LogAnswer): OriginAnswer {
  return { statusCode: status, headers, body: Readable.from(body ? [body] : []) };
}

/** Opens a connection with the events of a log. Rejects as the route refuses. */
export async function requestLogEvents(
  { reads }: OriginService,
  path: string,
  address: string,
  open: (form: BodyForm) => SimulatedSink,
  gone: AbortSignal,
): Promise<void> {
  await reads.events(logAsked(path, address), gone, ({ bare }, closed) => {
    const sink = open(bare);
    void sink.closed.then(closed);
    return sink;
  });
}

/** Opens the stream of an edge, which writes to `take`. Resolves to its connection, or to the refusal. */
export async function answerStream(
  service: OriginService,
  request: OriginRequest,
  take: (bytes: Buffer) => void,
  gone: AbortSignal,
): Promise<SimulatedSink | OriginAnswer> {
  const isDetailed = request.path.includes("details=true");
  const sink = new SimulatedSink(FORMS.ndjson[isDetailed ? "detailed" : "plain"].bare, take);
  const open = () => {
    gone.throwIfAborted();
    return sink;
  };
  try {
    await requestStream(service, request, "edge", open, gone);
    return sink;
  } catch (error) {
    return refusal(error, service, gone);
  }
}

/** The answer of a route that refuses a request. Throws the error if nobody waits for it. */
function refusal(error: unknown, { telemetry }: OriginService, gone: AbortSignal): OriginAnswer {
  if (gone.aborted) throw error;
  const known = error instanceof RelayError ? error : errorConverter("/v1/stream", telemetry)(error);
  const seconds = Math.ceil((known.retryAfterMs ?? 0) / 1000);
  return json(known.status, known.body, {
    ...(seconds > 0 && { "retry-after": `${seconds}` }),
    ...(error instanceof ChatAbsent && { [STANDING_HEADER]: error.absence.is }),
  });
}

function json(statusCode: number, body: object, headers: Record<string, string> = {}): OriginAnswer {
  return { statusCode, headers, body: Readable.from([Buffer.from(JSON.stringify(body))]) };
}
