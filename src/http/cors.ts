/** CORS: which headers pages of other origins may send and read. */
import type { FastifyInstance } from "fastify";
import { METHODS } from "./error-answers.ts";

/** Allows pages of every origin to call the service and read its answers. */
export function allowEveryOrigin(app: FastifyInstance): void {
  app.addHook("onRequest", async ({ method }, reply) => {
    reply.headers({
      "access-control-allow-origin": "*",
      "access-control-expose-headers":
        "ETag, Link, Retry-After, Stream-Next-Offset, Stream-Up-To-Date, Stream-Closed, Stream-Cursor",
    });
    if (method !== "OPTIONS") return;
    const preflight = {
      "access-control-allow-methods": METHODS.join(", "),
      "access-control-allow-headers":
        "Content-Type, Last-Event-ID, Cache-Control, If-None-Match, Authorization",
      "content-length": "0",
    };
    return reply.code(204).headers(preflight).send();
  });
}
