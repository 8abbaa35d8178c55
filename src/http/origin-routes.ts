/** The history, the rooms, featured messages and older parts of logs at an edge: the origin's own answers. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Origin } from "../origin/origin.ts";
import { DOWNLOAD_TIMEOUT_MS, OPENING_TIMEOUT_MS, PAGE_TIMEOUT_MS } from "../origin/origin-connections.ts";
import { STANDING_HEADER } from "../protocol/chat-standing.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import { refuseUnavailable } from "../serving/store-refusal.ts";
import type { Access } from "./access/access.ts";
import { clientGone } from "./connections/client-gone.ts";
import { RequestTurns } from "./connections/request-turns.ts";
import { FEATURED_OPTIONS, FEATURED_PATH, type OfVideo, READING } from "./featured-route.ts";
import { MESSAGES_OPTIONS } from "./messages.ts";
import { acceptsGzip, isKnown, varyBy } from "./negotiation.ts";
import { ROOM_OPTIONS, ROOMS_OPTIONS } from "./rooms-routes.ts";
import { PASSED_ON } from "./route-bounds.ts";
import type { MessagesQuery } from "./schemas/history-schemas.ts";
import type { RoomParams } from "./schemas/room-schemas.ts";

/** The headers of an answer that are the origin's to decide. Those of its body are left out with the body. */
const PASSED = [
  ...["age", "cache-control", "content-disposition", "etag", "link", "retry-after"],
  ...["x-content-type-options", "cross-origin-resource-policy", STANDING_HEADER],
  ...["stream-next-offset", "stream-up-to-date", "stream-closed"],
];
const PASSED_WITH_BODY = ["content-encoding", "content-length", "content-type"];

interface OriginRoutesSettings {
  /** Whether answers may be compressed. */
  compression: boolean;
  /** Whether this process is a worker, whose origin knows its clients by their own addresses. */
  isWorker?: boolean;
}

/** Answers a request for a path with the origin's answer. */
export type PassOn = (path: string, request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

export function passOnTo(origin: Origin, settings: OriginRoutesSettings): PassOn {
  const turns = new RequestTurns(PASSED_ON, "pages");
  return async (path, request, reply) => {
    const { url, method, headers } = request;
    const isDownload = (request.query as MessagesQuery).limit === "all";
    const query = url.includes("?") ? url.slice(url.indexOf("?")) : "";
    // Not `If-None-Match`: undici's cache would answer it with the whole page, and forget the page.
    const asked = {
      ...(settings.isWorker && { "x-forwarded-for": request.ip }),
      ...(headers.accept && { accept: headers.accept }),
      // One of two values, so that answers are kept for all clients.
      ...(settings.compression && acceptsGzip(headers["accept-encoding"]) && { "accept-encoding": "gzip" }),
    };
    const gone = clientGone(reply.raw);
    const isLog = path.startsWith("/v1/log/");
    const timeoutMs = isDownload ? DOWNLOAD_TIMEOUT_MS : isLog ? OPENING_TIMEOUT_MS : PAGE_TIMEOUT_MS;
    const sent = {
      path: path + query,
      headers: asked,
      timeoutMs,
      ...(method === "HEAD" ? ({ method } as const) : {}),
    };
    const answer = await turns.serve(() => origin.pass(sent, gone), gone).catch(refuseUnavailable);
    const sentBack = answer.headers;
    for (const name of PASSED) if (sentBack[name]) reply.header(name, sentBack[name]);
    if (sentBack.allow) reply.header("allow", READING); // what may be changed is changed at the origin
    if (sentBack.vary) varyBy(reply, ...`${sentBack.vary}`.split(", "));
    if (answer.statusCode === 200 && sentBack.etag && isKnown(`${sentBack.etag}`, headers["if-none-match"])) {
      answer.body.on("error", () => {}); // nobody waits for the rest
      // A page is read to its end, so that it is kept; a download may be of any size.
      if (sentBack["content-disposition"]) answer.body.destroy();
      else answer.body.resume();
      return reply.code(304).send();
    }
    for (const name of PASSED_WITH_BODY) if (sentBack[name]) reply.header(name, sentBack[name]);
    return reply.code(answer.statusCode).send(answer.body);
  };
}

export function originRoutes(app: FastifyInstance, pass: PassOn, access: Access): void {
  if (access.serves("rooms"))
    app.get("/v1/rooms", ROOMS_OPTIONS, (request, reply) => pass("/v1/rooms", request, reply));
  if (access.serves("feature") || access.serves("watch"))
    app.get<OfVideo>(FEATURED_PATH, FEATURED_OPTIONS, (request, reply) =>
      pass(`/v1/featured/${parseVideoId(request.params.videoId)}`, request as FastifyRequest, reply),
    );
  if (!access.serves("watch")) return;
  app.get("/v1/messages", MESSAGES_OPTIONS, (request, reply) => pass("/v1/messages", request, reply));
  app.get<{ Params: RoomParams }>("/v1/rooms/:videoId", ROOM_OPTIONS, (request, reply) =>
    pass(`/v1/rooms/${parseVideoId(request.params.videoId)}`, request as FastifyRequest, reply),
  );
}
