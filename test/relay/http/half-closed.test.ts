/** Clients that have closed their writing side, as `nc` and simple programs do once they have asked. */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { eventually } from "../../support/eventually.ts";
import { metric, startRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "half-closed";
const OTHER = "half-close2";
const LOG = `/v1/log/${VIDEO}`;

const NOTES = /^(?:HTTP\/1\.1 102 Processing\r\n\r\n)*/;

/** `status`: a pattern. */
type Asked = [what: string, target: string, status: number | string, body?: object];

/** Everything that is answered to a request behind which the client closes its writing side. */
async function askHalfClosed(url: string, target: string, body?: object): Promise<string> {
  const { hostname, port } = new URL(url);
  const json = body && JSON.stringify(body);
  const head = [`${json ? "POST" : "GET"} ${target} HTTP/1.1`, "Host: a"];
  if (json) head.push("Content-Type: application/json", `Content-Length: ${json.length}`);
  const socket = connect(Number(port), hostname);
  socket.end(`${head.join("\r\n")}\r\n\r\n${json ?? ""}`);
  return await text(socket);
}

describe("a client that has closed its writing side", () => {
  it("gets every answer that ends by itself", async (t) => {
    await using relay = await startRelay({
      settings: { RELAY_LONG_POLL_MS: "1000", RELAY_LOG_SSE_MS: "200" },
    });
    for (const id of [VIDEO, OTHER]) relay.upstream.chat(id, { kinds: ["text"] }).say(3);
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.untilMessages(3);
    const rows: Asked[] = [
      ["alive", "/healthz", 200],
      ["ready", "/readyz", "(?:200|503)"], // a busy machine is late, which makes it unready
      ["metrics", "/metrics", 200],
      ["the rooms", "/v1/rooms", 200],
      ["a room", `/v1/rooms/${VIDEO}`, 200],
      ["the history", `/v1/messages?videoId=${VIDEO}`, 200],
      ["a download", `/v1/messages?videoId=${VIDEO}&limit=all&format=csv`, 200],
      ["a page of a log", `${LOG}?offset=-1`, 200],
      ["a long poll at its place", `${LOG}?offset=-1&live=long-poll`, 200],
      ["a long poll that waits", `${LOG}?offset=now&live=long-poll`, 204],
      ["a stream up to now", `/v1/stream?videoId=${VIDEO}&backfill=3&until=now`, 200],
      ["several up to now", `/v1/merged?videoIds=${VIDEO}&backfill=3&until=now`, 200],
      ["a session", "/v1/sessions", 200, { videoId: OTHER }],
      ["a probe", "/v1/probe", 200, { videoId: OTHER }],
    ];
    for (const [what, target, status, body] of rows) {
      const answer = await askHalfClosed(relay.url, target, body);
      t.diagnostic(`${what}: ${answer.length} bytes`);
      assert.match(answer, new RegExp(`${NOTES.source}HTTP/1\\.1 ${status} `), what);
      const [head = "", rest = ""] = answer.replace(NOTES, "").split("\r\n\r\n", 2);
      if (/transfer-encoding: chunked/i.test(head)) assert.match(answer, /\r\n0\r\n\r\n$/, what);
      const length = /content-length: (\d+)/i.exec(head)?.[1];
      if (length) assert.equal(Buffer.byteLength(rest), Number(length), what);
    }
    await eventually(1, () => metric(relay, "relay_viewers"));
  });

  for (const [what, live] of Object.entries({ "events of a log": "sse", "a long poll": "long-poll" })) {
    it(`is noticed within seconds if it leaves ${what} of a silent chat`, async () => {
      await using relay = await startRelay();
      relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
      await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
      await viewer.untilMessages(3);
      const { hostname, port } = new URL(relay.url);
      const viewers = () => metric(relay, "relay_viewers");
      const sockets = Array.from({ length: 5 }, () => {
        const socket = connect(Number(port), hostname).resume();
        socket.write(`GET ${LOG}?offset=now&live=${live} HTTP/1.1\r\nHost: a\r\n\r\n`);
        return socket;
      });
      await eventually(6, viewers);
      const gone = performance.now();
      for (const socket of sockets) socket.destroy();
      await eventually(1, viewers);
      assert.ok(performance.now() - gone < 10_000, `${performance.now() - gone} ms`);
    });
  }

  it("harms nobody if its connection is reset before the answer of its long poll", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
    chat.say(3);
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.untilMessages(3);
    const { hostname, port } = new URL(relay.url);
    const socket = connect(Number(port), hostname).resume();
    socket.write(`GET ${LOG}?offset=now&live=long-poll HTTP/1.1\r\nHost: a\r\n\r\n`);
    await eventually(2, () => metric(relay, "relay_viewers"));
    socket.end();
    await fetch(`${relay.url}/healthz`); // by its answer, the end has been read
    socket.resetAndDestroy();
    chat.say(1);
    await viewer.untilMessages(4);
    await eventually(1, () => metric(relay, "relay_viewers"));
  });

  it("gets a note that a late answer is being made, and then the answer", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(OTHER, { kinds: ["text"] }).say(3);
    relay.upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 1500 } });
    const asked = askHalfClosed(relay.url, "/v1/sessions", { videoId: OTHER });
    assert.match(await asked, /^(HTTP\/1\.1 102 Processing\r\n\r\n)+HTTP\/1\.1 200 /);
  });

  it("loses its stream of a chat or of a log's events", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
    for (const path of [`/v1/stream?videoId=${VIDEO}`, `${LOG}?offset=-1&live=sse`])
      await askHalfClosed(relay.url, path);
    await eventually(0, async () => (await metric(relay, "relay_viewers")) ?? 0);
  });
});
