/** `GET /v1/openapi.json`: describes the API with the schemas that validate it. */
import type { FastifyInstance, FastifySchema } from "fastify";
import { VERSION } from "../../base/own-files.ts";
import { wireJson } from "../../base/wire-json.ts";
import { NAMED_SCHEMAS } from "./schemas.ts";

declare module "fastify" {
  interface FastifySchema {
    /** The route's purpose. A route without a summary is not described. */
    summary?: string;
  }
}

/** The fields of a request's schema that are read here; the others are copied unchanged. */
interface ValueSchema {
  description?: string;
  examples?: unknown[];
  properties?: Record<string, ValueSchema>;
  required?: string[];
}

/** Describes the routes that are added after this call. */
export function describeApi(app: FastifyInstance): void {
  const paths: Record<string, object> = {};
  app.addHook("onRoute", ({ url, method, schema }) => {
    if (!schema?.summary || method === "HEAD") return; // a GET without its body
    const path = url.replaceAll(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [String(method).toLowerCase()]: operationOf(schema) };
  });
  const document = {
    openapi: "3.1.0",
    info: {
      title: "livechat-relay",
      version: VERSION,
      description: "Reads the live chat of a video once and relays it to any number of readers.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: ".." }], // relative to this document, as the service may be below a path
    paths,
    components: { schemas: NAMED_SCHEMAS },
  };
  let body: Buffer | undefined;
  app.get("/v1/openapi.json", async (_request, reply) => {
    body ??= Buffer.from(wireJson(document));
    return reply.type("application/json; charset=utf-8").send(body);
  });
}

function operationOf({ summary, params, querystring, headers, body, response }: FastifySchema): object {
  return {
    summary,
    parameters: [
      ...parametersIn("path", params),
      ...parametersIn("query", querystring),
      ...parametersIn("header", headers),
    ],
    ...(body === undefined ? {} : { requestBody: { required: true, content: jsonContent(body) } }),
    responses: response,
  };
}

function parametersIn(place: "path" | "query" | "header", schema: unknown): object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as ValueSchema;
  return Object.entries(properties).map(([name, { description, examples, ...value }]) => ({
    name,
    in: place,
    required: required.includes(name),
    description,
    schema: value,
    ...examplesOf(examples),
  }));
}

function jsonContent(schema: unknown): object {
  const { examples, ...value } = schema as ValueSchema;
  return { "application/json": { schema: value, ...examplesOf(examples) } };
}

function examplesOf(examples: unknown[] = []): object {
  if (examples.length < 2) return examples.length === 0 ? {} : { example: examples[0] };
  return { examples: Object.fromEntries(examples.map((value, i) => [`example${i + 1}`, { value }])) };
}
