import assert from "node:assert/strict";
import { test } from "node:test";
import { deadToken, videoIdIn } from "../src/simulator/tokens.ts";
import { chatIn, firstToken, initialData, poll, startFor, tokenIn } from "./support/simulator-reader.ts";

const VIDEO = "simulated02";

test("a token names its video and its kind, and no two are alike", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO);
  const tokens = new Set<string>();
  for (let page = 0; page < 5; page += 1) tokens.add(await firstToken(upstream, VIDEO));
  assert.equal(tokens.size, 5);
  for (const token of tokens) {
    assert.match(token, /^0ofMyA[\w%-]+$/);
    assert.ok(token.length >= 150, `${token.length} characters`);
    assert.equal(videoIdIn(token), VIDEO);
  }
});

test("a token is good once", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  const { status, next } = await poll(upstream, token);
  assert.equal(status, 200);
  const again = await poll(upstream, token);
  assert.deepEqual([again.status, again.body.error?.status], [400, "INVALID_ARGUMENT"]);
  assert.equal((await poll(upstream, next ?? "")).status, 200);
});

test("of two uses at once one fails", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  const slow = upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 20 } });
  const [first, second] = await Promise.all([poll(upstream, token), poll(upstream, token)]);
  assert.equal(slow.fired, 1);
  assert.deepEqual([first.status, second.status].sort(), [200, 400]);
});

test("a token can be made reusable", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO, { tokens: "reusable" });
  const token = await firstToken(upstream, VIDEO);
  assert.equal((await poll(upstream, token)).status, 200);
  assert.equal((await poll(upstream, token)).status, 200);
});

test("a live token is refused at the replay endpoint, and stays good", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  assert.equal((await poll(upstream, token, { endpoint: "get_live_chat_replay" })).status, 400);
  assert.equal((await poll(upstream, token)).status, 200);
});

test("a replay token is refused at the live endpoint", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO, { kind: "replay" });
  assert.equal((await poll(upstream, await firstToken(upstream, VIDEO))).status, 400);
});

test("foreign and made-up tokens are refused", async (t) => {
  const upstream = await startFor(t);
  const other = await startFor(t, { seed: 2 });
  upstream.chat(VIDEO);
  other.chat(VIDEO);
  const good = await firstToken(upstream, VIDEO);
  for (const token of [await firstToken(other, VIDEO), `${good.slice(0, -1)}_`, "x", ""]) {
    assert.equal((await poll(upstream, token)).status, 400);
  }
});

test("the view menu of a watch page holds short tokens that name no video and are refused", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO);
  const page = chatIn(await initialData(upstream, "watch", VIDEO));
  const menu =
    page.header?.liveChatHeaderRenderer?.viewSelector?.sortFilterSubMenuRenderer?.subMenuItems ?? [];
  const tokens = menu.map((item) => tokenIn(item.continuation));
  assert.deepEqual(tokens, ["0ofMyAMSGgAwAYIBCAgEGAAgACgBqAEB", "0ofMyAMSGgAwAYIBCAgBGAAgACgBqAEB"]);
  for (const token of tokens) {
    assert.equal(videoIdIn(token), undefined);
    assert.equal((await poll(upstream, token)).status, 400);
  }
  assert.match(deadToken("replay", "all"), /^op2w0w/);
});

test("expired tokens are refused, and a fresh page gives good ones", async (t) => {
  const upstream = await startFor(t);
  const chat = upstream.chat(VIDEO);
  upstream.chat("simulated03");
  const [old, neighbour] = [await firstToken(upstream, VIDEO), await firstToken(upstream, "simulated03")];
  chat.expireTokens();
  assert.equal((await poll(upstream, old)).status, 400);
  assert.equal((await poll(upstream, neighbour)).status, 200);
  assert.equal((await poll(upstream, await firstToken(upstream, VIDEO))).status, 200);
});
