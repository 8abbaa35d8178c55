/** The HTTP face of the service: routes, validation, CORS, limits, and its own start and stop. */
import cors from "@fastify/cors";
import fastify, { type FastifyInstance, type FastifyReply } from "fastify";
import type { Rooms } from "../rooms/rooms.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { answerErrors, answerUnparseable, answerUnroutable } from "./errors.ts";
import { healthRoutes } from "./health.ts";
import { streamRoute } from "./stream.ts";

/** URL and headers together. */
const MAX_HEADER_BYTES = 16 * 1024;
const MAX_BODY_BYTES = 64 * 1024;
/** A request whose headers take longer is no browser's. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 15_000;
/** How often Node looks for requests that are late. */
const TIMEOUT_CHECK_MS = 1000;

export async function createServer(rooms: Rooms, telemetry: Telemetry): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    forceCloseConnections: true,
    clientErrorHandler: answerUnparseable,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    },
    // A query's value is the text that was sent: nothing is coerced, a field that occurs twice is refused.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
    frameworkErrors: (error, _request, reply) => answerUnroutable(error, reply as FastifyReply),
  });
  answerErrors(app, telemetry.log);
  await app.register(cors, {
    origin: "*",
    methods: ["GET", "HEAD", "POST"],
    allowedHeaders: ["Content-Type", "Last-Event-ID", "Cache-Control"],
    exposedHeaders: ["Retry-After"],
  });
  streamRoute(app, rooms);
  healthRoutes(app, rooms, telemetry);
  return app;
}
