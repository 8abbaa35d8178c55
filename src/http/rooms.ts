/** `GET /v1/rooms`: lists the rooms that are stored, and those that are being read. */
import type { FastifyInstance } from "fastify";
import type { Rooms } from "../rooms/rooms.ts";
import { json, schemaOf } from "./responses.ts";
import { RoomsResponse } from "./schemas.ts";

const EXPECTED = { summary: "List the rooms, stored and currently read" };

/** `retentionDays`: after how many days messages are deleted; 0: never. */
export function roomsRoute(app: FastifyInstance, rooms: Rooms, retentionDays: number): void {
  const success = json("One entry for each room, the last read first.", RoomsResponse);
  app.get(
    "/v1/rooms",
    { schema: schemaOf("/v1/rooms", EXPECTED, success), exposeHeadRoute: false },
    async () => ({
      retentionDays,
      rooms: await rooms.list(),
    }),
  );
}
