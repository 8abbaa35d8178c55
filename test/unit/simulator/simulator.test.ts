/**
 * What the simulated upstream promises that no test of the relay would miss: what it holds for a late reader,
 * which tokens and calls it refuses, what its pages hold in the clear, and what it remembers of its requests.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type InProcessSimulator,
  realisticHold,
  type Simulator,
  simulateInProcess,
} from "../../../simulator/index.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import {
  chatIn,
  firstToken,
  idsOf,
  initialData,
  type Json,
  poll,
  startFor,
  tokenIn,
} from "../../support/simulator-reader.ts";

const VIDEO = "simulated01";
const CHAT_PATH = "/youtubei/v1/live_chat/get_live_chat";

test("messages older than the upstream's window are lost to a late reader", async (t) => {
  const clock = new FakeClock();
  const upstream = await startFor(t, { clock });
  const chat = upstream.chat(VIDEO, { ...realisticHold, page: 0, kinds: ["text"] });
  const [byAge, byNumber] = [await firstToken(upstream, VIDEO), await firstToken(upstream, VIDEO)];
  chat.say(2);
  await clock.advance(10_001);
  const late = chat.say(2);
  assert.deepEqual(idsOf((await poll(upstream, byAge)).actions), late);
  const later = chat.say(199);
  assert.deepEqual(idsOf((await poll(upstream, byNumber)).actions), [...late.slice(1), ...later]);
});

test("a long link is shown shortened, and its target is whole", async (t) => {
  const chat = (await startFor(t)).chat(VIDEO, { kinds: ["text"] });
  chat.say(1000);
  const text = JSON.stringify(chat.ledger.map(({ action }) => action));
  const shown = [...text.matchAll(/"text":"(https:[^"]*)\.\.\.","navigationEndpoint":.*?[&]q=([^"]*)"/g)];
  assert.ok(shown.length > 3, `${shown.length} links`);
  for (const [, beginning = "", target = ""] of shown) {
    assert.ok(decodeURIComponent(target).startsWith(beginning), target);
    assert.ok(decodeURIComponent(target).length > beginning.length + 3, target);
  }
});

test("a replay's actions have their offset in the video, and its answers a token to seek with", async (t) => {
  const upstream = await startFor(t);
  const scenario = { kind: "replay", pageSize: 3, spacingMs: 40_000, kinds: ["text"] } as const;
  const chat = upstream.chat(VIDEO, { ...scenario, onlyInAll: () => false });
  const said = chat.say(8);
  const endpoint = "get_live_chat_replay";
  const first = await poll(upstream, await firstToken(upstream, VIDEO), { endpoint });
  const third = first.actions[2]?.replayChatItemAction;
  assert.equal(third?.videoOffsetTimeMsec, "80000");
  const item = third?.actions?.[0]?.addChatItemAction?.item?.liveChatTextMessageRenderer;
  assert.deepEqual(item?.timestampText, { simpleText: "1:20" });
  const seek = first.body.continuationContents?.liveChatContinuation?.continuations?.[1];
  const sought = await poll(upstream, tokenIn(seek), { endpoint, playerOffsetMs: 200_000 });
  assert.deepEqual(idsOf(sought.actions), said.slice(5));
});

for (const [as, after] of [
  ["reset", 200],
  ["lost", 400],
  ["truncated", 400],
] as const) {
  test(`an answer that is ${as} leaves its token ${after === 200 ? "good" : "spent"}`, async (t) => {
    const upstream = await startFor(t);
    upstream.chat(VIDEO).say(20);
    const token = await firstToken(upstream, VIDEO);
    const fault = upstream.fault({ on: "get_live_chat", times: 1, as });
    await assert.rejects(poll(upstream, token));
    assert.equal(fault.fired, 1);
    assert.equal((await poll(upstream, token)).status, after);
  });
}

test("a call without JSON, client or token is refused, and so is a foreign, expired or menu token", async (t) => {
  const upstream = await startFor(t);
  const other = await startFor(t, { seed: 2 });
  const chat = upstream.chat(VIDEO);
  other.chat(VIDEO);
  const expired = await firstToken(upstream, VIDEO);
  const page = chatIn(await initialData(upstream, "watch", VIDEO));
  const { subMenuItems } =
    page.header?.liveChatHeaderRenderer?.viewSelector?.sortFilterSubMenuRenderer ?? assert.fail("no menu");
  const dead = subMenuItems?.map((item) => tokenIn(item.continuation)) ?? [];
  assert.equal(dead.length, 2);
  chat.expireTokens();
  for (const token of [expired, await firstToken(other, VIDEO), ...dead]) {
    assert.equal((await poll(upstream, token)).status, 400, token);
  }
  for (const body of ["", "x", "[]", "{}", '{"continuation":"x"}']) {
    assert.equal((await fetch(upstream.urls.main + CHAT_PATH, { method: "POST", body })).status, 400);
  }
  assert.equal((await poll(upstream, await firstToken(upstream, VIDEO))).status, 200);
});

test("markup in messages does not end the page's script, and reads back unchanged", async (t) => {
  const upstream = await startFor(t);
  const trap = '</script><script>};"\\\n\u2028<!--';
  const runs = [{ text: trap }];
  const action = {
    addChatItemAction: { item: { liveChatTextMessageRenderer: { id: "trap", message: { runs } } } },
  };
  for (const initial of ["plain", "escaped"] as const) {
    upstream.chat(VIDEO, { initialData: initial }).say([action]);
    const html = await (await fetch(`${upstream.urls.main}/live_chat?v=${VIDEO}`)).text();
    assert.ok(!html.includes(trap.slice(0, 17)));
    const page = await initialData(upstream, "popout", VIDEO);
    const data = typeof page === "string" ? JSON.parse(page) : page;
    assert.deepEqual(chatIn(data).actions, [action]);
  }
});

test("next answers in the watch page's form, with a token that works without a key", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO, { onlyInAll: () => false }).say(3);
  const client = { clientName: "WEB", clientVersion: "2.1" };
  const next = (body: object) =>
    fetch(`${upstream.urls.main}/youtubei/v1/next`, { method: "POST", body: JSON.stringify(body) });
  const data = (await (await next({ context: { client }, videoId: VIDEO })).json()) as Json;
  const answer = await poll(upstream, tokenIn(chatIn(data).continuations?.[0]));
  assert.equal(data.currentVideoEndpoint?.watchEndpoint?.videoId, VIDEO);
  assert.deepEqual([answer.status, answer.actions.length], [200, 3]);
  assert.equal((await next({})).status, 400);
});

test("a test can await a number of requests, and the peak of concurrent ones is known for each host", async (t) => {
  const clock = new FakeClock();
  const upstream = await startFor(t, { clock });
  upstream.chat(VIDEO, { tokens: "reusable" });
  const token = await firstToken(upstream, VIDEO);
  upstream.fault({ on: "get_live_chat", times: 3, as: { delayMs: 20 } });
  const three = upstream.requested("get_live_chat", { count: 3 });
  const answers = Promise.all([poll(upstream, token), poll(upstream, token), poll(upstream, token)]);
  assert.equal((await three).length, 3);
  await clock.advance(20);
  await answers;
  assert.equal((await upstream.requested("get_live_chat", { count: 3, since: 0 })).length, 3);
  assert.deepEqual(upstream.peakInFlight, { main: 3, music: 0, mobile: 0 });
});

test("a chat may say one message in years: none of its waits is longer than a timer's", async (t) => {
  const clock = new FakeClock();
  const waits: number[] = [];
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (ms, signal) => {
    waits.push(ms);
    return sleep(ms, signal);
  };
  const upstream = await startFor(t, { clock });
  upstream.chat(VIDEO).speakEndlessly(1e-8, 5);
  assert.notDeepEqual(waits, []);
  assert.ok(Math.max(...waits) < 2 ** 31, `${waits}`);
});

test("a request passed in without a socket is answered as over HTTP, failures included", async (t) => {
  const options = { seed: 3, clock: new FakeClock() };
  const [overHttp, inProcess] = [await startFor(t, options), simulateInProcess(options)];
  const path = `/live_chat?v=${VIDEO}`;
  const never = new AbortController().signal;
  const ask = async (upstream: Simulator, get: () => ReturnType<InProcessSimulator["exchange"]>) => {
    upstream.chat(VIDEO).say(20);
    upstream.fault({ on: "popout", times: 1, as: { status: 503 } });
    upstream.fault({ on: "popout", times: 1, as: "truncated" });
    upstream.fault({ on: "popout", times: 1, as: "reset" });
    const outcomes: string[] = [];
    for (let request = 0; request < 4; request++) {
      try {
        const { status, body } = await get();
        outcomes.push(`${status} ${Buffer.concat(await Array.fromAsync(body))}`);
      } catch {
        outcomes.push("broken");
      }
    }
    return outcomes;
  };
  const direct = await ask(inProcess, () =>
    inProcess.exchange({ method: "GET", url: inProcess.urls.main + path, headers: {} }, never),
  );
  const fetched = await ask(overHttp, async () => {
    const { status, body, headers } = await fetch(overHttp.urls.main + path);
    return { status, header: (name) => headers.get(name) ?? undefined, body: (body ?? []) as never };
  });
  assert.deepEqual(direct, fetched);
  assert.deepEqual(
    direct.map((outcome) => outcome.slice(0, 3)),
    ["503", "bro", "bro", "200"],
  );
});
