/**
 * Reads the query of `/v1/messages`, refuses values that the API does not describe, and writes the query for
 * the pages next to an answer.
 */

import { chatOf } from "../protocol/chat-key.ts";
import { invalidRequest } from "../protocol/errors.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import { FORMAT_NAMES, FORMATS, type FormatName, type WritingOptions } from "../serving/history/formats.ts";
import type { HistoryPage, HistoryRequest } from "../serving/history/history.ts";
import { ALL } from "../serving/type-filter.ts";
import { typesIn, worthIn } from "./filter-query.ts";
import { preferred } from "./negotiation.ts";
import { queriedTime, saidTimeIn } from "./query-time.ts";
import { DEFAULT_LIMIT, MAX_LIMIT, type MessagesQuery } from "./schemas/history-schemas.ts";

export interface HistoryQuery {
  request: HistoryRequest;
  limit: number | "all";
  format: FormatName;
  options: WritingOptions;
}

const MEDIA_TYPES = new Map(FORMAT_NAMES.map((name) => [FORMATS[name].mediaType.replace(/;.*/, ""), name]));

/** Throws `RelayError` INVALID_REQUEST or INVALID_VIDEO_ID for a value that the API does not describe. */
export function readQuery(query: MessagesQuery, accept: string | undefined): HistoryQuery {
  const format = query.format ?? historyFormat(accept);
  return {
    request: {
      videoId: parseVideoId(query.videoId),
      chat: query.chat,
      after: query.after === undefined ? undefined : Number(query.after),
      before: query.before === undefined ? undefined : Number(query.before),
      from: queriedTime(query, "from"),
      to: queriedTime(query, "to"),
      saidFrom: saidTimeIn(query, "saidFrom"),
      saidTo: saidTimeIn(query, "saidTo"),
      filter: {
        types: query.types === undefined ? ALL : typesIn(query.types),
        ...worthIn(query),
        authorId: query.author,
        anyText: query.q,
        text: query.text,
      },
    },
    limit: limitIn(query, format),
    format,
    options: { details: query.details === "true", raw: query.raw === "true", bom: query.bom === "true" },
  };
}

/**
 * The value of the header `Link`: the pages next to a page, by the same query; "" if there are none. The URLs
 * are relative to the request's: behind a proxy, only the client knows its path. [RFC 8288, 3.1]
 */
export function linksOf(query: MessagesQuery, { room, next, prev }: HistoryPage): string {
  const { after: _, before, ...rest } = { ...query, videoId: chatOf(room.key).videoId };
  const link = (rel: string, place: Record<string, string>) =>
    `<?${new URLSearchParams({ ...rest, ...place })}>; rel="${rel}"`;
  return [
    ...(next === null ? [] : [link("next", { ...(before && { before }), after: `${next}` })]),
    ...(prev === null ? [] : [link("prev", { before: `${prev}` })]),
  ].join(", ");
}

function historyFormat(accept: string | undefined): FormatName {
  return MEDIA_TYPES.get(preferred([...MEDIA_TYPES.keys()], accept) ?? "") ?? "json";
}

function limitIn({ limit = `${DEFAULT_LIMIT}` }: MessagesQuery, format: FormatName): number | "all" {
  if (limit === "all") {
    if (FORMATS[format].file) return limit;
    throw invalidRequest("limit: all needs a format that can be read line by line: ndjson, csv or text.");
  }
  const count = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (count >= 1 && count <= MAX_LIMIT) return count;
  throw invalidRequest(`limit: must be a whole number from 1 to ${MAX_LIMIT}, or all.`);
}
