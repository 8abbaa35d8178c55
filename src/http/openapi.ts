/** `GET /v1/openapi.json`: the API described, from the very schemas that validate it. */
import { readFileSync } from "node:fs";
import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { ErrorBody, Message } from "./schemas.ts";

/** To be called before the routes that it shall describe. */
export async function describeApi(app: FastifyInstance): Promise<void> {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  app.addSchema(Message);
  app.addSchema(ErrorBody);
  await app.register(swagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "livechat-relay",
        version,
        description: "Reads the live chat of a video once and relays it to any number of readers.",
        license: { name: "MIT", identifier: "MIT" },
      },
      servers: [{ url: "/" }],
    },
    refResolver: {
      buildLocalReference: (schema, _base, _fragment, index) => String(schema.$id ?? `schema-${index}`),
    },
  });
  app.get("/v1/openapi.json", { schema: { hide: true } }, async () => app.swagger());
}
