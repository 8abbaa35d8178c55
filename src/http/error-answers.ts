/**
 * Gives every failed request the same JSON shape, whether a route, the validator or Fastify refuses it. Only
 * a browser that looks for a page where there is none gets a page.
 */
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { after, type Clock } from "../base/clock.ts";
import { asError } from "../base/error-message.ts";
import { ChatAbsent, STANDING_HEADER } from "../protocol/chat-standing.ts";
import { type ErrorCode, invalidRequest, RelayError } from "../protocol/errors.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { Access } from "./access/access.ts";
import { formOf, isAtEdges, routeOf } from "./access/route-rights.ts";
import { chatPageOf } from "./chat-links.ts";
import { FAULT_CODES, type FaultCodes, noLiveChat, ofFault } from "./fault-codes.ts";
import { names } from "./negotiation.ts";

/** The paths of streams, which go on unless `until=now` asks for the stored messages alone. */
const STREAMS: ReadonlySet<string> = new Set(["/v1/stream", "/v1/merged"]);
/** The methods that at least one route serves. */
export const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE"] as const;

/** Time to take the rest of a body that is too large, in milliseconds. */
const REST_MS = 1000;

/** Code and text for some of Fastify's own errors; `toRelayError` has the rest. */
const FASTIFY_ERRORS: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ["UNSUPPORTED_MEDIA_TYPE", "The body must be application/json."],
  FST_ERR_CTP_BODY_TOO_LARGE: ["PAYLOAD_TOO_LARGE", "The body is too large."],
  FST_ERR_CTP_EMPTY_JSON_BODY: ["INVALID_REQUEST", "body: must not be empty."],
  FST_ERR_BAD_URL: ["INVALID_REQUEST", "url: not a valid path."],
};

/** `notFound`: answers with the page for people. */
export function answerErrors(
  app: FastifyInstance,
  telemetry: Telemetry,
  clock: Clock,
  notFound: (request: FastifyRequest, reply: FastifyReply) => void,
): void {
  app.setErrorHandler((error: FastifyError | UpstreamError, request, reply) => {
    const { config, url: route } = request.routeOptions;
    const known = knownError(error, config.faultCodes);
    if (known.code === "INTERNAL") {
      // A request cut short by its client is not a failure, and nobody reads its answer. Its address may be
      // unknown before its connection is known to be closed.
      if (reply.raw.destroyed || request.socket.remoteAddress === undefined) {
        request.socket.destroy();
        return void reply.hijack();
      }
      telemetry.requests.failed(error, route);
    }
    if (error instanceof ChatAbsent) reply.header(STANDING_HEADER, error.absence.is);
    if (known.code === "NOT_FOUND" && isForPerson(request)) {
      telemetry.requests.refused(known);
      return notFound(request, reply);
    }
    if (known.code === "PAYLOAD_TOO_LARGE") takeRest(request, reply, clock);
    return answer(known, reply, telemetry);
  });
}

/**
 * Takes the rest of a body and discards it: a close in its midst would reset the connection, and the client
 * would lose the answer.
 */
function takeRest({ raw }: FastifyRequest, reply: FastifyReply, clock: Clock): void {
  reply.removeHeader("connection");
  const taken = new AbortController();
  raw.once("close", () => taken.abort());
  after(clock, REST_MS, taken.signal, () => raw.socket.destroy());
  raw.resume();
}

/** Whether a browser asks for a page, outside the paths of programs. */
function isForPerson(request: FastifyRequest): boolean {
  return !/^\/(?:v1|metrics)(?:\/|$)/.test(pathOf(request)) && names("text/html", request.headers.accept);
}

/** The error as a caller gets it. `codes`: its endpoint's errors for the upstream's faults. */
function knownError(error: unknown, codes: FaultCodes | undefined): RelayError {
  if (error instanceof UpstreamError && codes) return ofFault(error, codes);
  if (error instanceof ChatAbsent) return noLiveChat(error);
  return toRelayError(asError(error));
}

/** Turns errors into those that clients of an open stream get. Logs failures of the service. */
export function errorConverter(path: keyof typeof FAULT_CODES, telemetry: Telemetry) {
  return (error: unknown): RelayError => {
    const known = knownError(error, FAULT_CODES[path]);
    telemetry.requests.atCapacity(known);
    if (known.code === "INTERNAL") telemetry.requests.failed(error, path);
    return known;
  };
}

/** Why a service may lack an endpoint that other services have: nobody has its right, or it is an edge. */
function whyWithdrawn(path: string): string | undefined {
  const { route, right } = routeOf(path) ?? {};
  if (!route || !right) return undefined;
  const endpoint = route.replace("/:name", "").replace(/:(\w+)/, "{$1}");
  const edge = isAtEdges(right) ? "" : ", or it is an edge";
  return `This service has no ${endpoint}: nobody has its right, ${right}, here${edge}.`;
}

/**
 * Refuses requests without a route before their body is read, and HEAD for a stream that goes on, but leads
 * YouTube's paths to the page of their chat. Call it after the hook that answers preflights, and before the
 * routes are added.
 */
export function refuseUnserved(app: FastifyInstance, access: Pick<Access, "serves">): void {
  /**
   * Whether somebody can have the right of the path. `right` is the one to change something: where nobody can
   * have `feature`, /v1/featured may still be read by those who have `watch`.
   */
  const isServed = (path: string) => {
    const { right } = routeOf(path) ?? {};
    return !right || access.serves(right);
  };
  const paths = Object.fromEntries(METHODS.map((method) => [method, new Set<string>()]));
  app.addHook("onRoute", ({ method, url }) => {
    for (const each of [method].flat()) paths[each]?.add(url);
  });
  app.addHook("onRequest", async (request, reply) => {
    if (!request.is404 && request.method !== "HEAD") return;
    const path = pathOf(request);
    const isWithoutHead = isEndless(path, request);
    if (!request.is404 && !isWithoutHead) return;
    const allowed = METHODS.filter(
      (method) =>
        !(isWithoutHead && method === "HEAD") &&
        paths[method]?.values().some((url) => formOf(url).test(path)),
    );
    if (allowed.length > 0 && isServed(path)) {
      const allow = [...allowed, "OPTIONS"].join(", ");
      reply.header("allow", allow);
      throw new RelayError("METHOD_NOT_ALLOWED", `${request.method} is not allowed here. Allowed: ${allow}.`);
    }
    const chatPage = /^(?:GET|HEAD)$/.test(request.method) ? chatPageOf(request.url) : undefined;
    if (chatPage === undefined) throw nothingAt(path);
    return reply.redirect(chatPage, 302);
  });
}

/** Whether the answer to a GET would end only with its client: then there is none to a HEAD. */
function isEndless(path: string, { query }: FastifyRequest): boolean {
  return STREAMS.has(path) && (query as { until?: unknown }).until !== "now";
}

/** The path of a request, without its query. */
export function pathOf({ url }: FastifyRequest): string {
  return url.replace(/[?#].*/s, "");
}

/** The refusal of a path at which nothing is served. */
export function nothingAt(path: string): RelayError {
  return new RelayError("NOT_FOUND", whyWithdrawn(path) ?? "There is nothing at this path.");
}

/** Answers requests that Fastify refuses before any hook has run, so that `reply` must have its headers. */
export function answerUnroutable(error: FastifyError, reply: FastifyReply, telemetry: Telemetry): void {
  answer(toRelayError(error), reply, telemetry);
}

function answer(error: RelayError, reply: FastifyReply, telemetry: Telemetry): FastifyReply {
  telemetry.requests.refused(error);
  if (error.retryAfterMs !== undefined) {
    reply.header("retry-after", String(Math.max(1, Math.ceil(error.retryAfterMs / 1000))));
  }
  // A cache may keep some statuses by default: 404 and 410 are no longer true once a chat begins.
  return reply.code(error.status).header("cache-control", "no-store").send(error.body);
}

function toRelayError(error: Partial<FastifyError> & Error): RelayError {
  if (error instanceof RelayError) return error;
  const finding = error.validation?.[0];
  if (finding) {
    const field = finding.instancePath.slice(1).replaceAll("/", ".") || missingField(finding.params);
    const where = field || error.validationContext || "request";
    const isQuery = error.validationContext === "querystring";
    const words = FORMS.get(`${where} ${finding.keyword}`) ?? wordsFor(finding, isQuery);
    return invalidRequest(`${where}: ${words}.`);
  }
  const [code, message] = FASTIFY_ERRORS[error.code ?? ""] ?? [];
  if (code && message) return new RelayError(code, message);
  if (error.statusCode === 400) return invalidRequest("body: not valid JSON.");
  return new RelayError("INTERNAL", "The service failed to answer; the failure has been logged.", {
    cause: error,
  });
}

/** Words for the patterns of parameters that people write by hand; all others are copied from an answer. */
const FORMS: ReadonlyMap<string, string> = new Map([
  ["author pattern", "must be a channel id (UC…), as in details.authorId; q searches for names"],
]);

type Finding = NonNullable<FastifyError["validation"]>[number];

/** The validator's finding in plain words; its own text names keywords and patterns. */
function wordsFor({ keyword, params, message }: Finding, isQuery: boolean): string {
  if (keyword === "required") return "is required";
  if (keyword === "pattern") return "has an invalid format; send the value exactly as received";
  if (keyword === "enum" && Array.isArray(params.allowedValues)) {
    const [value, ...others] = params.allowedValues;
    return others.length === 0 ? `must be "${value}"` : `must be one of ${params.allowedValues.join(", ")}`;
  }
  if (keyword === "type" && isQuery) return "must be given only once"; // a single value is always a text
  if (keyword === "type" && typeof params.type === "string")
    return `must be ${params.type === "object" ? "an object" : `a ${params.type}`}`;
  if (keyword === "minLength") return "must not be empty";
  if (keyword === "maxLength") return `must not be longer than ${params.limit} characters`;
  return message ?? "is not valid";
}

function missingField(params: Record<string, unknown>): string {
  const { requiredProperties, missingProperty } = params;
  if (Array.isArray(requiredProperties)) return String(requiredProperties[0]);
  return typeof missingProperty === "string" ? missingProperty : "";
}
