/** The history and the rooms at an edge: the origin's own answers. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Origin } from "../origin/origin.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import { refuseUnavailable } from "../serving/refusals.ts";
import { clientGone } from "./client-gone.ts";
import { MESSAGES_OPTIONS } from "./messages.ts";
import { acceptsGzip } from "./negotiation.ts";
import { ROOM_OPTIONS, ROOMS_OPTIONS } from "./rooms.ts";
import type { RoomParams } from "./schemas/room-schemas.ts";

/** The headers of a request that decide the answer, apart from `Accept-Encoding`. */
const ASKED = ["accept", "if-none-match"];
/** The headers of an answer that are the origin's to decide. */
const TOLD = [
  ...["age", "cache-control", "content-disposition", "content-encoding", "content-length", "content-type"],
  ...["etag", "link", "retry-after", "vary", "x-content-type-options"],
];

interface OriginRoutesSettings {
  /** Whether to serve the list of rooms. */
  rooms: boolean;
  /** Whether answers may be compressed. */
  compression: boolean;
}

export function originRoutes(app: FastifyInstance, origin: Origin, settings: OriginRoutesSettings): void {
  const pass = async (path: string, { url, headers }: FastifyRequest, reply: FastifyReply) => {
    const query = url.includes("?") ? url.slice(url.indexOf("?")) : "";
    const asked = ASKED.flatMap((name) => (headers[name] ? [[name, `${headers[name]}`]] : []));
    // One of two values, so that answers are kept for all clients.
    if (settings.compression && acceptsGzip(headers["accept-encoding"]))
      asked.push(["accept-encoding", "gzip"]);
    const gone = clientGone(reply.raw);
    const answer = await origin.pass(path + query, Object.fromEntries(asked), gone).catch(refuseUnavailable);
    for (const name of TOLD) if (answer.headers[name]) reply.header(name, answer.headers[name]);
    return reply.code(answer.statusCode).send(answer.body);
  };
  app.get("/v1/messages", MESSAGES_OPTIONS, (request, reply) => pass("/v1/messages", request, reply));
  if (settings.rooms)
    app.get("/v1/rooms", ROOMS_OPTIONS, (request, reply) => pass("/v1/rooms", request, reply));
  app.get<{ Params: RoomParams }>("/v1/rooms/:videoId", ROOM_OPTIONS, (request, reply) =>
    pass(`/v1/rooms/${parseVideoId(request.params.videoId)}`, request as FastifyRequest, reply),
  );
}
