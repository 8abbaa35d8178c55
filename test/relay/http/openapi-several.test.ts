/** The description of the streams that carry several chats is true of every event that they send. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { createParser } from "eventsource-parser";
import { ask } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";

type Refs = Record<string, { $ref: string }>;
interface Content {
  "x-events": Refs;
  "x-channel-events"?: Refs;
}
interface Description {
  paths: Record<string, { get: { responses: { 200: { content: Record<string, Content> } } } }>;
}
type Event = [name: string, data: object];

const [A, B] = ["video-aaaaa", "video-bbbbb"] as const;
const SSE = "text/event-stream";
const NDJSON = "application/x-ndjson";

/** Keeps the events of an answer as they come. */
async function reading(url: string, accept: string): Promise<{ events: Event[]; stop(): void }> {
  const abort = new AbortController();
  const events: Event[] = [];
  const { body } = await fetch(url, { headers: { accept }, signal: abort.signal });
  const parser = createParser({
    onEvent: ({ event = "", data }) => void events.push([event, JSON.parse(data)]),
  });
  let rest = "";
  const read = async () => {
    for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      if (accept === SSE) {
        parser.feed(text);
        continue;
      }
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const { event, ...fields } of lines.map((line) => JSON.parse(line))) events.push([event, fields]);
    }
  };
  read().catch(() => {}); // stopped
  return { events, stop: () => abort.abort() };
}

/** Asserts that every event is as described, and that there is one of each that is described. */
async function assertDescribed(
  { url }: TestRelay,
  path: string,
  [accept, key]: readonly [string, keyof Content],
  query: Record<string, string>,
): Promise<void> {
  const { body } = await ask<Description>(url, "/v1/openapi.json");
  const refs = body.paths[path]?.get.responses[200].content[accept]?.[key] ?? assert.fail("not described");
  const ajv = new Ajv2020({ strict: false }).addSchema(body, "api");
  const stream = await reading(`${url}${path}?${new URLSearchParams(query)}`, accept);
  const expected = Object.keys(refs).filter((name) => name !== "error" || key === "x-events");
  await eventually(true, () => {
    const seen = new Set(stream.events.map(([name]) => name));
    return expected.every((name) => seen.has(name));
  });
  stream.stop();
  for (const [name, data] of stream.events) {
    const validate = ajv.getSchema(`api${refs[name]?.$ref}`) ?? assert.fail(`${name} is not described`);
    assert.ok(validate(data), `${name} ${JSON.stringify(data)}: ${ajv.errorsText(validate.errors)}`);
  }
}

describe("the description of a stream of several chats", () => {
  for (const accept of [SSE, NDJSON]) {
    const settings = { RELAY_KEEPALIVE_MS: "50" };

    it(`matches /v1/merged as ${accept}`, async () => {
      await using relay = await startRelay({ settings });
      const chat = relay.upstream.chat(A, { kinds: ["text", "paid"], timeoutMs: 5 });
      chat.say(20);
      relay.upstream.chat(B, { kind: "replay", kinds: ["text", "paid"] }).say(20);
      relay.upstream
        .channel("@somebody")
        .broadcast("live-here-1", { chat: { kinds: ["text"] } })
        .chat.say(5);
      relay.upstream.channel("@gone", { state: "gone" });
      const videos = { videoIds: `${A},${B},no-chat-her`, channels: "@somebody,@gone" };
      const query = { ...videos, details: "true", types: "paid", featured: "on", standing: "on" };
      await assertDescribed(relay, "/v1/merged", [accept, "x-events"], query);
    });

    it(`matches a channel as ${accept}`, async () => {
      await using relay = await startRelay({ settings });
      const { chat } = relay.upstream
        .channel("@somebody")
        .broadcast(A, { chat: { kinds: ["text", "paid"] } });
      chat.say(20);
      const query = { channel: "@somebody", types: "paid", featured: "on", standing: "on" };
      await assertDescribed(relay, "/v1/stream", [accept, "x-channel-events"], query);
    });
  }
});
