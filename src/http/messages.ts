/** `GET /v1/messages`: the stored messages of a video, page by page or as a download. */
import { createHash } from "node:crypto";
import { pipeline, Readable } from "node:stream";
import { createGzip } from "node:zlib";
import type { FastifyInstance } from "fastify";
import { Semaphore } from "../base/semaphore.ts";
import { SharedWork } from "../base/shared-work.ts";
import { chatOf } from "../protocol/chat-key.ts";
import { stateOf } from "../rooms/room-states.ts";
import type { Rooms } from "../rooms/rooms.ts";
import { FORMATS, type Piece, pageBody, wholeBody } from "../serving/history/formats.ts";
import type { History } from "../serving/history/history.ts";
import { clientGone } from "./connections/client-gone.ts";
import type { RequestTurns } from "./connections/request-turns.ts";
import { type HistoryQuery, linksOf, readQuery } from "./history-query.ts";
import { acceptsGzip, isKnown, varyBy } from "./negotiation.ts";
import { PIECES_AT_ONCE } from "./route-bounds.ts";
import { MessagesQuery } from "./schemas/history-schemas.ts";
import { HistoryResponse, schemaOf } from "./schemas/responses.ts";
import { knownParametersOnly } from "./strict-query.ts";
import { GZIP, zippedPage } from "./zipped-page.ts";

const EXPECTED = { summary: "Read the stored messages of a video", querystring: MessagesQuery };

const HEADERS = {
  "cache-control": "no-cache",
  "x-content-type-options": "nosniff", // a browser must not show the text of a chat as a page
};
const FOR_EVER = "public, max-age=31536000, immutable";
/** With these windows a download takes 64 KB to compress, in place of 256 KB. */
const DOWNLOAD_GZIP = { ...GZIP, windowBits: 13, memLevel: 6 };

interface PageParts {
  rooms: Rooms;
  history: History;
  /** Whether a stored message may change: deleted ones are blanked. */
  isBlanking(): boolean;
}

interface MessagesParts extends PageParts {
  turns: RequestTurns;
  /** Whether answers may be compressed. */
  compresses: boolean;
}

/** The pieces of all downloads: few are made at a time, and clients that wait for the same one share it. */
class Pieces {
  readonly #turns = new Semaphore(PIECES_AT_ONCE);
  readonly #shared = new SharedWork<Piece>();

  /** `key`: undefined if no other download shares it. Rejects also with the signal's reason. */
  make(
    key: string | undefined,
    make: (signal: AbortSignal) => Promise<Piece>,
    signal: AbortSignal,
  ): Promise<Piece> {
    const inTurn = (wanted: AbortSignal) => this.#turns.run(() => make(wanted), wanted);
    return key === undefined ? inTurn(signal) : this.#shared.run(key, inTurn, signal);
  }
}

interface Answer {
  headers: Record<string, string>;
  /** Changes with the answer. */
  hash: string;
  body: Buffer | AsyncIterable<Buffer>;
}

export const MESSAGES_OPTIONS = {
  schema: schemaOf("/v1/messages", EXPECTED, HistoryResponse),
  preValidation: knownParametersOnly(MessagesQuery),
};

export function messagesRoute(app: FastifyInstance, parts: MessagesParts): void {
  const { turns } = parts;
  const pieces = new Pieces();
  app.get<{ Querystring: MessagesQuery }>(
    "/v1/messages",
    MESSAGES_OPTIONS,
    async ({ query, headers, method }, reply) => {
      reply.headers(HEADERS);
      varyBy(reply, "Accept", "Accept-Encoding");
      const wanted = readQuery(query, headers.accept);
      const gone = clientGone(reply.raw);
      const send = async (answer: Answer) => {
        const etag = `W/"${answer.hash}"`;
        reply.headers({ ...answer.headers, etag });
        if (isKnown(etag, headers["if-none-match"])) return reply.code(304).send();
        reply.type(FORMATS[wanted.format].mediaType);
        const isGzip = parts.compresses && acceptsGzip(headers["accept-encoding"]);
        if (isGzip) reply.header("content-encoding", "gzip");
        const { body } = answer;
        if (Buffer.isBuffer(body)) {
          return reply.send(isGzip ? await zippedPage(body, gone) : body);
        }
        // Fastify would read all of an answer to HEAD, although its client has had all that it gets.
        const whole = Readable.from(method === "HEAD" ? [] : body, { highWaterMark: 1 });
        return reply.send(isGzip ? pipeline(whole, createGzip(DOWNLOAD_GZIP), () => {}) : whole);
      };
      if (wanted.limit === "all") return send(await download(query, wanted, parts, pieces, gone));
      const make = async () => send(await historyPage(query, wanted, parts, gone));
      return turns.serve(make, gone);
    },
  );
}

/**
 * One page. Rejects with `RelayError` NOT_STORED, STORE_UNAVAILABLE, or INVALID_REQUEST for a cursor of the
 * video's other chat, or with the signal's reason.
 */
export async function historyPage(
  query: MessagesQuery,
  { request, limit, format, options }: HistoryQuery,
  { rooms, history, isBlanking }: PageParts,
  signal: AbortSignal,
): Promise<Answer> {
  const found = await history.page(request, Number(limit), signal);
  const { key, base, floor, end } = found.room;
  // Behind a cursor below the floor, retention goes on to delete.
  const isKept = floor === base || (request.after ?? 0) >= floor;
  const isFinal = found.next !== null && request.after !== undefined && isKept && !isBlanking();
  const state = stateOf(end, rooms.openHere(key)?.state);
  const written = await pageBody(found, state, FORMATS[format], options, isFinal, history.slices);
  const link = linksOf(query, found);
  return { ...written, headers: { ...(isFinal && { "cache-control": FOR_EVER }), ...(link && { link }) } };
}

async function download(
  query: MessagesQuery,
  { request, format, options }: HistoryQuery,
  { history }: PageParts,
  pieces: Pieces,
  signal: AbortSignal,
): Promise<Answer> {
  const whole = await history.whole(request);
  const { room, after, last } = whole;
  const { extension, header } = FORMATS[format].file ?? {};
  // A deletion that blanks a message is a message itself, and so changes the head.
  const content = JSON.stringify([query, format, header?.(options), room.base, room.head, after, last]);
  return {
    headers: { "content-disposition": `attachment; filename="${chatOf(room.key).videoId}.${extension}"` },
    hash: createHash("sha256").update(content).digest("base64url").slice(0, 22),
    body: wholeBody(whole, FORMATS[format], options, history.slices, (key, make) =>
      pieces.make(key, make, signal),
    ),
  };
}
