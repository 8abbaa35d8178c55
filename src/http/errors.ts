/** Every failure of a request as the one JSON shape, whoever noticed it: a route, the validator, Fastify or Node. */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ERRORS, type ErrorCode, RelayError } from "../protocol/errors.ts";
import type { Logger } from "../telemetry/log.ts";
import { UpstreamError } from "../upstream/errors.ts";
import { ofFault } from "./fault-codes.ts";

const METHODS = ["GET", "HEAD", "POST"] as const;

/** What Fastify itself finds wrong, by its code. */
const FASTIFY_ERRORS: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["UNSUPPORTED_MEDIA_TYPE", "The body must be application/json."],
  FST_ERR_CTP_BODY_TOO_LARGE: ["PAYLOAD_TOO_LARGE", "The body is too large."],
  FST_ERR_CTP_EMPTY_JSON_BODY: ["INVALID_REQUEST", "body: must not be empty."],
  FST_ERR_BAD_URL: ["INVALID_REQUEST", "url: not a valid path."],
};

/** What Node's parser finds wrong before there is a request, by its code. */
const PARSER_ERRORS: Record<string, [ErrorCode, string]> = {
  HPE_HEADER_OVERFLOW: ["HEADERS_TOO_LARGE", "The URL and headers are too large."],
  ERR_HTTP_REQUEST_TIMEOUT: ["REQUEST_TIMEOUT", "The request did not arrive in time."],
};

const NOT_HTTP: [ErrorCode, string] = ["INVALID_REQUEST", "This is not valid HTTP/1.1."];
/** How long a caller may take to read why its connection ends: destroyed at once, it could take the answer along. */
const READING_MS = 1000;

/** `cooldownLeftMs`: for how long the upstream's throttling still lasts. */
export function answerErrors(app: FastifyInstance, log: Logger, cooldownLeftMs: () => number): void {
  app.setErrorHandler((error: FastifyError | UpstreamError, request, reply) => {
    const { config, url: route } = request.routeOptions;
    if (error instanceof UpstreamError && config.faultCodes) {
      return answer(ofFault(error, config.faultCodes, cooldownLeftMs()), reply);
    }
    const known = toRelayError(error);
    // Whoever has hung up is not told, and what was cut short because of that is no failure.
    if (known.code === "INTERNAL" && !reply.raw.destroyed)
      log.error({ err: error, route }, "a request failed");
    return answer(known, reply);
  });
}

/** Refuses what no route serves before its body is looked at. To be called after CORS, which answers preflights. */
export function refuseUnserved(app: FastifyInstance): void {
  app.addHook("onRequest", async (request, reply) => {
    if (!request.is404) return;
    const allowed = METHODS.filter((method) => app.hasRoute({ method, url: pathOf(request) }));
    if (allowed.length > 0) {
      const allow = ["OPTIONS", ...allowed].join(", ");
      reply.header("allow", allow);
      throw new RelayError("METHOD_NOT_ALLOWED", `${request.method} is not served here; ${allow} are.`);
    }
    throw new RelayError("NOT_FOUND", "There is nothing at this path.");
  });
}

/** For requests that Fastify refuses before any hook, the CORS one included, has run. */
export function answerUnroutable(error: FastifyError, reply: FastifyReply): void {
  answer(toRelayError(error), reply.header("access-control-allow-origin", "*"));
}

function answer(error: RelayError, reply: FastifyReply): FastifyReply {
  if (error.retryAfterMs !== undefined) {
    reply.header("retry-after", String(Math.max(1, Math.ceil(error.retryAfterMs / 1000))));
  }
  return reply.code(error.status).send(error.body);
}

function toRelayError(error: Partial<FastifyError> & Error): RelayError {
  if (error instanceof RelayError) return error;
  const finding = error.validation?.[0];
  if (finding) {
    const field = finding.instancePath.slice(1).replaceAll("/", ".") || missingField(finding.params);
    const where = field || error.validationContext || "request";
    return new RelayError("INVALID_REQUEST", `${where}: ${wordsFor(finding)}.`);
  }
  const [code, message] = FASTIFY_ERRORS[error.code ?? ""] ?? [];
  if (code && message) return new RelayError(code, message);
  if (error.statusCode === 400) return new RelayError("INVALID_REQUEST", "body: not valid JSON.");
  return new RelayError("INTERNAL", "The service failed to answer; the failure has been logged.", {
    cause: error,
  });
}

type Finding = NonNullable<FastifyError["validation"]>[number];

/** The validator's finding for people: its own words name keywords and patterns. */
function wordsFor({ keyword, params, message }: Finding): string {
  if (keyword === "required") return "is required";
  if (keyword === "pattern") return "is not of the right form";
  if (keyword === "enum" && Array.isArray(params.allowedValues))
    return `must be one of ${params.allowedValues.join(", ")}`;
  return message ?? "is not valid";
}

function missingField(params: Record<string, unknown>): string {
  const { requiredProperties, missingProperty } = params;
  if (Array.isArray(requiredProperties)) return String(requiredProperties[0]);
  return typeof missingProperty === "string" ? missingProperty : "";
}

function pathOf(request: FastifyRequest): string {
  return request.url.replace(/[?#].*/s, "");
}

/**
 * Answers, on the bare socket, what Node could not parse as a request. Into an answer that has begun nothing more can
 * be said. Either way the connection is over, also where the other side keeps its half of it open.
 */
export class UnparseableAnswer {
  readonly #answers = new WeakMap<Socket, ServerResponse>();

  /** To be told of each request, for what is sent behind it. */
  watch(server: Server): void {
    server.on("request", ({ socket }, response) => this.#answers.set(socket, response));
  }

  give(error: NodeJS.ErrnoException, socket: Socket): void {
    const answer = this.#answers.get(socket);
    const isUnderWay = answer?.headersSent && !answer.writableFinished;
    if (error.code === "ECONNRESET" || !socket.writable || isUnderWay) {
      socket.destroy();
      return;
    }
    const [code, message] = PARSER_ERRORS[error.code ?? ""] ?? NOT_HTTP;
    const body = JSON.stringify({ code, message });
    const head = [
      `HTTP/1.1 ${ERRORS[code].status} ${code}`,
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Access-Control-Allow-Origin: *",
      "Connection: close",
    ];
    socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
    setTimeout(() => socket.destroy(), READING_MS).unref();
  }
}
