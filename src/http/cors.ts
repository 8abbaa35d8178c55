/** CORS: which pages of other origins may call the service, and which headers they may send and read. */
import type { FastifyInstance } from "fastify";
import { METHODS } from "./error-answers.ts";

export interface CorsSettings {
  /** The origins whose pages may call the service; undefined: every one. */
  origins: ReadonlySet<string> | undefined;
  /** Further request headers that pages may send, in lower case; `x-*` stands for all that begin so. */
  headers: readonly string[];
}

/** How long a browser may keep the answer to a preflight: Chromium keeps it for two hours at most. */
const MAX_AGE_S = 7200;
/** The request headers that pages may always send: those that the service reads, and `Cache-Control`. */
const OWN_HEADERS = "Content-Type, Last-Event-ID, Cache-Control, If-None-Match, Authorization";

/** The headers of answers that pages may read. */
const EXPOSED_HEADERS =
  "ETag, Link, Retry-After, Stream-Next-Offset, Stream-Up-To-Date, Stream-Closed, Stream-Cursor";

export function allowOrigins(app: FastifyInstance, settings: CorsSettings): void {
  app.addHook("onRequest", async ({ method, headers }, reply) => {
    reply.headers(corsHeaders(settings, headers.origin));
    if (method !== "OPTIONS") return;
    const further = furtherHeaders(settings, headers["access-control-request-headers"] ?? "");
    const preflight = {
      "access-control-allow-methods": METHODS.join(", "),
      "access-control-allow-headers": [OWN_HEADERS, ...further].join(", "),
      "access-control-max-age": MAX_AGE_S,
      "content-length": "0",
    };
    return reply.code(204).headers(preflight).send();
  });
}

/** The headers of every answer to a request of this origin. */
export function corsHeaders({ origins }: CorsSettings, origin: string | undefined): Record<string, string> {
  const isAllowed = origin !== undefined && origins?.has(origin);
  return {
    ...(!origins && { "access-control-allow-origin": "*" }),
    ...(isAllowed && { "access-control-allow-origin": origin }),
    "access-control-expose-headers": EXPOSED_HEADERS,
    ...(origins && { vary: "Origin" }),
  };
}

/** Those of the requested headers that the setting allows. */
function furtherHeaders({ headers }: CorsSettings, requested: string): string[] {
  const names = requested.split(",").map((name) => name.trim().toLowerCase());
  return names.filter((name) =>
    headers.some((allowed) =>
      allowed.endsWith("*") ? name.startsWith(allowed.slice(0, -1)) : name === allowed,
    ),
  );
}
