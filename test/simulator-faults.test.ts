import assert from "node:assert/strict";
import { test } from "node:test";
import { type Failure, type Simulator, startSimulator } from "../src/simulator/index.ts";
import { firstToken, poll, startFor } from "./support/simulator-reader.ts";

const VIDEO = "simulated04";

function send(upstream: Simulator, token: string, init: RequestInit = {}): Promise<Response> {
  const body = JSON.stringify({
    context: { client: { clientName: "WEB", clientVersion: "2.1" } },
    continuation: token,
  });
  return fetch(`${upstream.urls.main}/youtubei/v1/live_chat/get_live_chat`, {
    method: "POST",
    body,
    ...init,
  });
}

const wrongBodies: [Failure, number, RegExp][] = [
  ["quota", 200, /"code":429.*"RESOURCE_EXHAUSTED"/],
  ["invalid-argument", 200, /"code":400.*"INVALID_ARGUMENT"/],
  ["response-errors", 200, /"errors":\{"error":\[/],
  ["html", 200, /^<!DOCTYPE html>/],
  ["captcha", 200, /unusual traffic.*captcha/],
  ["empty", 200, /^$/],
  ["null", 200, /^null$/],
  ["array", 200, /^\[\]$/],
  ["object", 200, /^\{\}$/],
  ["no-contents", 200, /^\{"responseContext"(?!.*continuationContents)/],
  [{ status: 503 }, 503, /"UNAVAILABLE"/],
  [{ status: 429 }, 429, /"RESOURCE_EXHAUSTED"/],
  [{ status: 500, body: "oops" }, 500, /^oops$/],
  [{ status: 403, body: { error: { code: 403 } } }, 403, /^\{"error":\{"code":403\}\}$/],
];
for (const [as, status, body] of wrongBodies) {
  test(`a fault ${JSON.stringify(as)} answers ${status}, once, and leaves the token good`, async (t) => {
    const upstream = await startFor(t);
    upstream.chat(VIDEO);
    const token = await firstToken(upstream, VIDEO);
    const fault = upstream.fault({ on: "get_live_chat", times: 1, as });
    const response = await send(upstream, token);
    assert.equal(response.status, status);
    assert.match(await response.text(), body);
    assert.equal((await poll(upstream, token)).status, 200);
    assert.equal(fault.fired, 1);
  });
}

test("a status can bring headers, and a page's error is HTML", async (t) => {
  const upstream = await startFor(t);
  upstream.fault({ on: "sw.js", times: 1, as: { status: 429, headers: { "retry-after": "7" } } });
  const response = await fetch(`${upstream.urls.main}/sw.js`);
  assert.deepEqual([response.status, response.headers.get("retry-after")], [429, "7"]);
  assert.match(await response.text(), /^<!DOCTYPE html>/);
});

const broken = [
  ["reset", 200],
  ["lost", 400],
  ["truncated", 400],
] as const;
for (const [as, after] of broken) {
  test(`an answer that is ${as} leaves its token ${after === 200 ? "good" : "spent"}`, async (t) => {
    const upstream = await startFor(t);
    upstream.chat(VIDEO).say(20);
    const token = await firstToken(upstream, VIDEO);
    const fault = upstream.fault({ on: "get_live_chat", times: 1, as });
    await assert.rejects(send(upstream, token).then((response) => response.text()));
    assert.equal(fault.fired, 1);
    assert.equal((await poll(upstream, token)).status, after);
  });
}

test("a silent upstream never answers, and the token stays good", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  upstream.fault({ on: "get_live_chat", times: 1, as: "silent" });
  const arrived = upstream.requested("get_live_chat");
  const gone = new AbortController();
  const answer = send(upstream, token, { signal: gone.signal });
  await arrived;
  const finished = upstream.requested("get_live_chat", { since: 0, finished: true });
  gone.abort();
  await assert.rejects(answer);
  const [record] = await finished;
  assert.equal(record?.status, undefined);
  assert.equal((await poll(upstream, token)).status, 200);
});

test("a slow answer is whole, late or in drops", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO).say(2);
  upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 10 } });
  const late = await poll(upstream, await firstToken(upstream, VIDEO));
  const drops = upstream.fault({ on: "get_live_chat", times: 1, as: { drip: { bytes: 400, everyMs: 1 } } });
  const dripped = await poll(upstream, late.next ?? "");
  assert.deepEqual([late.status, dripped.status, drops.fired], [200, 200, 1]);
  assert.ok(dripped.next);
});

test("a fault meets the requests that it names, so many times, in the order of the faults", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO);
  upstream.chat("simulated05");
  const two = upstream.fault({ on: "get_live_chat", videoId: VIDEO, times: 2, as: { status: 500 } });
  const order = { on: "get_live_chat", videoId: VIDEO, times: Number.POSITIVE_INFINITY } as const;
  const all = upstream.fault({ ...order, as: { status: 503 } });
  const [token, other] = [await firstToken(upstream, VIDEO), await firstToken(upstream, "simulated05")];
  const statuses: number[] = [];
  for (const sent of [token, other, token, token, token]) statuses.push((await poll(upstream, sent)).status);
  assert.deepEqual(statuses, [500, 200, 500, 503, 503]);
  all.cancel();
  assert.equal((await poll(upstream, token)).status, 200);
  assert.deepEqual([two.fired, all.fired], [2, 2]);
});

test("closing breaks off what is in flight", async () => {
  const upstream = await startSimulator();
  upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 60_000 } });
  const arrived = upstream.requested("get_live_chat");
  const answer = send(upstream, token);
  await arrived;
  await Promise.all([assert.rejects(answer), upstream.close()]);
});
