import assert from "node:assert/strict";
import { test } from "node:test";
import { type EndShape, realisticHold } from "../src/simulator/index.ts";
import { FakeClock } from "./support/fake-clock.ts";
import {
  chatIn,
  firstToken,
  idsOf,
  initialData,
  poll,
  startFor,
  tokenIn,
} from "./support/simulator-reader.ts";

const VIDEO = "simulated01";

test("a live reader is given all that is said, in order, the page's share included", async (t) => {
  const upstream = await startFor(t);
  const chat = upstream.chat(VIDEO, { page: 2 });
  chat.say(5);
  const page = chatIn(await initialData(upstream, "popout", VIDEO));
  assert.equal(page.actions?.length, 2);
  chat.say(3);
  const first = await poll(upstream, tokenIn(page.continuations?.[0]));
  assert.deepEqual(
    first.actions,
    chat.ledger.slice(5).map(({ action }) => action),
  );
  const quiet = await poll(upstream, first.next ?? "");
  assert.equal(quiet.body.continuationContents?.liveChatContinuation?.actions, undefined);
  assert.ok(quiet.next);
});

test("a watch page holds no actions, and its reader is given the page's share with the first answer", async (t) => {
  const upstream = await startFor(t);
  const chat = upstream.chat(VIDEO, { page: 2, kinds: ["text"] });
  const said = chat.say(5);
  const page = chatIn(await initialData(upstream, "watch", VIDEO));
  assert.equal(page.actions, undefined);
  const { actions } = await poll(upstream, tokenIn(page.continuations?.[0]));
  assert.deepEqual(idsOf(actions), said.slice(3));
});

test("the wait and the key of a continuation are the scenario's", async (t) => {
  const upstream = await startFor(t);
  const chat = upstream.chat(VIDEO, { timeoutMs: 50 });
  const first = await poll(upstream, await firstToken(upstream, VIDEO));
  const continuation = (reply: typeof first) =>
    reply.body.continuationContents?.liveChatContinuation?.continuations?.[0];
  assert.equal(continuation(first)?.invalidationContinuationData?.timeoutMs, 50);
  chat.change({ continuation: "timed", timeoutMs: null });
  const second = continuation(await poll(upstream, first.next ?? ""))?.timedContinuationData;
  assert.ok(second && !("timeoutMs" in second));
});

test("what is older than the upstream holds is lost to a late reader", async (t) => {
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

test("a chat that forgets keeps what can still be given", async (t) => {
  const clock = new FakeClock();
  const upstream = await startFor(t, { clock });
  const chat = upstream.chat(VIDEO, { page: 10, holdsMs: 1000, forget: true, kinds: ["text"] });
  const token = await firstToken(upstream, VIDEO);
  for (let second = 0; second < 30; second += 1) {
    chat.say(100);
    await clock.advance(1000);
  }
  const last = chat.say(100);
  assert.ok(chat.ledger.length < 1500, `${chat.ledger.length} kept`);
  assert.deepEqual(idsOf((await poll(upstream, token)).actions).slice(-100), last);
});

test("a chat speaks at its rate until it is stopped", async (t) => {
  const clock = new FakeClock();
  const upstream = await startFor(t, { clock });
  const chat = upstream.chat(VIDEO);
  const speech = chat.speak(40);
  await clock.advance(5000);
  assert.equal(chat.ledger.length, 200);
  speech.stop();
  await clock.advance(5000);
  assert.equal(chat.ledger.length, 200);
});

test("a replay's actions carry their place in the video, and its answers a token to seek with", async (t) => {
  const upstream = await startFor(t);
  const chat = upstream.chat(VIDEO, { kind: "replay", pageSize: 3, spacingMs: 40_000, kinds: ["text"] });
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

test("the last words can come in the last answer", async (t) => {
  const upstream = await startFor(t);
  const chat = upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  chat.say(2);
  chat.end("continuations-absent", { lastWords: true });
  const { actions, next } = await poll(upstream, token);
  assert.deepEqual([actions.length, next], [2, undefined]);
});

test("whoever reloads after the end is told that there is no chat", async (t) => {
  const upstream = await startFor(t);
  const chat = upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  chat.end("reload-only");
  const { next } = await poll(upstream, token);
  const { status, body } = await poll(upstream, next ?? "");
  assert.deepEqual([status, Object.keys(body.contents ?? {})], [200, ["messageRenderer"]]);
});

test("a live chat ends in each form, after what was said and not read, as often as it is asked", async (t) => {
  const forms: Record<EndShape, string | undefined> = {
    "reload-only": '[{"reloadContinuationData',
    "seek-only": '[{"playerSeekContinuationData',
    "continuations-absent": "",
    "continuations-empty": "[]",
    "no-contents": undefined,
  };
  const upstream = await startFor(t);
  for (const [shape, form] of Object.entries(forms) as [EndShape, string | undefined][]) {
    const chat = upstream.chat(`${shape.slice(0, 9)}-1`);
    const token = await firstToken(upstream, chat.videoId);
    chat.say(2);
    chat.end(shape);
    const { actions, next = "" } = await poll(upstream, token);
    assert.equal(actions.length, 2);
    for (const { body } of [await poll(upstream, next), await poll(upstream, next)]) {
      const contents = body.continuationContents?.liveChatContinuation;
      const continuations = contents && (JSON.stringify(contents.continuations) ?? "");
      assert.equal(continuations?.slice(0, form?.length), form, shape);
    }
    const { contents } = await initialData(upstream, "popout", chat.videoId);
    assert.deepEqual(Object.keys(contents ?? {}), ["messageRenderer"]);
  }
});
