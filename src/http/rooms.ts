/** `GET /v1/rooms`: lists the stored rooms. `GET /v1/rooms/{videoId}`: shows one of them, with its totals. */
import type { FastifyInstance } from "fastify";
import { parseVideoId } from "../protocol/video-id.ts";
import type { RoomList } from "../rooms/listing.ts";
import { json, schemaOf } from "./responses.ts";
import { RoomParams, RoomQuery, RoomResponse, RoomsResponse } from "./room-schemas.ts";
import { knownParametersOnly } from "./strict-query.ts";

const EXPECTED = { summary: "List the rooms, stored and currently read" };
const ROOM_EXPECTED = {
  summary: "Show one stored room with its totals",
  params: RoomParams,
  querystring: RoomQuery,
};

/** `retentionDays`: after how many days messages are deleted; 0: never. */
export function roomsRoute(app: FastifyInstance, list: RoomList, retentionDays: number): void {
  const success = json("One entry for each room, the last read first.", RoomsResponse);
  app.get(
    "/v1/rooms",
    { schema: schemaOf("/v1/rooms", EXPECTED, success), exposeHeadRoute: false },
    async () => ({
      retentionDays,
      rooms: await list.all(),
    }),
  );
}

/** `showsReading`: whether to show the egress by which the room is read. */
export function roomRoute(app: FastifyInstance, list: RoomList, showsReading: boolean): void {
  const success = json("The room as in the list, and its totals.", RoomResponse);
  app.get<{ Params: RoomParams }>(
    "/v1/rooms/:videoId",
    {
      schema: schemaOf("/v1/rooms/{videoId}", ROOM_EXPECTED, success),
      preValidation: knownParametersOnly(RoomQuery),
      exposeHeadRoute: false,
    },
    ({ params }) => list.show(parseVideoId(params.videoId), showsReading),
  );
}
