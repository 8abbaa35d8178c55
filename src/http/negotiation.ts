/** Reads the request headers that choose among the forms of an answer, and names them in the answer. */
import type { FastifyReply } from "fastify";
import type { Format } from "../serving/framing.ts";

/** The media types of streams. */
export const STREAM_TYPES: Record<Format, string> = {
  sse: "text/event-stream",
  ndjson: "application/x-ndjson",
};

/** Whether the client accepts gzip: anywhere in the list, with any weight but 0. */
export function acceptsGzip(header = ""): boolean {
  return /(?:^|[\s,])(?:x-)?gzip\s*(?:$|,|;\s*q=\s*(?:1|0?\.\d*[1-9]))/i.test(header);
}

/** Names request headers on which the answer depends in `Vary`, before those that are named already. */
export function varyBy(reply: FastifyReply, ...names: readonly string[]): void {
  const named = reply.getHeader("vary");
  const all = named === undefined ? names : [...names, ...`${named}`.split(", ")];
  if (all.length > 0) reply.header("vary", [...new Set(all)].join(", "));
}

/** Whether `Accept` names the media type itself, not only a range that contains it, with any weight but 0. */
export function names(mediaType: string, accept = ""): boolean {
  return (weightsOf(accept).get(mediaType) ?? 0) > 0;
}

/**
 * The media type to which `Accept` gives the highest weight. If several have it, or `Accept` names none of
 * them, it is the first one.
 */
export function preferred(mediaTypes: readonly string[], accept = "*/*"): string | undefined {
  const weights = weightsOf(accept);
  const weightOf = (type: string) =>
    weights.get(type) ?? weights.get(type.replace(/\/.*/, "/*")) ?? weights.get("*/*") ?? 0;
  const highest = Math.max(...mediaTypes.map(weightOf));
  return mediaTypes.find((type) => weightOf(type) === highest);
}

/** The format of a stream: NDJSON for a client that names it, and does not name event streams. */
export function streamFormat(accept: string | undefined): Format {
  const isNamed = (format: Format) => names(STREAM_TYPES[format], accept);
  return isNamed("ndjson") && !isNamed("sse") ? "ndjson" : "sse";
}

function weightsOf(accept: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const part of accept.toLowerCase().split(",")) {
    const [range = "", ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((parameter) => parameter.startsWith("q="));
    weights.set(range, weight === undefined ? 1 : Number(weight.slice(2)) || 0);
  }
  return weights;
}

/**
 * Whether the client has the answer with this tag, by `If-None-Match`, which does not distinguish weak tags
 * from strong ones (RFC 9110, 13.1.2): a cache that changes the coding of an answer makes its tag weak.
 */
export function isKnown(etag: string, ifNoneMatch = ""): boolean {
  const wanted = strong(etag);
  return ifNoneMatch.split(",").some((part) => ["*", wanted].includes(strong(part.trim())));
}

function strong(etag: string): string {
  return etag.replace(/^W\//, "");
}

/** The tag of the compressed form of an answer: a strong tag stands for one sequence of bytes. */
export function gzippedTag(etag: string): string {
  return etag.replace('"', '"gzip-');
}
