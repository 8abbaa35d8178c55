/**
 * The part of the API that edges use, in virtual time: what the routes do once they have a request. The
 * stream's messages are NDJSON.
 */
import { Readable } from "node:stream";
import { errorConverter } from "../../src/http/errors.ts";
import { readQuery } from "../../src/http/history-query.ts";
import { historyPage } from "../../src/http/messages.ts";
import type { MessagesQuery } from "../../src/http/schemas/history-schemas.ts";
import type { OriginAnswer, OriginRequest } from "../../src/origin/connections.ts";
import { RelayError } from "../../src/protocol/errors.ts";
import { parseCursor } from "../../src/serving/cursor.ts";
import { FORMS } from "../../src/serving/form.ts";
import { ALL } from "../../src/serving/type-filter.ts";
import { openChannel, type Served } from "./several-chats.ts";
import { SimulatedSink } from "./sink.ts";

/** A service that edges can follow. */
export interface OriginService extends Served {
  /** Answers `GET /v1/messages`, with the query as it is in a URL. Rejects as the route refuses. */
  pages(query: string, signal: AbortSignal): Promise<OriginAnswer>;
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
  path: string,
  signal: AbortSignal,
): Promise<OriginAnswer> {
  const { pathname, search } = new URL(path, "http://origin");
  if (pathname === "/healthz") return json(200, { status: "alive" });
  return await service.pages(search, signal).catch((error) => refusal(error, service, signal));
}

/** Opens a stream, which writes to `take`. Resolves to its connection, or to the refusal. */
export async function openStream(
  service: OriginService,
  { path, headers }: OriginRequest,
  take: (bytes: Buffer) => void,
  gone: AbortSignal,
): Promise<SimulatedSink | OriginAnswer> {
  const query = new URL(path, "http://origin").searchParams;
  const [videoId, channel] = [query.get("videoId") ?? "", query.get("channel")];
  const isDetailed = query.get("details") === "true";
  const sink = new SimulatedSink(FORMS.ndjson[isDetailed ? "detailed" : "plain"].bare, take);
  const open = () => {
    gone.throwIfAborted();
    return sink;
  };
  const lastEventId = headers["last-event-id"]?.toString();
  const asked = { backfill: Number(query.get("backfill")), address: "edge" };
  try {
    if (channel !== null) {
      const request = { ...asked, lastEventId, types: query.get("types") ?? "", format: "ndjson" } as const;
      await openChannel(service, channel, request, open, gone);
    } else {
      const place = { lastEventId: parseCursor(lastEventId), isBounded: query.get("until") === "now" };
      const request = { ...asked, ...place, videoId, filter: ALL, address: () => asked.address, open };
      await service.rooms.enter(request, gone);
    }
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
  return json(known.status, known.body, seconds > 0 ? { "retry-after": `${seconds}` } : {});
}

function json(statusCode: number, body: object, headers: Record<string, string> = {}): OriginAnswer {
  return { statusCode, headers, body: Readable.from([Buffer.from(JSON.stringify(body))]) };
}
