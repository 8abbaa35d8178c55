/**
 * `/v1/featured/{videoId}`: shows, chooses and takes away the message that is featured. Everybody who may
 * watch the video may read it; only the right `feature` changes it.
 */
import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import { RelayError } from "../protocol/errors.ts";
import { parseVideoId } from "../protocol/video-id.ts";
import type { Featuring } from "../rooms/featuring.ts";
import { refuseUnavailable } from "../serving/store-refusal.ts";
import type { Access } from "./access/access.ts";
import { clientGone } from "./connections/client-gone.ts";
import type { RequestTurns } from "./connections/request-turns.ts";
import { ignoreBodies } from "./ignored-bodies.ts";
import { Type } from "./schemas/json-schema.ts";
import { orNull } from "./schemas/message-schemas.ts";
import { bodiless, json, schemaOf } from "./schemas/responses.ts";
import { RoomParams } from "./schemas/room-schemas.ts";
import { knownParametersOnly } from "./strict-query.ts";

export const FEATURED_PATH = "/v1/featured/:videoId";
/** Ids of messages have a few hundred characters at most. */
const MAX_ID_LENGTH = 1000;
const MAX_BODY_BYTES = 8 * MAX_ID_LENGTH;

const FeaturedRequest = Type.Object(
  {
    messageId: Type.String({
      minLength: 1,
      maxLength: MAX_ID_LENGTH,
      description: "The id of a stored message of the video.",
    }),
  },
  { examples: [{ messageId: "ChwKGkNOcXE4..." }] },
);
type FeaturedRequest = Static<typeof FeaturedRequest>;

const FeaturedResponse = Type.Object({
  messageId: orNull(Type.String({ description: "Null if no message is featured." })),
  featuredAt: Type.Optional(Type.String({ description: "When it was chosen, ISO 8601 in UTC." })),
});

const GET = { summary: "Show which message of a video is featured", params: RoomParams };
const PUT = { summary: "Feature a message of a video", params: RoomParams, body: FeaturedRequest };
const DELETE = { summary: "Feature no message of a video any more", params: RoomParams };

export interface OfVideo {
  Params: Static<typeof RoomParams>;
}

/** The methods that a caller may use, in the header `Allow` of a GET: so a page knows its rights. */
export const READING = "GET, HEAD, OPTIONS";
const CHANGING = "GET, HEAD, PUT, DELETE, OPTIONS";

const CHECKS = { preValidation: knownParametersOnly({ properties: {} }) };

export const FEATURED_OPTIONS = {
  ...CHECKS,
  schema: schemaOf(`GET ${FEATURED_PATH}`, GET, json("The message, or null.", FeaturedResponse)),
};

/** Where nobody can have the right `feature`, the route only shows the message that is featured. */
export function featuredRoute(
  app: FastifyInstance,
  featuring: Featuring,
  access: Access,
  turns: RequestTurns,
): void {
  app.get<OfVideo>(FEATURED_PATH, FEATURED_OPTIONS, async (request, reply) => {
    const videoId = parseVideoId(request.params.videoId);
    // Reading does not need the right, so it does not matter if nobody can say now whether it is held.
    const mayChange = await access.allows("feature", request, reply).catch((error) => {
      if (error instanceof RelayError) return false;
      throw error;
    });
    const read = () => featuring.show(videoId);
    const shown = await turns.serve(read, clientGone(reply.raw)).catch(refuseUnavailable);
    reply.headers({ allow: mayChange ? CHANGING : READING, "cache-control": "no-store" });
    return shown;
  });
  if (!access.serves("feature")) return;
  app.put<OfVideo & { Body: FeaturedRequest }>(
    FEATURED_PATH,
    {
      ...CHECKS,
      bodyLimit: MAX_BODY_BYTES,
      schema: bodiless(`PUT ${FEATURED_PATH}`, PUT, { 204: "It is featured." }),
    },
    async ({ params, body }, reply) => {
      const videoId = parseVideoId(params.videoId);
      const change = () => featuring.put(videoId, body.messageId);
      await turns.serve(change, clientGone(reply.raw)).catch(refuseUnavailable);
      return reply.code(204).send();
    },
  );
  ignoreBodies(app, (own) =>
    own.delete<OfVideo>(
      FEATURED_PATH,
      { ...CHECKS, schema: bodiless(`DELETE ${FEATURED_PATH}`, DELETE, { 204: "None is featured." }) },
      async ({ params }, reply) => {
        const videoId = parseVideoId(params.videoId);
        const change = () => featuring.delete(videoId);
        await turns.serve(change, clientGone(reply.raw)).catch(refuseUnavailable);
        return reply.code(204).send();
      },
    ),
  );
}
