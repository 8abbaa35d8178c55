import assert from "node:assert/strict";
import { test } from "node:test";
import { startSimulator } from "../src/simulator/index.ts";
import { chatIn, firstToken, initialData, poll, startFor } from "./support/simulator-reader.ts";

const VIDEO = "simulated06";

const text = async (url: string): Promise<string> => (await fetch(url)).text();

test("markup in messages does not end the page's script, and reads back as it was said", async (t) => {
  const upstream = await startFor(t);
  const trap = '</script><script>};"\\\n\u2028<!--';
  const runs = [{ text: trap }];
  const action = {
    addChatItemAction: { item: { liveChatTextMessageRenderer: { id: "trap", message: { runs } } } },
  };
  for (const initial of ["plain", "escaped"] as const) {
    upstream.chat(VIDEO, { initialData: initial }).say([action]);
    const html = await text(`${upstream.urls.main}/live_chat?v=${VIDEO}`);
    assert.ok(!html.includes(trap.slice(0, 9) + trap.slice(9, 17)));
    const page = await initialData(upstream, "popout", VIDEO);
    const data = typeof page === "string" ? JSON.parse(page) : page;
    assert.deepEqual(chatIn(data).actions, [action]);
  }
});

test("a call without JSON, client or token is refused, and a body over a mebibyte is not read", async (t) => {
  const upstream = await startFor(t);
  const url = `${upstream.urls.main}/youtubei/v1/live_chat/get_live_chat`;
  for (const body of ["", "x", "[]", "{}", '{"continuation":"x"}']) {
    assert.equal((await fetch(url, { method: "POST", body })).status, 400);
  }
  assert.equal((await fetch(url, { method: "POST", body: "x".repeat(1024 * 1024 + 1) })).status, 413);
});

test("every request is recorded with what it asked and how it ended", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  const finished = upstream.requested("get_live_chat", { videoId: VIDEO, finished: true });
  await poll(upstream, token, { client: "TVHTML5", host: "music" });
  const [record] = await finished;
  assert.ok(record?.finishedAt !== undefined && record.finishedAt >= record.at);
  const { host, kind, method, path, videoId, client, clientVersion, continuation, status } = record;
  assert.deepEqual(
    { host, kind, method, path, videoId, client, clientVersion, continuation, status },
    {
      host: "music",
      kind: "get_live_chat",
      method: "POST",
      path: "/youtubei/v1/live_chat/get_live_chat?prettyPrint=false",
      videoId: VIDEO,
      client: "TVHTML5",
      clientVersion: "2.20260101.00.00",
      continuation: token,
      status: 200,
    },
  );
  assert.deepEqual(
    upstream.requests.map((request) => request.kind),
    ["popout", "get_live_chat"],
  );
  await poll(upstream, token);
  assert.equal(upstream.requests.at(-1)?.videoId, VIDEO, "a spent token still names its video");
});

test("requests to come can be awaited by number, and the peak in flight is known for each host", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO, { tokens: "reusable" });
  const token = await firstToken(upstream, VIDEO);
  upstream.fault({ on: "get_live_chat", times: 3, as: { delayMs: 20 } });
  const three = upstream.requested("get_live_chat", { count: 3 });
  await Promise.all([poll(upstream, token), poll(upstream, token), poll(upstream, token)]);
  assert.equal((await three).length, 3);
  assert.equal((await upstream.requested("get_live_chat", { count: 3, since: 0 })).length, 3);
  assert.deepEqual(upstream.peakInFlight, { main: 3, music: 0, mobile: 0 });
});

test("of very many requests the last are remembered", async (t) => {
  const upstream = await startFor(t, { keepRequests: 5 });
  for (let index = 0; index < 12; index += 1) await text(`${upstream.urls.main}/nowhere?${index}`);
  assert.ok(upstream.requests.length <= 6);
  assert.equal(upstream.requests.at(-1)?.path, "/nowhere?11");
});

test("a port that is taken rejects the start", async (t) => {
  const upstream = await startFor(t);
  const main = Number(new URL(upstream.urls.main).port);
  await assert.rejects(startSimulator({ ports: { mobile: main } }), { code: "EADDRINUSE" });
});
