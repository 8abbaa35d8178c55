/** Answers to requests with a token: no shared cache may keep them. */
import type { FastifyReply, FastifyRequest } from "fastify";
import { grantOf } from "./grant.ts";
import { tokenInQuery } from "./request-token.ts";

/** A hook that runs before an answer is sent. */
export async function keepPrivate(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): Promise<unknown> {
  if (!isPrivate(request)) return payload;
  reply.header("cache-control", privately(reply.getHeader("cache-control")));
  return payload;
}

/** Whether a token has opened what the request asks for, or is in its URL. */
export function isPrivate(request: FastifyRequest): boolean {
  return grantOf(request)?.terms !== undefined || tokenInQuery(request.raw) !== undefined;
}

/** The header `Cache-Control` for one client alone. */
export function privately(header: unknown): string {
  const directives = typeof header === "string" ? header.split(", ") : [];
  if (directives.includes("no-store")) return "no-store";
  const others = directives.filter((directive) => directive !== "public" && directive !== "private");
  return ["private", ...others].join(", ");
}
