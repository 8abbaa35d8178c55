/**
 * What a worker leaves to the first process of its service: everything of the API but streams, and the state
 * of the service. It serves streams and pages itself.
 */
import type { FastifyInstance } from "fastify";
import type { Origin } from "../origin/origin.ts";
import { refuseUnavailable } from "../serving/refusals.ts";
import { clientGone } from "./client-gone.ts";

const LEFT = /^\/(?:v1\/(?!(?:stream|merged)(?:$|\?))|(?:readyz|metrics)(?:$|\?))/;
/** Headers of one connection alone. */
const OF_CONNECTION = new Set(["connection", "host", "keep-alive", "transfer-encoding", "upgrade", "expect"]);

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
          path: url,
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
