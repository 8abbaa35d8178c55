import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type EndShape, realisticHold, type Simulator, startSimulator } from "../src/simulator/index.ts";
import { FakeClock } from "./support/fake-clock.ts";
import {
  chatIn,
  firstToken,
  idsOf,
  initialData,
  type Json,
  poll,
  readAll,
  tokenIn,
} from "./support/simulator-reader.ts";

const VIDEO = "simulated01";
const REFUSED = { status: 400, error: "INVALID_ARGUMENT" };

async function start(t: TestContext, clock?: FakeClock): Promise<Simulator> {
  const upstream = await startSimulator(clock ? { clock } : {});
  t.after(() => upstream.close());
  return upstream;
}

async function refusal(...call: Parameters<typeof poll>): Promise<object> {
  const { status, body } = await poll(...call);
  return { status, error: body.error?.status };
}

test("a live reader is given all that is said, in order, the page's share included", async (t) => {
  const upstream = await start(t);
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
  const upstream = await start(t);
  const chat = upstream.chat(VIDEO, { page: 2, kinds: ["text"] });
  const said = chat.say(5);
  const page = chatIn(await initialData(upstream, "watch", VIDEO));
  assert.equal(page.actions, undefined);
  const { actions } = await poll(upstream, tokenIn(page.continuations?.[0]));
  assert.deepEqual(idsOf(actions), said.slice(3));
});

test("a first answer can repeat what came before its page", async (t) => {
  const upstream = await start(t);
  const said = upstream.chat(VIDEO, { page: 2, overlap: 4, kinds: ["text"] }).say(6);
  const { actions } = await poll(upstream, await firstToken(upstream, VIDEO));
  assert.deepEqual(idsOf(actions), said.slice(2));
});

test("the views of the menu have tokens of their own, and only one shows everything", async (t) => {
  const upstream = await start(t);
  const chat = upstream.chat(VIDEO, {
    page: 50,
    overlap: 50,
    onlyInAll: (action) => "clickTrackingParams" in action,
  });
  chat.say(40);
  const page = chatIn(await initialData(upstream, "popout", VIDEO));
  const [top, all] =
    page.header?.liveChatHeaderRenderer?.viewSelector?.sortFilterSubMenuRenderer?.subMenuItems ?? [];
  const inTop = (await poll(upstream, tokenIn(top?.continuation))).actions;
  assert.deepEqual(inTop, page.actions);
  assert.ok(inTop.length < 40);
  assert.equal((await poll(upstream, tokenIn(all?.continuation))).actions.length, 40);
});

test("the wait and the key of a continuation are the scenario's", async (t) => {
  const upstream = await start(t);
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
  const upstream = await start(t, clock);
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
  const upstream = await start(t, clock);
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
  const upstream = await start(t, clock);
  const chat = upstream.chat(VIDEO);
  const speech = chat.speak(40);
  await clock.advance(5000);
  assert.equal(chat.ledger.length, 200);
  speech.stop();
  await clock.advance(5000);
  assert.equal(chat.ledger.length, 200);
});

for (const replayRenderer of ["liveChatReplayRenderer", "liveChatRenderer"] as const) {
  test(`a replay in a ${replayRenderer} is read page by page to its end`, async (t) => {
    const upstream = await start(t);
    const chat = upstream.chat(VIDEO, {
      kind: "replay",
      pageSize: 4,
      replayRenderer,
      kinds: ["text", "paid"],
    });
    const said = chat.say(10);
    const data = await initialData(upstream, "popout", VIDEO);
    assert.ok(data.contents?.[replayRenderer]);
    assert.equal(chatIn(data).isReplay, true);
    const token = tokenIn(chatIn(data).continuations?.[0]);
    assert.ok(token.startsWith("op2w0w"));
    assert.deepEqual(await readAll(upstream, token, { endpoint: "get_live_chat_replay" }), said);
  });
}

test("a replay's actions carry their place in the video, and its answers a token to seek with", async (t) => {
  const upstream = await start(t);
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

const endings: [EndShape, (chat: Json | undefined) => unknown, unknown][] = [
  [
    "reload-only",
    (chat) => chat?.continuations?.map((one) => Object.keys(one)),
    [["reloadContinuationData"]],
  ],
  [
    "seek-only",
    (chat) => chat?.continuations?.map((one) => Object.keys(one)),
    [["playerSeekContinuationData"]],
  ],
  ["continuations-absent", (chat) => chat && "continuations" in chat, false],
  ["continuations-empty", (chat) => chat?.continuations, []],
  ["no-contents", (chat) => chat, undefined],
];
for (const [shape, seen, expected] of endings) {
  test(`a live chat ends with ${shape}, after what was said and not read`, async (t) => {
    const upstream = await start(t);
    const chat = upstream.chat(VIDEO);
    const token = await firstToken(upstream, VIDEO);
    chat.say(2);
    chat.end(shape);
    const before = await poll(upstream, token);
    assert.equal(before.actions.length, 2);
    for (const attempt of ["first", "repeated"]) {
      const last = await poll(upstream, before.next ?? "");
      assert.equal(last.status, 200, attempt);
      assert.ok(last.body.responseContext);
      assert.deepEqual(last.actions, []);
      assert.deepEqual(seen(last.body.continuationContents?.liveChatContinuation), expected, attempt);
    }
    const { contents } = await initialData(upstream, "popout", VIDEO);
    assert.deepEqual(Object.keys(contents ?? {}), ["messageRenderer"]);
  });
}

test("the last words can come in the last answer", async (t) => {
  const upstream = await start(t);
  const chat = upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  chat.say(2);
  chat.end("continuations-absent", { lastWords: true });
  const { actions, next } = await poll(upstream, token);
  assert.deepEqual([actions.length, next], [2, undefined]);
});

test("whoever reloads after the end is told that there is no chat", async (t) => {
  const upstream = await start(t);
  const chat = upstream.chat(VIDEO);
  const token = await firstToken(upstream, VIDEO);
  chat.end("reload-only");
  const { next } = await poll(upstream, token);
  const { status, body } = await poll(upstream, next ?? "");
  assert.deepEqual([status, Object.keys(body.contents ?? {})], [200, ["messageRenderer"]]);
});

test("only the calls that a scenario names work, and others leave the token good", async (t) => {
  const upstream = await start(t);
  const works = [
    { client: "TVHTML5", endpoint: "get_live_chat_replay" as const },
    { host: "music" as const },
  ];
  upstream.chat(VIDEO, { works });
  const token = await firstToken(upstream, VIDEO);
  assert.deepEqual(await refusal(upstream, token), REFUSED);
  assert.deepEqual(await refusal(upstream, token, { client: "TVHTML5" }), REFUSED);
  const { status, next } = await poll(upstream, token, {
    client: "TVHTML5",
    endpoint: "get_live_chat_replay",
  });
  assert.equal(status, 200);
  assert.equal((await poll(upstream, next ?? "", { host: "music" })).status, 200);
});

test("a chat of which nothing works refuses every call", async (t) => {
  const upstream = await start(t);
  upstream.chat(VIDEO, { works: [] });
  const token = await firstToken(upstream, VIDEO);
  assert.deepEqual(await refusal(upstream, token), REFUSED);
  assert.deepEqual(await refusal(upstream, token, { endpoint: "get_live_chat_replay" }), REFUSED);
});

test("a live chat that becomes a replay refuses its old tokens and replays what was said", async (t) => {
  const upstream = await start(t);
  const chat = upstream.chat(VIDEO, { kinds: ["text"] });
  const said = chat.say(3);
  const old = await firstToken(upstream, VIDEO);
  chat.change({ kind: "replay" });
  const endpoint = "get_live_chat_replay";
  assert.deepEqual(await refusal(upstream, old), REFUSED);
  assert.deepEqual(await refusal(upstream, old, { endpoint }), REFUSED);
  assert.deepEqual(await readAll(upstream, await firstToken(upstream, VIDEO), { endpoint }), said);
});

const refusals = [
  ["private", 403],
  ["unavailable", 404],
  ["members-only", 200],
  ["disabled", 200],
  ["none", 200],
] as const;
for (const [kind, status] of refusals) {
  test(`a chat that turns ${kind} answers ${status} without a chat`, async (t) => {
    const upstream = await start(t);
    const chat = upstream.chat(VIDEO);
    const token = await firstToken(upstream, VIDEO);
    chat.change({ kind });
    const reply = await poll(upstream, token);
    assert.deepEqual([reply.status, reply.next, reply.actions], [status, undefined, []]);
  });
}
