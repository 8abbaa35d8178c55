/** `GET /v1/openapi.json`: describes the API with the schemas that validate it. */
import type { FastifyInstance, FastifySchema } from "fastify";
import { VERSION } from "../../base/own-files.ts";
import { wireJson } from "../../base/wire-json.ts";
import { BACKFILL_MAX } from "../../serving/resume-or-backfill.ts";
import { NAMED_SCHEMAS } from "./schemas.ts";

declare module "fastify" {
  interface FastifySchema {
    /** The route's purpose. A route without a summary is not described. */
    summary?: string;
  }
}

type Responses = Record<string, { description: string }>;

/** The fields of a request's schema that are read here; the others are copied unchanged. */
interface ValueSchema {
  description?: string;
  examples?: unknown[];
  properties?: Record<string, ValueSchema>;
  required?: string[];
}

/**
 * What the texts of these query parameters mean, for generators of clients. A query has only texts, so the
 * schemas that validate it say no more.
 */
const MEANINGS: Readonly<Record<string, object>> = {
  after: { type: "integer", minimum: 0 },
  backfill: { type: "integer", minimum: 0, maximum: BACKFILL_MAX },
  before: { type: "integer", minimum: 0 },
  bom: { type: "boolean" },
  details: { type: "boolean" },
  limit: {
    anyOf: [
      { type: "integer", minimum: 1 },
      { type: "string", enum: ["all"] },
    ],
  },
  raw: { type: "boolean" },
};

/** The groups of operations, by which generators name their clients: the first words of their paths. */
const TAGS: Readonly<Record<string, { paths: readonly string[]; description: string }>> = {
  chats: {
    paths: ["stream", "merged", "log", "messages"],
    description: "Chats as streams, and stored chats.",
  },
  rooms: {
    paths: ["rooms", "videos", "featured"],
    description: "The chats that the service reads and stores, and facts about videos.",
  },
  recordings: { paths: ["recordings"], description: "Chats that are read whether they are watched or not." },
  "own polling": {
    paths: ["sessions", "poll", "probe"],
    description: "For callers that poll YouTube's chat by themselves through the service.",
  },
};

const SECURITY_SCHEMES = {
  token: {
    type: "http",
    scheme: "bearer",
    description: "A token of the service. What its operator has made public needs none.",
  },
  tokenInQuery: {
    type: "apiKey",
    in: "query",
    name: "access_token",
    description: "The same token, for clients that cannot send headers, such as EventSource.",
  },
};

/** Describes the routes that are added after this call. */
export function describeApi(app: FastifyInstance): void {
  const paths: Record<string, object> = {};
  app.addHook("onRoute", ({ url, method, schema }) => {
    if (!schema?.summary || method === "HEAD") return; // a GET without its body
    const path = url.replaceAll(/:(\w+)/g, "{$1}");
    const operationId = idOf(String(method), path);
    const operation = { operationId, tags: [tagOf(path)], ...operationOf(schema) };
    paths[path] = { ...paths[path], [String(method).toLowerCase()]: operation };
  });
  const document = {
    openapi: "3.1.0",
    info: {
      title: "livechat-relay",
      version: VERSION,
      description: "Reads the live chat of a video once and relays it to any number of readers.",
      license: { name: "MIT", identifier: "MIT" },
      contact: { name: "The operator of this service" },
    },
    tags: Object.entries(TAGS).map(([name, { description }]) => ({ name, description })),
    servers: [{ url: ".." }], // relative to this document, as the service may be below a path
    paths,
    security: [{}, { token: [] }, { tokenInQuery: [] }],
    components: { schemas: NAMED_SCHEMAS, securitySchemes: SECURITY_SCHEMES },
  };
  let body: Buffer | undefined;
  app.get("/v1/openapi.json", async (_request, reply) => {
    body ??= Buffer.from(wireJson(document));
    return reply.type("application/json; charset=utf-8").send(body);
  });
}

function tagOf(path: string): string {
  const [, , word = ""] = path.split("/");
  const tag = Object.keys(TAGS).find((name) => TAGS[name]?.paths.includes(word));
  if (tag === undefined) throw new Error(`${path} has no tag in TAGS`);
  return tag;
}

/** Such as `getRoomsByVideoId` for `GET /v1/rooms/{videoId}`. */
function idOf(method: string, path: string): string {
  const words = path
    .split("/")
    .slice(2)
    .map((word) => word.replace(/^\{(.*)\}$/, "by-$1"));
  const name = words.flatMap((word) => word.split("-")).map((word) => word[0]?.toUpperCase() + word.slice(1));
  return method.toLowerCase() + name.join("");
}

function operationOf({ summary, params, querystring, headers, body, response }: FastifySchema): object {
  const successes = Object.entries(response as Responses).filter(([status]) => status.startsWith("2"));
  return {
    summary,
    description: successes.map(([, { description }]) => description).join(" "),
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
  // A token is a security scheme, not a parameter.
  const described = Object.entries(properties).filter(([name]) => name !== "authorization");
  return described.map(([name, { description, examples, ...value }]) => {
    const meaning = place === "query" ? MEANINGS[name] : undefined;
    return {
      name,
      in: place,
      required: required.includes(name),
      description,
      schema: meaning ?? value,
      ...examplesOf(meaning ? examples?.map(asMeant) : examples),
    };
  });
}

/** The text as the number or the boolean that it means. */
function asMeant(text: unknown): unknown {
  return /^\d+$/.test(`${text}`) ? Number(text) : text;
}

function jsonContent(schema: unknown): object {
  const { examples, ...value } = schema as ValueSchema;
  return { "application/json": { schema: value, ...examplesOf(examples) } };
}

function examplesOf(examples: unknown[] = []): object {
  if (examples.length < 2) return examples.length === 0 ? {} : { example: examples[0] };
  return { examples: Object.fromEntries(examples.map((value, i) => [`example${i + 1}`, { value }])) };
}
