/** What the service sends is escaped: no client's splitting of lines cuts a frame or a body. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { PATIENCE_MS } from "../../support/eventually.ts";
import { startRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
/** C0 and C1 control characters, and the two separators. */
const RAW = /[\p{Cc}\u2028\u2029]/u;

function saying(words: string) {
  const said = { id: "a", timestampUsec: "1767225600000000", message: { runs: [{ text: words }] } };
  return { addChatItemAction: { item: { liveChatTextMessageRenderer: said } } };
}

test("streams and bodies of the service are escaped", { timeout: PATIENCE_MS }, async (t) => {
  await using relay = await startRelay();
  const said = "one\u2028two\u0085three\u009f";
  relay.upstream.chat(VIDEO, { timeoutMs: 15 }).say([saying(said)]);
  await using stream = await Stream.open(relay.url, { videoId: VIDEO, acceptEncoding: "identity" });
  await stream.untilMessages(1);
  assert.doesNotMatch(stream.raw.replaceAll("\n", ""), RAW);
  const body = JSON.stringify({ videoId: VIDEO });
  const headers = { "content-type": "application/json" };
  const session = await fetch(`${relay.url}/v1/sessions`, { method: "POST", headers, body });
  const text = await session.text();
  assert.equal(session.status, 200);
  assert.ok(text.includes("one\\u2028two\\u0085three\\u009f"), text);
  assert.doesNotMatch(text, RAW);
  const field = "a\u2028b\u0085";
  const refused = await fetch(`${relay.url}/v1/sessions`, {
    method: "POST",
    headers,
    body: JSON.stringify({ videoId: VIDEO, [field]: 1 }),
  });
  assert.doesNotMatch(await refused.text(), RAW);
  const socket = connect(Number(new URL(relay.url).port), "127.0.0.1");
  t.after(() => socket.destroy());
  socket.end("no HTTP\r\n\r\n");
  const [, answer = ""] = (await socket.setEncoding("utf8").reduce((all, part) => all + part, "")).split(
    "\r\n\r\n",
  );
  assert.doesNotMatch(answer, RAW);
});
