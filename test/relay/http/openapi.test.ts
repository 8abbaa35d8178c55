/**
 * `GET /v1/openapi.json`: a valid description, of all that is served under `/v1`, and true of every answer.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { createParser } from "eventsource-parser";
import { systemClock } from "../../../src/base/clock.ts";
import { createServer } from "../../../src/http/server.ts";
import { parseChannel } from "../../../src/protocol/channel.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { type Answer, ask, pollOf, post, type SessionBody } from "../../support/api.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { roomsOn } from "../../support/rooms-on.ts";
import { observe } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";

interface Described {
  description: string;
  content: Record<
    string,
    {
      schema: object;
      example?: string;
      examples?: Record<string, { value: unknown }>;
      "x-events"?: Record<string, { $ref: string }>;
    }
  >;
}
interface Examples {
  example?: string;
  examples?: Record<string, { value: string }>;
}
interface Operation {
  operationId: string;
  parameters?: (Record<"name" | "in" | "description", string> & Examples & { schema: object })[];
  requestBody?: { content: Record<string, { schema: object; example: Record<string, unknown> }> };
  responses: Record<string, Described>;
}
interface Description {
  openapi: string;
  security: object[];
  components: { securitySchemes: object };
  paths: Record<string, Record<string, Operation>>;
}

/** That the examples name. */
const VIDEO = "dQw4w9WgXcQ";
const OPERATIONS = {
  "/v1/stream": "get",
  "/v1/merged": "get",
  "/v1/log/{videoId}": "get",
  "/v1/sessions": "post",
  "/v1/poll": "post",
  "/v1/probe": "post",
  "/v1/rooms": "get",
  "/v1/rooms/{videoId}": "get",
  "/v1/featured/{videoId}": "get",
  "/v1/videos/{videoId}": "get",
  "/v1/messages": "get",
} as const;
type Path = keyof typeof OPERATIONS;

/** The errors that the specification demands; an endpoint may have more. */
const SPEC_ERRORS: Record<Path, Record<number, string[]>> = {
  "/v1/stream": {
    400: ["INVALID_REQUEST", "INVALID_VIDEO_ID"],
    404: ["NO_LIVE_CHAT"],
    429: ["RATE_LIMITED"],
    502: ["SW_JS_FAILED", "NO_WORKING_CLIENT"],
  },
  "/v1/merged": { 400: ["INVALID_REQUEST", "INVALID_VIDEO_ID"], 503: ["CAPACITY"] },
  "/v1/log/{videoId}": {
    400: ["INVALID_REQUEST", "INVALID_VIDEO_ID"],
    404: ["NO_LIVE_CHAT"],
    410: ["OFFSET_GONE"],
    429: ["RATE_LIMITED"],
    502: ["SW_JS_FAILED", "NO_WORKING_CLIENT"],
    503: ["CAPACITY", "STORE_UNAVAILABLE"],
  },
  "/v1/sessions": {
    400: ["INVALID_REQUEST", "INVALID_VIDEO_ID"],
    404: ["NO_LIVE_CHAT"],
    502: ["SW_JS_FAILED", "NO_WORKING_CLIENT", "UPSTREAM_ERROR"],
  },
  "/v1/poll": {
    400: ["INVALID_REQUEST"],
    410: ["TOKEN_EXPIRED"],
    422: ["UNKNOWN_CLIENT"],
    502: ["UPSTREAM_ERROR"],
  },
  "/v1/probe": {
    400: ["INVALID_REQUEST", "INVALID_VIDEO_ID"],
    404: ["NO_LIVE_CHAT"],
    429: ["RATE_LIMITED"],
    502: ["SW_JS_FAILED"],
  },
  "/v1/rooms": { 503: ["CAPACITY", "STORE_UNAVAILABLE"] },
  "/v1/rooms/{videoId}": {
    400: ["INVALID_REQUEST", "INVALID_VIDEO_ID"],
    404: ["NOT_STORED"],
    503: ["CAPACITY", "STORE_UNAVAILABLE"],
  },
  "/v1/featured/{videoId}": {
    400: ["INVALID_REQUEST", "INVALID_VIDEO_ID"],
    503: ["CAPACITY", "STORE_UNAVAILABLE"],
  },
  "/v1/videos/{videoId}": {
    400: ["INVALID_REQUEST", "INVALID_VIDEO_ID"],
    429: ["RATE_LIMITED"],
    502: ["UPSTREAM_ERROR"],
    503: ["CAPACITY", "STORE_UNAVAILABLE"],
  },
  "/v1/messages": {
    400: ["INVALID_REQUEST", "INVALID_VIDEO_ID"],
    404: ["NOT_STORED"],
    503: ["CAPACITY", "STORE_UNAVAILABLE"],
  },
};

let relay: TestRelay;
let description: Description;
let ajv: Ajv2020;
before(async () => {
  relay = await startRelay();
  description = (await ask<Description>(relay.url, "/v1/openapi.json")).body;
  ajv = new Ajv2020({ strict: false }); // an API's description has more keys than a schema
  ajv.addSchema(description, "api");
});
after(() => relay[Symbol.asyncDispose]());

function operationOf(path: Path): Operation {
  const operation = description.paths[path]?.[OPERATIONS[path]];
  assert.ok(operation, `${path} is described`);
  return operation;
}

/** Asserts that a value is of the schema at this place of the description. */
function assertOf(value: unknown, ...place: string[]): void {
  const pointer = place.map((step) => step.replaceAll("~", "~0").replaceAll("/", "~1")).join("/");
  const validate = ajv.getSchema(`api#/${pointer}`);
  assert.ok(validate, `nothing at ${pointer}`);
  assert.ok(validate(value), `${JSON.stringify(value)}: ${ajv.errorsText(validate.errors)}`);
}

/** Asserts that the answer is one that is described for the endpoint. */
function assertDescribed(path: Path, { status, body }: Answer): void {
  const responses = ["paths", path, OPERATIONS[path], "responses", String(status)];
  assert.ok(operationOf(path).responses[status], `${path} answers ${status}: ${JSON.stringify(body)}`);
  assertOf(body, ...responses, "content", "application/json", "schema");
}

describe("the description", () => {
  it("names each operation, the token, and what the texts of a query mean", () => {
    const operations = Object.values(description.paths).flatMap((path) => Object.values(path));
    const ids = operations.map(({ operationId }) => operationId);
    assert.equal(new Set(ids).size, operations.length);
    for (const id of ids) assert.match(id, /^(get|post|put|delete)[A-Za-z]+$/);
    const { security, components } = description;
    assert.deepEqual(security.flatMap(Object.keys), Object.keys(components.securitySchemes));
    const typeOf = (path: Path, name: string) => {
      const schema = operationOf(path).parameters?.find((parameter) => parameter.name === name)?.schema;
      return schema && "type" in schema && schema.type;
    };
    assert.deepEqual(
      [typeOf("/v1/stream", "backfill"), typeOf("/v1/messages", "after"), typeOf("/v1/messages", "details")],
      ["integer", "integer", "boolean"],
    );
    for (const { parameters = [] } of operations)
      for (const { name, schema } of parameters) {
        assert.ok("type" in schema || "anyOf" in schema, name);
        assert.notEqual(name, "authorization");
      }
  });

  it("is valid OpenAPI 3.1", async () => {
    const { valid, errors } = await new Validator().validate({ ...structuredClone(description) });
    assert.ok(valid, JSON.stringify(errors));
    assert.match(description.openapi, /^3\.1\./);
  });

  it("describes the endpoints under /v1, and nothing else", async () => {
    await using parts = await roomsOn(observe(memoryStore(systemClock)));
    const app = await createServer(parts, parts.config.http);
    const tree = app.printRoutes({ commonPrefix: false });
    // Routes below another path are printed without it.
    const list = tree.replaceAll(/(v1\/\w+)( .*\n)[ │]*└── (\/:\w+)/g, "$1$2$1$3");
    const served = [...list.matchAll(/\/?(v1\/\S+) \((.*)\)/g)];
    assert.deepEqual(
      served
        .map(([, path = "", methods = ""]) => {
          const [described] = methods.split(", ").filter((method) => method !== "HEAD");
          return `${described} /${path.replace(":videoId", "{videoId}")}`;
        })
        .filter((route) => !route.endsWith("openapi.json"))
        .sort(),
      Object.entries(OPERATIONS)
        .map(([path, method]) => `${method.toUpperCase()} ${path}`)
        .sort(),
    );
    await app.close();
    for (const [path, method] of Object.entries(OPERATIONS)) {
      assert.deepEqual(Object.keys(description.paths[path] ?? {}), [method]);
    }
    assert.deepEqual(Object.keys(description.paths).sort(), Object.keys(OPERATIONS).sort());
  });

  for (const path of Object.keys(OPERATIONS) as Path[]) {
    it(`lists the errors of ${path}, each under its status with an example body`, () => {
      const { responses } = operationOf(path);
      for (const [status, codes] of Object.entries(SPEC_ERRORS[path])) {
        const described = responses[status]?.content["application/json"]?.examples ?? {};
        for (const code of codes) assert.ok(Object.hasOwn(described, code), `${status} ${code}`);
      }
      for (const [status, { content }] of Object.entries(responses).filter(([status]) => status !== "200")) {
        const place = ["paths", path, OPERATIONS[path], "responses", status, "content", "application/json"];
        for (const [code, { value }] of Object.entries(content["application/json"]?.examples ?? {})) {
          assertOf(value, ...place, "schema");
          assert.equal((value as { code: string }).code, code);
        }
      }
    });
  }

  it("describes the id that resumes each stream, and the backfill of a replay", () => {
    const words = (path: Path, name: string) =>
      operationOf(path).parameters?.find((each) => each.name === name)?.description ?? "";
    for (const name of ["lastEventId", "last-event-id"]) {
      assert.match(words("/v1/stream", name), /cursor, or `<videoId>\.<cursor>` of a channel/);
      assert.match(words("/v1/merged", name), /vector/);
    }
    assert.match(words("/v1/stream", "backfill"), /all of a replay/);
  });

  it("describes the stream's frames in words and in an example that a parser reads", () => {
    const content = operationOf("/v1/stream").responses[200]?.content["text/event-stream"];
    assert.deepEqual(Object.keys(content?.["x-events"] ?? {}), [
      "channel",
      "init",
      "message",
      "featured",
      "standing",
      "end",
      "error",
    ]);
    const seen: string[] = [];
    const parser = createParser({
      onRetry: (ms) => seen.push(`retry ${ms}`),
      onComment: (comment) => seen.push(comment),
      onEvent: ({ event, id, data }) => {
        seen.push(event ?? "");
        const { $ref = "" } = content?.["x-events"]?.[event ?? ""] ?? {};
        assertOf(JSON.parse(data), ...$ref.split("/").slice(1));
        assert.equal(id === undefined, event !== "message");
      },
    });
    parser.feed(content?.example ?? "");
    assert.deepEqual(seen, ["retry 3000", "init", "message", "keepalive", "end"]);
    for (const frame of ["retry: 3000", "channel", "init", "message", ": keepalive", "end", "error"]) {
      assert.ok(operationOf("/v1/stream").responses[200]?.description.includes(frame), frame);
    }
  });

  it("describes the same stream as NDJSON in an example", () => {
    const content = operationOf("/v1/stream").responses[200]?.content["application/x-ndjson"];
    const lines = (content?.example ?? "").split("\n");
    assert.equal(lines.pop(), "");
    const seen = lines.map((line) => {
      const { event, ...fields } = JSON.parse(line);
      const { cursor, ...others } = fields;
      const { $ref = "" } = content?.["x-events"]?.[event] ?? {};
      assertOf(event === "message" ? others : fields, ...$ref.split("/").slice(1));
      return event === "message" ? [event, cursor] : event;
    });
    assert.deepEqual(seen, ["init", ["message", 1795163753064], "cursor", "keepalive", "end"]);
  });
});

describe("the examples", () => {
  for (const path of ["/v1/sessions", "/v1/poll", "/v1/probe"] as const) {
    it(`of a request to ${path} fits its schema, and is answered as described`, async () => {
      relay.upstream.chat(VIDEO, { tokens: "reusable" }).say(3);
      const { example } = operationOf(path).requestBody?.content["application/json"] ?? {};
      assertOf(example, "paths", path, "post", "requestBody", "content", "application/json", "schema");
      const answer = await post(relay.url, path, example);
      // An example's token is not good any more.
      assert.equal(answer.status, path === "/v1/poll" ? 410 : 200);
      assertDescribed(path, answer);
    });
  }

  it("of the history's parameters find the messages", async () => {
    const parameters = operationOf("/v1/messages").parameters ?? [];
    assert.deepEqual(
      parameters.map(({ name }) => name),
      "videoId after before from to saidFrom saidTo limit types minTier minAmount badges author q text details format raw bom chat".split(
        " ",
      ),
    );
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
    await using stream = await Stream.open(relay.url, { videoId: VIDEO });
    await stream.untilMessages(3);
    const values = parameters.flatMap(({ name, example }) =>
      example === undefined ? [] : [[name, example]],
    );
    assert.deepEqual(
      values.map(([name]) => name),
      ["from", "saidFrom", "types", "minTier", "minAmount", "badges"],
    );
    const query = new URLSearchParams([["videoId", VIDEO], ...values] as [string, string][]);
    assert.equal((await ask(relay.url, `/v1/messages?${query}`)).status, 200);
  });

  it("of the stream's parameters open it", async () => {
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
    const parameters = operationOf("/v1/stream").parameters ?? [];
    assert.deepEqual(
      parameters.map((parameter) => `${parameter.in} ${parameter.name}`),
      [
        ...[
          "videoId",
          "channel",
          "backfill",
          "details",
          "types",
          "minTier",
          "minAmount",
          "badges",
          "from",
          "until",
          "lastEventId",
          "chat",
          "all",
          "featured",
          "standing",
        ].map((name) => `query ${name}`),
        "header last-event-id",
      ],
    );
    const [videoId, channel, backfill] = parameters;
    const examples = Object.values(videoId?.examples ?? {});
    assert.ok(examples.length > 0 && backfill?.example);
    for (const { value } of Object.values(channel?.examples ?? {})) parseChannel(value);
    for (const { value } of examples) {
      await using stream = await Stream.open(relay.url, { videoId: value, backfill: backfill.example });
      await stream.untilMessages(3);
    }
  });
});

describe("answers", () => {
  /** Asserts that a success holds the described fields and no others. `absent`: those of other answers. */
  function assertWhole(path: Path, answer: Answer, absent: readonly string[] = []): void {
    assert.equal(answer.status, 200);
    assertDescribed(path, answer);
    const schema = operationOf(path).responses[200]?.content["application/json"]?.schema;
    const { properties } = schema as { properties: object };
    const expected = Object.keys(properties).filter((name) => !absent.includes(name));
    assert.deepEqual(Object.keys(answer.body as object).sort(), expected.sort());
  }

  for (const kind of ["live", "replay"] as const) {
    it(`to sessions, polls and probes of a ${kind} chat match schemas, as do streamed messages`, async () => {
      const chat = relay.upstream.chat("whole-chats", { kind, tokens: "reusable" });
      chat.say(200);
      for (const details of [false, true]) {
        const videoId = "whole-chats";
        const opened = await post<SessionBody>(relay.url, "/v1/sessions", { videoId, details });
        assertWhole("/v1/sessions", opened);
        assertWhole("/v1/poll", await post(relay.url, "/v1/poll", { ...pollOf(opened.body), details }));
        await using stream = await Stream.open(relay.url, { videoId, details, lastEventId: 0 });
        await stream.untilMessages(20);
        for (const { message } of stream.messages) assertOf(message, "components", "schemas", "Message");
        const query = `videoId=${videoId}&limit=1000&details=${details}`;
        const page = await ask<{ messages: unknown[] }>(relay.url, `/v1/messages?${query}`);
        assertWhole("/v1/messages", page, ["outside"]);
        assert.ok(page.body.messages.length >= 20);
        for (const message of page.body.messages) assertOf(message, "components", "schemas", "StoredMessage");
      }
      assertWhole("/v1/probe", await post(relay.url, "/v1/probe", { videoId: "whole-chats" }));
    });
  }

  it("that refuse match their schemas", async () => {
    const client = { client: "TVHTML5", endpoint: "get_live_chat", apiKey: "AIzaSyMadeUpMadeUp" };
    const token = "made-up";
    for (const input of [
      {},
      { videoId: "no" },
      { videoId: "not-a-chat_" },
      null,
      { token, ...client, client: "?" },
      { token, ...client },
    ]) {
      for (const path of ["/v1/sessions", "/v1/poll", "/v1/probe"] as const) {
        assertDescribed(path, await post(relay.url, path, input));
      }
    }
    for (const query of ["", "videoId=no", "videoId=not-a-chat_", "videoId=not-a-chat_&backfill="]) {
      assertDescribed("/v1/stream", await ask(relay.url, `/v1/stream?${query}`));
    }
    for (const query of ["", "videoId=no", "videoId=not-stored1", "videoId=not-stored1&limit=0"]) {
      assertDescribed("/v1/messages", await ask(relay.url, `/v1/messages?${query}`));
    }
    const throttled = { status: 429, headers: { "retry-after": "90" } };
    const videoId = "throttled-1";
    relay.upstream.chat(videoId);
    // For this video alone: a room that lingers may poll before it.
    relay.upstream.fault({ on: "get_live_chat", videoId, times: 1, as: throttled });
    assertDescribed("/v1/stream", await ask(relay.url, `/v1/stream?videoId=${videoId}`));
    for (const path of ["/v1/sessions", "/v1/poll", "/v1/probe"] as const) {
      const body = path === "/v1/poll" ? { token, ...client } : { videoId };
      const answer = await post(relay.url, path, body);
      assertDescribed(path, answer);
      assert.equal(answer.status, path === "/v1/probe" ? 429 : 502);
    }
  });
});
