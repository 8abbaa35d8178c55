/** What the service sends is escaped: no client's splitting of lines cuts a frame or a body. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { PATIENCE_MS } from "../../support/eventually.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
/** C0 and C1 control characters, and the two separators. */
const RAW = /[\p{Cc}\u2028\u2029]/u;
const WORDS = "one\u2028two\u0085three\u009f";
const ESCAPED = "one\\u2028two\\u0085three\\u009f";

function saying(words: string) {
  const said = { id: "a", timestampUsec: "1767225600000000", message: { runs: [{ text: words }] } };
  return { addChatItemAction: { item: { liveChatTextMessageRenderer: said } } };
}

/** The frames of a stream, without the ends of their lines. */
async function framesOf({ url }: TestRelay): Promise<string> {
  await using stream = await Stream.open(url, { videoId: VIDEO, acceptEncoding: "identity" });
  await stream.untilMessages(1);
  return stream.raw.replaceAll("\n", "");
}

async function bodyOfSession({ url }: TestRelay): Promise<string> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ videoId: VIDEO });
  return await (await fetch(`${url}/v1/sessions`, { method: "POST", headers, body })).text();
}

async function bodyOfRefusal({ url }: TestRelay): Promise<string> {
  const query = new URLSearchParams({ videoIds: VIDEO, cursors: WORDS });
  return await (await fetch(`${url}/v1/merged?${query}`)).text();
}

async function bodyOfBadRequest({ url }: TestRelay): Promise<string> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1").setEncoding("utf8");
  socket.end("no HTTP\r\n\r\n");
  const [, body = ""] = (await socket.reduce((all, part) => all + part, "")).split("\r\n\r\n");
  return body;
}

describe("the service escapes", { timeout: PATIENCE_MS }, () => {
  for (const [what, textOf, expected] of [
    ["the frames of a stream", framesOf, ESCAPED],
    ["the body of a session", bodyOfSession, ESCAPED],
    ["a value that it refuses", bodyOfRefusal, "oneU+2028twoU+0085three"],
    ["the answer to what is not HTTP", bodyOfBadRequest, "INVALID_REQUEST"],
  ] as const)
    it(what, async () => {
      await using relay = await startRelay();
      relay.upstream.chat(VIDEO, { timeoutMs: 15 }).say([saying(WORDS)]);
      const text = await textOf(relay);
      assert.ok(text.includes(expected), text);
      assert.doesNotMatch(text, RAW);
    });
});
