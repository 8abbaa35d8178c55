/** `GET /v1/messages`: the stored messages of a video, page by page or as a download. */
import { createHash } from "node:crypto";
import type { ServerResponse } from "node:http";
import { pipeline, Readable } from "node:stream";
import { promisify } from "node:util";
import { createGzip, gzip } from "node:zlib";
import type { FastifyInstance } from "fastify";
import { atCapacity } from "../protocol/errors.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { Semaphore } from "../semaphore.ts";
import { FORMATS, pageBody, wholeBody } from "../serving/history/formats.ts";
import type { History } from "../serving/history/history.ts";
import { clientGone } from "./client-gone.ts";
import { type HistoryQuery, linksOf, readQuery } from "./history-query.ts";
import { acceptsGzip, isKnown } from "./negotiation.ts";
import { MessagesQuery } from "./schemas/history-schemas.ts";
import { HistoryResponse, schemaOf } from "./schemas/responses.ts";
import { knownParametersOnly } from "./strict-query.ts";

const EXPECTED = { summary: "Read the stored messages of a video", querystring: MessagesQuery };

const HEADERS = {
  "cache-control": "no-cache",
  vary: "Accept, Accept-Encoding",
  "x-content-type-options": "nosniff", // a browser must not show the text of a chat as a page
};
const FOR_EVER = "public, max-age=31536000, immutable";
/** Higher levels take much longer to save little. */
const GZIP = { level: 3 };
const zip = promisify(gzip);
/** One page at a time is compressed, so that the cores stay free for the live streams. */
const zips = new Semaphore(1);

/** Bounds of downloads: each holds some hundred messages that its client has not taken yet. */
export interface DownloadLimits {
  /** How many are sent at once. */
  most: number;
  /** How long a client may take nothing. */
  stallMs: number;
}

export const DOWNLOAD_LIMITS: DownloadLimits = { most: 200, stallMs: 300_000 };

interface PageParts {
  rooms: Rooms;
  history: History;
  /** Whether a stored message may change: deleted ones are blanked. */
  isBlanking: boolean;
}

interface MessagesParts extends PageParts {
  /** Whether answers may be compressed. */
  compresses: boolean;
  downloads: DownloadLimits;
}

interface Answer {
  headers: Record<string, string>;
  /** Changes with the answer. */
  hash: string;
  body: Buffer | AsyncIterable<string>;
}

export const MESSAGES_OPTIONS = {
  schema: schemaOf("/v1/messages", EXPECTED, HistoryResponse),
  preValidation: knownParametersOnly(MessagesQuery),
  exposeHeadRoute: false,
};

export function messagesRoute(app: FastifyInstance, parts: MessagesParts): void {
  const sending = new Set<ServerResponse>();
  app.get<{ Querystring: MessagesQuery }>(
    "/v1/messages",
    MESSAGES_OPTIONS,
    async ({ query, headers }, reply) => {
      reply.headers(HEADERS);
      const wanted = readQuery(query, headers.accept);
      const gone = clientGone(reply.raw);
      const isDownload = wanted.limit === "all";
      if (isDownload) {
        if (sending.size >= parts.downloads.most) throw atCapacity("downloads");
        sending.add(reply.raw);
        reply.raw.once("close", () => sending.delete(reply.raw));
      }
      const answer = await (isDownload ? download : historyPage)(query, wanted, parts, gone);
      const etag = `W/"${answer.hash}"`;
      reply.headers({ ...answer.headers, etag });
      if (isKnown(etag, headers["if-none-match"])) return reply.code(304).send();
      reply.type(FORMATS[wanted.format].mediaType);
      const isGzip = parts.compresses && acceptsGzip(headers["accept-encoding"]);
      if (isGzip) reply.header("content-encoding", "gzip");
      const { body } = answer;
      if (Buffer.isBuffer(body)) {
        return reply.send(isGzip ? await zips.run(() => zip(body, GZIP), gone) : body);
      }
      cutIfStalled(reply.raw, parts.downloads.stallMs);
      const pieces = Readable.from(body);
      return reply.send(isGzip ? pipeline(pieces, createGzip(GZIP), () => {}) : pieces);
    },
  );
}

/** Closes the connection if the client has taken nothing for `stallMs`, and not only waits for the store. */
function cutIfStalled(response: ServerResponse, stallMs: number): void {
  response.setTimeout(stallMs, () => {
    if (response.writableNeedDrain) response.destroy();
    else response.setTimeout(stallMs);
  });
}

/** One page. Rejects with `RelayError` NOT_STORED or STORE_UNAVAILABLE, or the signal's reason. */
export async function historyPage(
  query: MessagesQuery,
  { request, limit, format, options }: HistoryQuery,
  { rooms, history, isBlanking }: PageParts,
  signal: AbortSignal,
): Promise<Answer> {
  const found = await history.page(request, Number(limit), signal);
  const written = await pageBody(found, rooms.stateOf(found.room), FORMATS[format], options, history.slices);
  const isFinal = found.next !== null && request.after !== undefined && !isBlanking;
  const link = linksOf(query, found);
  return { ...written, headers: { ...(isFinal && { "cache-control": FOR_EVER }), ...(link && { link }) } };
}

async function download(
  query: MessagesQuery,
  { request, format, options }: HistoryQuery,
  { history }: PageParts,
  signal: AbortSignal,
): Promise<Answer> {
  const { room, after, last, batches } = await history.whole(request, signal);
  const { extension, header } = FORMATS[format].file ?? {};
  // A deletion that blanks a message is a message itself, and so changes the head.
  const content = JSON.stringify([query, format, header?.(options), room.base, room.head, after, last]);
  return {
    headers: { "content-disposition": `attachment; filename="${room.videoId}.${extension}"` },
    hash: createHash("sha256").update(content).digest("base64url").slice(0, 22),
    body: wholeBody(batches, FORMATS[format], options, history.slices),
  };
}
