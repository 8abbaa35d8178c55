/** docs/api.md: each call in it, made unchanged, is answered with the documented status and shape. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createParser } from "eventsource-parser";
import type { Chat } from "../../simulator/simulated-chat.ts";
import { ask } from "../support/api.ts";
import { deletionOf, paidAction, textAction } from "../support/chat-actions.ts";
import { eventually } from "../support/eventually.ts";
import { without } from "../support/needs.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";

const DOCS = readFileSync(join(import.meta.dirname, "../../docs/api.md"), "utf8");
const DEMO = "http://127.0.0.1:8080";
const TOKEN = "a-token-of-many-letters";
const STATUS = "\nstatus ";

interface Call {
  command: string;
  status: string;
  /** What the answer is shown as. */
  form: string | undefined;
  shown: string;
}

/** Each `curl` block, the status in the words after it, and the block that shows the answer. */
function callsIn(markdown: string): Call[] {
  const blocks = /```sh\n(curl .*?)\n```\n+Answers (\d{3})[^\n]*\n(?:\n```(json|text)\n(.*?)\n```)?/gs;
  return [...markdown.matchAll(blocks)].map(([, command = "", status = "", form, shown = ""]) => {
    return { command, status, form, shown };
  });
}

/** The keys of an object and the kind of each value, all the way down; of a list, its first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, held]) => [key, shapeOf(held)]));
}

function framesIn(text: string): [string | undefined, unknown][] {
  const frames: [string | undefined, unknown][] = [];
  const parser = createParser({
    onRetry: (ms) => frames.push(["retry", ms]),
    onEvent: ({ event, data }) => frames.push([event, shapeOf(JSON.parse(data))]),
  });
  parser.feed(`${text}\n\n`);
  return frames;
}

/** What the command writes until it ends, or until that is enough. */
function run(command: string, enough: (output: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn("/bin/sh", ["-c", `exec ${command}`], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (text) => {
      output += text;
      if (enough(output)) child.kill();
    });
    child.on("error", reject);
    child.on("close", () => resolve(output));
  });
}

/** The state of the only recording. */
async function stateOfRecording({ url }: TestRelay): Promise<string | undefined> {
  const init = { headers: { authorization: `Bearer ${TOKEN}` } };
  const { body } = await ask<{ recordings: { state: string }[] }>(url, "/v1/recordings", init);
  return body.recordings[0]?.state;
}

/** Whether the room shows what a page says of its video, which comes after all other calls. */
async function showsVideo({ url }: TestRelay): Promise<boolean> {
  const { body } = await ask<{ title?: string }>(url, "/v1/rooms/demo-stream");
  return body.title !== undefined;
}

async function statusOf({ url }: TestRelay, path: string): Promise<number> {
  return (await fetch(url + path)).status;
}

describe("the calls of docs/api.md", { skip: without("curl") }, () => {
  let relay: TestRelay;
  let chat: Chat;
  /** The session that was opened last. */
  let session: Record<string, string> = {};
  before(async () => {
    relay = await startRelay({ settings: { RELAY_ADMIN_TOKEN: TOKEN } });
    const channel = relay.upstream.channel("@demo");
    chat = channel.broadcast("demo-stream", { chat: { kinds: ["text"] } }).chat;
    chat.say(60);
    chat.say([paidAction("paid", "€5.00"), paidAction("gone", "€2.00"), deletionOf("gone")]);
  });
  after(() => relay[Symbol.asyncDispose]());

  it("include one for every endpoint", () => {
    const described = new Set(callsIn(DOCS).map(({ command }) => /8080(\/[\w./@-]+)/.exec(command)?.[1]));
    const endpoints = [
      "/v1/stream",
      "/v1/log/demo-stream",
      "/v1/messages",
      "/v1/sessions",
      "/v1/poll",
      "/v1/probe",
      "/v1/rooms",
      "/v1/rooms/demo-stream",
      "/v1/featured/demo-stream",
      "/v1/videos/demo-stream",
      "/v1/recordings",
      "/v1/recordings/@demo",
      "/v1/openapi.json",
    ];
    assert.deepEqual(described, new Set([...endpoints, "/healthz", "/readyz", "/metrics"]));
    assert.equal(callsIn(DOCS).length, DOCS.match(/^```sh$/gm)?.length, "each has its answer");
  });

  for (const [index, { command, status, form, shown }] of callsIn(DOCS).entries()) {
    it(`${command.split("\n")[0]} is answered ${status}, as shown`, async () => {
      chat.say([textAction(`said-${index}`)]);
      const ready = command
        .replaceAll(DEMO, relay.url)
        .replaceAll(/<(\w+)>/g, (_, field) => session[field] ?? assert.fail(`no ${field} was shown before`))
        .replace("$RELAY_ADMIN_TOKEN", TOKEN)
        .replace('"messageId":"…"', '"messageId":"paid"')
        .replace("curl ", `curl -sS -w '${STATUS}%{http_code}' `);
      if (command.endsWith("/v1/recordings")) await eventually("recording", () => stateOfRecording(relay));
      if (/v1\/rooms\b/.test(command)) await eventually(true, () => showsVideo(relay));
      // A busy machine may be late.
      if (command.endsWith("/readyz")) await eventually(200, () => statusOf(relay, "/readyz"));
      const isStream = shown.startsWith("retry:");
      const output = await run(ready, (text) => isStream && /\nevent: message\n.*\n\n/.test(text));
      const [body = "", told] = output.split(STATUS);
      if (!isStream) assert.equal(told, status);
      if (isStream) assert.deepEqual(framesIn(body).slice(0, framesIn(shown).length), framesIn(shown));
      else if (form === "json") {
        const answer = JSON.parse(body);
        assert.deepEqual(shapeOf(answer), shapeOf(JSON.parse(shown)));
        if (typeof answer.apiKey === "string") session = answer;
      } else {
        for (const [name = ""] of shown.matchAll(/^\w+/gm))
          assert.match(body, new RegExp(`^${name}[{ ]`, "m"));
      }
    });
  }
});
