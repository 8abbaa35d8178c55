/**
 * The requests that a worker sends on to the first process of its service: the API except streams and logs,
 * `/readyz` and `/metrics`. The worker itself serves streams, logs, pages and `/healthz`. At the private
 * address of the first process, others get only `/healthz`: it trusts the workers, and limits none of them.
 */
import { timingSafeEqual } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { Origin } from "../origin/origin.ts";
import { WORKER_HEADER } from "../origin/origin-connections.ts";
import { refuseUnavailable } from "../serving/store-refusal.ts";
import { unauthorized } from "./access/grant.ts";
import { withToken } from "./access/request-token.ts";
import { clientGone } from "./connections/client-gone.ts";

const LEFT = /^\/(?:v1\/(?!(?:stream|merged)(?:$|\?)|log\/)|(?:readyz|metrics)(?:$|\?))/;
/** Headers that concern a single connection and are not sent on. */
const OF_CONNECTION = new Set(["connection", "host", "keep-alive", "transfer-encoding", "upgrade", "expect"]);

/**
 * Refuses requests without the secret of the workers, except for `/healthz`. Call it before other hooks are
 * added.
 */
export function refuseStrangers(app: FastifyInstance, secret: string): void {
  const own = Buffer.from(secret);
  app.addHook("onRequest", async ({ url, headers }) => {
    if (url === "/healthz") return;
    const sent = Buffer.from(`${headers[WORKER_HEADER] ?? ""}`);
    if (sent.length === own.length && timingSafeEqual(sent, own)) return;
    throw unauthorized("This address is for the workers of the service.");
  });
}

/** Call it before the routes are added. `first`: the private address of the first process. */
export function leaveToFirst(app: FastifyInstance, first: Origin): void {
  app.addHook("onRequest", async ({ url, method, headers, raw }, reply) => {
    if (!LEFT.test(url)) return;
    const asked = passed(headers);
    const forwarded = [headers["x-forwarded-for"], raw.socket.remoteAddress].flat().filter(Boolean);
    const answer = await first
      .relay(
        {
          method,
          path: withToken(raw, url),
          headers: { ...asked, "x-forwarded-for": forwarded.join(", ") },
          body: "content-length" in headers || "transfer-encoding" in headers ? raw : null,
        },
        clientGone(reply.raw),
      )
      .catch(refuseUnavailable);
    reply.code(answer.statusCode).headers(passed(answer.headers));
    return reply.send(answer.body);
  });
}

function passed(headers: Record<string, string | string[] | undefined>): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).filter(
      (header): header is [string, string | string[]] =>
        header[1] !== undefined && !OF_CONNECTION.has(header[0]),
    ),
  );
}
