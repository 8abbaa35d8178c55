/** What the simulated upstream shows on its bad days: walls in place of pages, `next`, no key, tokens that bring nothing. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Simulator, startSimulator } from "../src/simulator/index.ts";
import { chatIn, firstToken, type Json, poll, startFor, tokenIn } from "./support/simulator-reader.ts";

const VIDEO = "simulated02";
const PLACES = ["popout", "watch", "next"] as const;
type Place = (typeof PLACES)[number];

async function shown({ urls }: Simulator, on: Place): Promise<string> {
  const body = JSON.stringify({
    context: { client: { clientName: "WEB", clientVersion: "2.1" } },
    videoId: VIDEO,
  });
  const asked: Record<Place, [path: string, init?: RequestInit]> = {
    popout: [`/live_chat?is_popout=1&v=${VIDEO}`],
    watch: [`/watch?v=${VIDEO}`],
    next: ["/youtubei/v1/next", { method: "POST", body }],
  };
  const [path, init] = asked[on];
  return (await fetch(urls.main + path, init)).text();
}

test("next answers in the watch page's form, with a token that works, without any key", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO).say(3);
  const data: Json = JSON.parse(await shown(upstream, "next"));
  const videoId = data.currentVideoEndpoint?.watchEndpoint?.videoId;
  const answer = await poll(upstream, tokenIn(chatIn(data).continuations?.[0]));
  assert.deepEqual([videoId, answer.status, answer.actions.length], [VIDEO, 200, 3]);
  assert.equal(upstream.requests[0]?.videoId, VIDEO);
  const response = await fetch(`${upstream.urls.main}/youtubei/v1/next`, { method: "POST", body: "{}" });
  assert.equal(response.status, 400);
});

for (const [foundOn, places] of [
  ["everywhere", PLACES],
  ["both", ["popout", "watch"]],
  ["watch", ["watch"]],
  ["next", ["next"]],
] as const) {
  test(`a chat that is found on ${foundOn} is shown there alone, and its video is live`, async (t) => {
    const upstream = await startFor(t);
    upstream.chat(VIDEO, { foundOn });
    const answers = await Promise.all(PLACES.map((on) => shown(upstream, on)));
    assert.deepEqual(
      PLACES.filter((_, i) => answers[i]?.includes("liveChatRenderer")),
      places,
    );
    assert.match(answers[1] ?? "", /"isLive":true.*"isLiveNow":true/);
    assert.equal(answers[0]?.includes("Chat is disabled"), foundOn === "watch" || foundOn === "next");
  });
}

const WALLS = [
  ["bot", /LOGIN_REQUIRED.*not a bot/],
  ["offline", /LIVE_STREAM_OFFLINE.*not currently live/],
  ["consent", /action="https:\/\/consent\.youtube\.com\/save"/],
  ["no-data", /^(?!.*ytInitialData)/s],
  ["other-video", /"videoId":"0ther-vide0"/],
] as const;
for (const [wall, watch] of WALLS) {
  test(`the wall "${wall}" stands before the pages of every video, and its chat goes on`, async (t) => {
    const upstream = await startFor(t);
    upstream.chat(VIDEO);
    const token = await firstToken(upstream, VIDEO);
    const fault = upstream.fault({ on: PLACES, times: 3, as: wall });
    const answers = await Promise.all(PLACES.map((on) => shown(upstream, on)));
    assert.equal(fault.fired, 3);
    assert.match(answers[1] ?? "", watch);
    assert.equal((await poll(upstream, token)).status, 200);
    assert.match(await shown(upstream, "watch"), /liveChatRenderer/);
  });
}

test("an empty key is named nowhere, the version still is", async () => {
  await using upstream = await startSimulator();
  upstream.credentials.apiKey = "";
  upstream.chat(VIDEO);
  for (const path of ["/sw.js", "/sw.js_data", `/watch?v=${VIDEO}`]) {
    const text = await (await fetch(upstream.urls.main + path)).text();
    assert.ok(text.includes(upstream.credentials.clientVersion), path);
    assert.doesNotMatch(text, /API_KEY|,""/);
  }
});

test("a mute chat's tokens bring nothing ever, those of a later page everything", async (t) => {
  const upstream = await startFor(t);
  const chat = upstream.chat(VIDEO, { mute: true });
  let token = await firstToken(upstream, VIDEO);
  chat.change({ mute: false });
  const good = await firstToken(upstream, VIDEO);
  chat.say(5);
  for (let i = 0; i < 3; i++) {
    const { status, next, actions } = await poll(upstream, token);
    assert.deepEqual([status, actions], [200, []]);
    token = next ?? assert.fail("it has a successor");
  }
  assert.equal((await poll(upstream, good)).actions.length, 5);
});
