/**
 * `GET /v1/rooms`: lists the stored rooms, the same ones for everybody with the right. `GET
 * /v1/rooms/{videoId}`: shows one of them, with its totals.
 */
import type { FastifyInstance } from "fastify";
import { SharedWork } from "../base/shared-work.ts";
import { wireJson } from "../base/wire-json.ts";
import { chatNamed } from "../protocol/chat-key.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import type { RoomList } from "../rooms/listing.ts";
import type { Activities } from "../serving/history/activity.ts";
import type { Access } from "./access/access.ts";
import { clientGone } from "./connections/client-gone.ts";
import type { RequestTurns } from "./connections/request-turns.ts";
import { json, schemaOf } from "./schemas/responses.ts";
import { RoomParams, RoomQuery, RoomResponse, RoomsResponse } from "./schemas/room-schemas.ts";
import { knownParametersOnly } from "./strict-query.ts";

const EXPECTED = { summary: "List the rooms, stored and currently read" };
const ROOM_EXPECTED = {
  summary: "Show one stored room with its totals",
  params: RoomParams,
  querystring: RoomQuery,
};

export const ROOMS_OPTIONS = {
  schema: schemaOf(
    "/v1/rooms",
    EXPECTED,
    json("One entry for each room, the last read first.", RoomsResponse),
  ),
};
export const ROOM_OPTIONS = {
  schema: schemaOf(
    "/v1/rooms/{videoId}",
    ROOM_EXPECTED,
    json("The room as in the list, and its totals.", RoomResponse),
  ),
  preValidation: knownParametersOnly(RoomQuery),
};

/** `retentionDays`: after how many days messages are deleted; 0: never. */
export function roomsRoute(app: FastifyInstance, list: RoomList, retentionDays: number): void {
  const lists = new SharedWork<Buffer>();
  const write = async () => Buffer.from(wireJson({ retentionDays, rooms: await list.all() }));
  app.get("/v1/rooms", ROOMS_OPTIONS, async (_request, reply) => {
    const body = await lists.run("", write, clientGone(reply.raw));
    return reply.type("application/json; charset=utf-8").send(body);
  });
}

/** The egress by which the room is read is only for those who may see the list. */
export function roomRoute(
  app: FastifyInstance,
  list: RoomList,
  activities: Activities,
  access: Access,
  turns: RequestTurns,
): void {
  type Route = { Params: RoomParams; Querystring: RoomQuery };
  app.get<Route>("/v1/rooms/:videoId", ROOM_OPTIONS, async (request, reply) => {
    const showsReading = access.rightsOf(request).has("rooms");
    const videoId = parseVideoId(request.params.videoId);
    const { chat, activity } = request.query;
    const gone = clientGone(reply.raw);
    return await turns.serve(async () => {
      const room = await list.show(videoId, chat, showsReading);
      if (activity !== "true") return room;
      const head = room.totals.cursor + room.totals.uncounted;
      return { ...room, activity: await activities.of(videoId, chatNamed(room.chatType), head, gone) };
    }, gone);
  });
}
