/** `GET /v1/rooms`: lists the stored rooms. `GET /v1/rooms/{videoId}`: shows one of them, with its totals. */
import type { FastifyInstance } from "fastify";
import { parseVideoId } from "../protocol/video-id.ts";
import type { RoomList } from "../rooms/listing.ts";
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
  exposeHeadRoute: false,
};
export const ROOM_OPTIONS = {
  schema: schemaOf(
    "/v1/rooms/{videoId}",
    ROOM_EXPECTED,
    json("The room as in the list, and its totals.", RoomResponse),
  ),
  preValidation: knownParametersOnly(RoomQuery),
  exposeHeadRoute: false,
};

/** `retentionDays`: after how many days messages are deleted; 0: never. */
export function roomsRoute(app: FastifyInstance, list: RoomList, retentionDays: number): void {
  app.get("/v1/rooms", ROOMS_OPTIONS, async () => ({
    retentionDays,
    rooms: await list.all(),
  }));
}

/** `showsReading`: whether to show the egress by which the room is read. */
export function roomRoute(app: FastifyInstance, list: RoomList, showsReading: boolean): void {
  app.get<{ Params: RoomParams }>("/v1/rooms/:videoId", ROOM_OPTIONS, ({ params }) =>
    list.show(parseVideoId(params.videoId), showsReading),
  );
}
