/** `/v1/recordings`: lists, adds and deletes recordings while the service runs. */
import type { FastifyInstance } from "fastify";
import type { Static } from "typebox";
import { parseVideoOrChannel } from "../protocol/channel.ts";
import { MAX_INPUT_LENGTH } from "../protocol/pasted-name.ts";
import { RECORDING_STATES } from "../protocol/recording.ts";
import type { Recordings } from "../rooms/recordings/recordings.ts";
import { clientGone } from "./connections/client-gone.ts";
import type { RequestTurns } from "./connections/request-turns.ts";
import { Type } from "./schemas/json-schema.ts";
import { bodiless, json, schemaOf } from "./schemas/responses.ts";
import { VideoId } from "./schemas/schemas.ts";
import { knownParametersOnly } from "./strict-query.ts";

const RecordingHeaders = Type.Object({
  authorization: Type.Optional(
    Type.String({ description: "`Bearer` and the RELAY_ADMIN_TOKEN, or a token with the right `record`." }),
  ),
});

const RecordingPath = Type.Object({
  name: Type.String({
    maxLength: MAX_INPUT_LENGTH,
    description: "A video or a channel: id, handle or URL, percent-encoded.",
    examples: ["@handle", "dQw4w9WgXcQ"],
  }),
});
type RecordingPath = Static<typeof RecordingPath>;

const RecordingsResponse = Type.Object({
  recordings: Type.Array(
    Type.Object({
      name: Type.String({
        description: "Video id, channel id, handle in lower case, `c/name` or `user/name`.",
      }),
      since: Type.String({ description: "ISO 8601 in UTC." }),
      state: Type.Enum([...RECORDING_STATES], {
        description:
          "`waiting`: there is no chat yet, or no stream of the channel. `failed`: the last attempt failed; the service tries again.",
      }),
      videoId: Type.Optional(VideoId),
      error: Type.Optional(
        Type.String({
          description:
            "Why nothing is recorded now: always with `failed`; with `waiting`, if a video has no chat.",
        }),
      ),
      fixed: Type.Boolean({ description: "Whether it is in RELAY_RECORD." }),
    }),
  ),
});

const PATH = "/v1/recordings/:name";
const headers = RecordingHeaders;
const LIST = { summary: "List the recordings", headers };
const PUT = { summary: "Record a video, or each stream of a channel", params: RecordingPath, headers };
const DELETE = { summary: "Stop a recording; what it has stored stays", params: RecordingPath, headers };

interface Named {
  Params: RecordingPath;
}

/** `app`: ignores bodies, which these endpoints do not have. */
export function recordingsRoutes(app: FastifyInstance, recordings: Recordings, turns: RequestTurns): void {
  const checks = { preValidation: knownParametersOnly({ properties: {} }) };
  const listed = json("All recordings, those of RELAY_RECORD first.", RecordingsResponse);
  app.get(
    "/v1/recordings",
    { ...checks, schema: schemaOf("/v1/recordings", LIST, listed) },
    async (_request, reply) => ({
      recordings: await turns.serve(() => recordings.list(), clientGone(reply.raw)),
    }),
  );
  app.put<Named>(
    PATH,
    { ...checks, schema: bodiless(`PUT ${PATH}`, PUT, { 201: "Added.", 200: "It was there." }) },
    async ({ params }, reply) => {
      const name = parseVideoOrChannel(params.name);
      const isNew = await turns.serve(() => recordings.put(name), clientGone(reply.raw));
      return reply.code(isNew ? 201 : 200).send();
    },
  );
  app.delete<Named>(
    PATH,
    { ...checks, schema: bodiless(`DELETE ${PATH}`, DELETE, { 204: "Deleted." }) },
    async ({ params }, reply) => {
      const name = parseVideoOrChannel(params.name);
      await turns.serve(() => recordings.delete(name), clientGone(reply.raw));
      return reply.code(204).send();
    },
  );
}
