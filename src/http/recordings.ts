/** `/v1/recordings`: lists, adds and deletes recordings while the service runs, for holders of the token. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { parseVideoOrChannel } from "../protocol/channel.ts";
import { RelayError } from "../protocol/errors.ts";
import type { Recordings } from "../rooms/recordings.ts";
import { bodiless, json, schemaOf } from "./responses.ts";
import { RecordingHeaders, RecordingPath, RecordingsResponse } from "./schemas.ts";

const PATH = "/v1/recordings/:name";
const headers = RecordingHeaders;
const LIST = { summary: "List the recordings", headers };
const PUT = { summary: "Record a video, or each stream of a channel", params: RecordingPath, headers };
const DELETE = { summary: "Stop a recording; what it has stored stays", params: RecordingPath, headers };

interface Named {
  Params: RecordingPath;
}

export function recordingsRoutes(app: FastifyInstance, recordings: Recordings, token: string): void {
  app.register(async (routes) => {
    routes.addHook("onRequest", async (request, reply) => {
      if (isAuthorized(request, token)) return;
      reply.header("www-authenticate", "Bearer");
      throw new RelayError("UNAUTHORIZED", "Send the header Authorization: Bearer <RELAY_ADMIN_TOKEN>.");
    });
    const listed = json("All recordings, those of RELAY_RECORD first.", RecordingsResponse);
    routes.get(
      "/v1/recordings",
      { schema: schemaOf("/v1/recordings", LIST, listed), exposeHeadRoute: false },
      async () => ({ recordings: await recordings.list() }),
    );
    routes.put<Named>(
      PATH,
      { schema: bodiless(PATH, PUT, { 201: "Added.", 200: "It was there." }) },
      async ({ params }, reply) => {
        const isNew = await recordings.put(parseVideoOrChannel(params.name));
        return reply.code(isNew ? 201 : 200).send();
      },
    );
    routes.delete<Named>(
      PATH,
      { schema: bodiless(PATH, DELETE, { 204: "Deleted." }) },
      async ({ params }, reply) => {
        await recordings.delete(parseVideoOrChannel(params.name));
        return reply.code(204).send();
      },
    );
  });
}

/** Compares digests of equal length, in constant time. */
function isAuthorized({ headers }: FastifyRequest, token: string): boolean {
  const [, sent = ""] = /^Bearer +(\S+) *$/i.exec(headers.authorization ?? "") ?? [];
  return timingSafeEqual(digest(sent), digest(token));
}

function digest(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
