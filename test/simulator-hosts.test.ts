import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Simulator, type SimulatorOptions, startSimulator } from "../src/simulator/index.ts";
import { chatIn, firstToken, initialData, poll, tokenIn } from "./support/simulator-reader.ts";

const VIDEO = "simulated06";

async function start(t: TestContext, options: SimulatorOptions = {}): Promise<Simulator> {
  const upstream = await startSimulator(options);
  t.after(() => upstream.close());
  return upstream;
}

const text = async (url: string): Promise<string> => (await fetch(url)).text();
/** What `ytcfg` holds after a script has run. */
const configOf = (script: string): Record<string, unknown> =>
  new Function("self", "window", `${script}; return ytcfg.d();`)({}, {});

test("sw.js tells key and version in its configuration, or is a stub that tells nothing", async (t) => {
  const { urls, credentials } = await start(t);
  const config = configOf(await text(`${urls.main}/sw.js`));
  assert.equal(config.INNERTUBE_API_KEY, credentials.apiKey);
  assert.equal(config.INNERTUBE_CLIENT_VERSION, credentials.clientVersion);
  for (const serviceWorker of ["stub", "broken"] as const) {
    const other = await start(t, { serviceWorker });
    assert.doesNotMatch(await text(`${other.urls.main}/sw.js`), /INNERTUBE_API_KEY/);
  }
});

test("sw.js_data has the key and the version in their places behind its guard line", async (t) => {
  const { urls, credentials } = await start(t);
  const body = await text(`${urls.main}/sw.js_data`);
  assert.ok(body.startsWith(")]}'\n"));
  const [device, key] = JSON.parse(body.slice(5))[0][2];
  assert.deepEqual([key, device[16]], [credentials.apiKey, credentials.clientVersion]);
  const broken = await start(t, { serviceWorkerData: "broken" });
  assert.doesNotMatch(await text(`${broken.urls.main}/sw.js_data`), /AIza/);
});

test("pages tell key and version unless told not to", async (t) => {
  for (const pageCredentials of [true, false]) {
    const upstream = await start(t, { pageCredentials });
    upstream.chat(VIDEO);
    for (const path of [`/live_chat?v=${VIDEO}`, `/watch?v=${VIDEO}`]) {
      const page = await text(upstream.urls.main + path);
      assert.equal(page.includes(`"INNERTUBE_API_KEY":"${upstream.credentials.apiKey}"`), pageCredentials);
      assert.ok((page.match(/ytcfg\.set\(/g) ?? []).length >= 4);
    }
  }
});

test("markup in messages does not end the page's script, and reads back as it was said", async (t) => {
  const upstream = await start(t);
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

test("the chat can be on one page alone, and an unknown video is on none", async (t) => {
  const upstream = await start(t);
  upstream.chat(VIDEO, { foundOn: "watch" });
  const bar = async (on: "popout" | "watch", id: string) => {
    const { contents } = await initialData(upstream, on, id);
    return Object.keys(
      (on === "watch" ? contents?.twoColumnWatchNextResults?.conversationBar : contents) ?? {},
    );
  };
  assert.deepEqual(await bar("popout", VIDEO), ["messageRenderer"]);
  assert.deepEqual(await bar("watch", VIDEO), ["liveChatRenderer"]);
  assert.deepEqual(await bar("popout", "unknownunkn"), ["messageRenderer"]);
  assert.deepEqual(await bar("watch", "unknownunkn"), []);
  upstream.chat(VIDEO, { kind: "disabled" });
  assert.deepEqual(await bar("watch", VIDEO), ["conversationBarRenderer"]);
});

test("an upcoming video says so beside a chat that works", async (t) => {
  const upstream = await start(t);
  upstream.chat(VIDEO, { kind: "upcoming" });
  assert.match(await text(`${upstream.urls.main}/watch?v=${VIDEO}`), /"status":"LIVE_STREAM_OFFLINE"/);
  const page = chatIn(await initialData(upstream, "watch", VIDEO));
  assert.equal((await poll(upstream, tokenIn(page.continuations?.[0]))).status, 200);
});

test("every host answers the chat endpoints, and none an unknown path", async (t) => {
  const upstream = await start(t);
  upstream.chat(VIDEO);
  for (const host of ["main", "music", "mobile"] as const) {
    assert.equal((await poll(upstream, await firstToken(upstream, VIDEO), { host })).status, 200);
    const response = await fetch(`${upstream.urls[host]}/nowhere`);
    assert.equal(response.status, 404);
    assert.match(await response.text(), /^<!DOCTYPE html>/);
  }
});

test("a call without JSON, client or token is refused, and a body over a mebibyte is not read", async (t) => {
  const upstream = await start(t);
  const url = `${upstream.urls.main}/youtubei/v1/live_chat/get_live_chat`;
  for (const body of ["", "x", "[]", "{}", '{"continuation":"x"}']) {
    assert.equal((await fetch(url, { method: "POST", body })).status, 400);
  }
  assert.equal((await fetch(url, { method: "POST", body: "x".repeat(1024 * 1024 + 1) })).status, 413);
});

test("every request is recorded with what it asked and how it ended", async (t) => {
  const upstream = await start(t);
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
  const upstream = await start(t);
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
  const upstream = await start(t, { keepRequests: 5 });
  for (let index = 0; index < 12; index += 1) await text(`${upstream.urls.main}/nowhere?${index}`);
  assert.ok(upstream.requests.length <= 6);
  assert.equal(upstream.requests.at(-1)?.path, "/nowhere?11");
});

test("a port that is taken rejects the start", async (t) => {
  const upstream = await start(t);
  const main = Number(new URL(upstream.urls.main).port);
  await assert.rejects(startSimulator({ ports: { mobile: main } }), { code: "EADDRINUSE" });
});
