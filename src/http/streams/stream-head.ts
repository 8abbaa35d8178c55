/**
 * Opens the response of a stream: its head, its format and compression, and the sink for what follows.
 * Refuses a stream if another request is already behind it on the connection, and closes the connection.
 */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";
import type { FastifyReply } from "fastify";
import type { BodySink } from "../../multiplex/multiplex.ts";
import { invalidRequest } from "../../protocol/errors.ts";
import { type BodyForm, FORMS } from "../../serving/form.ts";
import type { Format } from "../../serving/framing.ts";
import { isPrivate, privately } from "../access/private-answers.ts";
import type { Backpressure } from "../connections/backpressure.ts";
import type { InFlightRequests } from "../connections/in-flight-requests.ts";
import { takeSocket } from "../connections/taken-socket.ts";
import { acceptsGzip, STREAM_TYPES, varyBy } from "../negotiation.ts";
import { HeadSink, ResponseSink, SocketSink } from "./socket-sinks.ts";

// The specification's "Success response headers".
export const STREAM_HEADERS = {
  "cache-control": "no-cache",
  connection: "keep-alive",
  "x-accel-buffering": "no",
};

export interface OpenParts {
  inFlight: InFlightRequests;
  backpressure: Backpressure;
  /** Whether a stream may use its socket without Node's response. */
  handsOver: boolean;
  /** Whether streams may be compressed; needs `handsOver`. */
  compresses: boolean;
}

/** How the body of a stream is written, and the headers that say so. */
interface StreamBody {
  forms: Record<BodyForm["transferCoding"], BodyForm>;
  headers: OutgoingHttpHeaders;
  /** The request headers that decide its format. */
  vary: readonly string[];
  /** Whether it ends without the client. */
  endsByItself: boolean;
}

/** How the events of a stream are written. */
export interface StreamForm {
  format: Format;
  /** Whether messages carry `details`. */
  isDetailed: boolean;
}

/** The form and bounds of the requested stream. */
interface SinkAsked {
  form: StreamForm;
  /** Whether the stream ends with the newest message stored now. */
  isBounded: boolean;
}

/** Sends the head of the answer. Throws as `openBody` does. */
export function openSink(
  reply: FastifyReply,
  { form: { format, isDetailed }, isBounded }: SinkAsked,
  gone: AbortSignal,
  parts: OpenParts,
  onClosed: () => void,
): BodySink {
  const body = {
    forms: FORMS[format][isDetailed ? "detailed" : "plain"],
    headers: { "content-type": STREAM_TYPES[format], ...STREAM_HEADERS },
    vary: format === "ndjson" ? ["Accept"] : [],
    endsByItself: isBounded,
  };
  return openBody(reply, body, gone, parts, onClosed);
}

/**
 * Sends the head of the answer. Throws the signal's reason, or `RelayError` if another request is behind it
 * on this connection, which it closes.
 */
export function openBody(
  reply: FastifyReply,
  { forms, headers, vary, endsByItself }: StreamBody,
  gone: AbortSignal,
  { inFlight, backpressure, handsOver, compresses }: OpenParts,
  onClosed: () => void,
): BodySink {
  gone.throwIfAborted();
  const { raw: response, request } = reply;
  const { socket, method } = request.raw;
  const isHead = method === "HEAD";
  if (!isHead && !inFlight.stream(request.raw)) {
    socket.destroy();
    throw invalidRequest("Another request follows on this connection, which a stream keeps.");
  }
  reply.hijack();
  const isTaken = handsOver && socket.writable && isAlone(request.raw);
  const isGzip = isTaken && compresses && acceptsGzip(request.headers["accept-encoding"]);
  varyBy(reply, ...vary, ...(compresses ? ["Accept-Encoding"] : []));
  response.writeHead(200, {
    ...(reply.getHeaders() as OutgoingHttpHeaders),
    ...headers,
    ...(endsByItself && !isHead && { connection: "close" }),
    ...(isPrivate(request) && { "cache-control": privately(headers["cache-control"]) }),
    ...(isGzip && { "content-encoding": "gzip" }),
  });
  if (isHead) return new HeadSink(response, forms.bare, onClosed);
  if (!isTaken) return new ResponseSink(response, forms.bare, backpressure, onClosed);
  const form = isGzip ? forms.gzip : forms.chunked;
  // Corked for this turn, so that the head, `init` and what the tail already holds leave in one write.
  inFlight.forget(socket);
  socket.cork();
  process.nextTick(() => socket.uncork());
  return new SocketSink(takeSocket(response), form, backpressure, onClosed, endsByItself);
}

/**
 * Whether the request has no body and its answer will be chunked. Others need Node's parser to the end.
 * Test: "that speaks HTTP/1.0; it is served, without chunks".
 */
export function isAlone({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === "1.1" && !headers["transfer-encoding"] && !Number(headers["content-length"] ?? 0);
}
