import assert from "node:assert/strict";
import { test } from "node:test";
import type { Scenario } from "../src/simulator/scenario.ts";
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

const [LIVE, REPLAY] = ["get_live_chat", "get_live_chat_replay"] as const;
/** What one and the same token is answered with, call by call. */
const USES: [what: string, Partial<Scenario>, (typeof LIVE | typeof REPLAY)[], statuses: number[]][] = [
  ["is good once", {}, [LIVE, LIVE], [200, 400]],
  ["can be made reusable", { tokens: "reusable" }, [LIVE, LIVE], [200, 200]],
  ["is refused at the replay endpoint where it is live, and stays good", {}, [REPLAY, LIVE], [400, 200]],
  ["is refused at the live endpoint where it is a replay's", { kind: "replay" }, [LIVE, REPLAY], [400, 200]],
];
for (const [what, scenario, endpoints, statuses] of USES) {
  test(`a token ${what}`, async (t) => {
    const upstream = await startFor(t);
    upstream.chat(VIDEO, scenario);
    const token = await firstToken(upstream, VIDEO);
    const answered: number[] = [];
    for (const endpoint of endpoints) answered.push((await poll(upstream, token, { endpoint })).status);
    assert.deepEqual(answered, statuses);
  });
}

test("of two uses at once one fails, and the answer's own token is good", async (t) => {
  const upstream = await startFor(t);
  upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  upstream.fault({ on: LIVE, times: 1, as: { delayMs: 20 } });
  const both = await Promise.all([poll(upstream, token), poll(upstream, token)]);
  const [good, refused] = both.toSorted((a, b) => a.status - b.status);
  assert.deepEqual(
    [good?.status, refused?.status, refused?.body.error?.status],
    [200, 400, "INVALID_ARGUMENT"],
  );
  assert.equal((await poll(upstream, good?.next ?? "")).status, 200);
});

test("foreign, made-up and expired tokens are refused, a menu's too, which name no video", async (t) => {
  const upstream = await startFor(t);
  const other = await startFor(t, { seed: 2 });
  const chat = upstream.chat(VIDEO);
  upstream.chat("simulated03");
  other.chat(VIDEO);
  const [good, neighbour] = [await firstToken(upstream, VIDEO), await firstToken(upstream, "simulated03")];
  const page = chatIn(await initialData(upstream, "watch", VIDEO));
  const menu =
    page.header?.liveChatHeaderRenderer?.viewSelector?.sortFilterSubMenuRenderer?.subMenuItems ?? [];
  const dead = menu.map((item) => tokenIn(item.continuation));
  assert.deepEqual(dead, ["0ofMyAMSGgAwAYIBCAgEGAAgACgBqAEB", "0ofMyAMSGgAwAYIBCAgBGAAgACgBqAEB"]);
  assert.deepEqual(dead.map(videoIdIn), [undefined, undefined]);
  assert.match(deadToken("replay", "all"), /^op2w0w/);
  chat.expireTokens();
  for (const token of [good, await firstToken(other, VIDEO), `${good.slice(0, -1)}_`, "x", "", ...dead]) {
    assert.equal((await poll(upstream, token)).status, 400, token);
  }
  assert.equal((await poll(upstream, neighbour)).status, 200);
  assert.equal((await poll(upstream, await firstToken(upstream, VIDEO))).status, 200);
});
