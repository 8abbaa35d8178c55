import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Simulator, startSimulator } from "../src/simulator/index.ts";
import { FakeClock } from "./support/fake-clock.ts";
import { noRecordings } from "./support/recorded.ts";
import {
  chatIn,
  firstToken,
  idsOf,
  initialData,
  poll,
  readAll,
  tokenIn,
} from "./support/simulator-reader.ts";

const VIDEO = "simulated07";
const skip = noRecordings;
const REPLAY = { endpoint: "get_live_chat_replay" } as const;
const recorded = (name: string): string =>
  fileURLToPath(new URL(`../../shared/recorded/${name}`, import.meta.url));

async function start(t: TestContext, clock?: FakeClock): Promise<Simulator> {
  const upstream = await startSimulator(clock ? { clock } : {});
  t.after(() => upstream.close());
  return upstream;
}

/** A folder of its own with these files in it. */
async function folderWith(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "recording-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

const said = (id: string, usec: number) => ({
  addChatItemAction: {
    item: { liveChatTextMessageRenderer: { id, timestampUsec: String(usec), message: { runs: [] } } },
  },
});
const answer = (continuation: object, ...actions: object[]) =>
  JSON.stringify({
    continuationContents: { liveChatContinuation: { continuations: [continuation], actions } },
  });
const timed = { timedContinuationData: { timeoutMs: 8000, continuation: "placeholder" } };

test("recorded answers come one by one, each with a token of its own, the ending one last", async (t) => {
  const upstream = await start(t);
  const folder = await folderWith(t, {
    "a-end.json": answer({ playerSeekContinuationData: { continuation: "placeholder" } }),
    "b.json": answer(
      { liveChatReplayContinuationData: { continuation: "placeholder" } },
      said("one", 0),
      said("two", 0),
    ),
    "c.json": answer(
      { liveChatReplayContinuationData: { continuation: "placeholder" } },
      said("two", 0),
      said("three", 0),
    ),
    "README.md": "nothing of a chat",
  });
  const chat = await upstream.play(VIDEO, folder);
  const first = await poll(upstream, await firstToken(upstream, VIDEO), REPLAY);
  assert.deepEqual(idsOf(first.actions), ["one", "two"]);
  assert.notEqual(first.next, "placeholder");
  assert.deepEqual(await readAll(upstream, first.next ?? "", REPLAY), ["two", "three"]);
  assert.deepEqual(
    chat.ledger.map(({ id }) => id),
    ["one", "two", "two", "three"],
  );
});

test("a live recording comes in its own rhythm, or so many times faster", async (t) => {
  const clock = new FakeClock();
  const upstream = await start(t, clock);
  const folder = await folderWith(t, {
    "1.json": answer(timed, said("one", 1_000_000)),
    "2.json": answer(timed, said("two", 5_000_000)),
    "3.json": answer(timed, said("much later", 9_000_000_000_000)),
  });
  await upstream.play(VIDEO, folder, { speed: 2 });
  const first = await poll(upstream, await firstToken(upstream, VIDEO));
  assert.deepEqual(idsOf(first.actions), ["one"]);
  assert.equal(
    first.body.continuationContents?.liveChatContinuation?.continuations?.[0]?.timedContinuationData
      ?.timeoutMs,
    4000,
  );
  await clock.advance(1999);
  const quiet = await poll(upstream, first.next ?? "");
  assert.deepEqual(quiet.actions, []);
  await clock.advance(1);
  const second = await poll(upstream, quiet.next ?? "");
  assert.deepEqual(idsOf(second.actions), ["two"]);
  await clock.advance(5000);
  assert.deepEqual(idsOf((await poll(upstream, second.next ?? "")).actions), ["much later"]);
});

test("yt-dlp's file of a replay is read page by page, and one of a live chat as live", async (t) => {
  const upstream = await start(t);
  const replayed = (id: string, offsetMs: number) => ({
    replayChatItemAction: { actions: [said(id, 0)], videoOffsetTimeMsec: String(offsetMs) },
  });
  const live = (id: string, offsetMs: number) => ({
    replayChatItemAction: { actions: [said(id, 0)] },
    videoOffsetTimeMsec: String(offsetMs),
    isLive: true,
  });
  const lines = (...objects: object[]) => objects.map((object) => `${JSON.stringify(object)}\n`).join("");
  const folder = await folderWith(t, {
    "replay.live_chat.json": lines(
      replayed("one", -5000),
      replayed("two", 61_000),
      replayed("three", 62_000),
    ),
    "live.live_chat.json": lines(live("one", 0), live("two", 100)),
  });
  await upstream.play(VIDEO, join(folder, "replay.live_chat.json"), { pageSize: 2 });
  const first = await poll(upstream, await firstToken(upstream, VIDEO), { ...REPLAY, playerOffsetMs: 0 });
  assert.deepEqual(idsOf(first.actions), ["one", "two"]);
  assert.equal(first.actions[1]?.replayChatItemAction?.videoOffsetTimeMsec, "61000");
  assert.deepEqual(await readAll(upstream, first.next ?? "", REPLAY), ["three"]);
  await upstream.play(VIDEO, join(folder, "live.live_chat.json"), {
    speed: Number.POSITIVE_INFINITY,
    page: 0,
    overlap: 9,
  });
  const { actions } = await poll(upstream, await firstToken(upstream, VIDEO));
  assert.deepEqual(actions, [said("one", 0), said("two", 0)]);
});

test("what was recorded live can be played as a replay, and a replay as live", async (t) => {
  const upstream = await start(t);
  const folder = await folderWith(t, {
    "1.json": answer(timed, said("one", 1_000_000)),
    "2.json": answer(timed, said("two", 5_000_000)),
  });
  await upstream.play(VIDEO, folder, { as: "replay" });
  const { actions } = await poll(upstream, await firstToken(upstream, VIDEO), REPLAY);
  assert.deepEqual(
    actions.map((action) => action.replayChatItemAction?.videoOffsetTimeMsec),
    ["0", "4000"],
  );
});

test("a path without a chat is refused", async (t) => {
  const upstream = await start(t);
  const folder = await folderWith(t, { "sw.json": '{"error":{"code":400}}', "notes.txt": "x" });
  await assert.rejects(upstream.play(VIDEO, folder), /nothing of a chat/);
});

test("the recorded replay pages play with all of their items", { skip }, async (t) => {
  const upstream = await start(t);
  const pages = [0, 1, 2, 3, 4, 5].map((page) => recorded(`replay/overlapping-${page}.json`));
  const chat = await upstream.play(VIDEO, [...pages, recorded("replay/end.json")]);
  const ids = await readAll(upstream, await firstToken(upstream, VIDEO), REPLAY);
  assert.deepEqual([ids.length, new Set(ids).size], [314, 145]);
  assert.deepEqual(
    chat.ledger.map(({ id }) => id),
    ids,
  );
});

test("the recorded live answers play one by one", { skip }, async (t) => {
  const upstream = await start(t);
  const chat = await upstream.play(VIDEO, recorded("live"), { speed: Number.POSITIVE_INFINITY });
  let token = await firstToken(upstream, VIDEO);
  let count = 0;
  for (let file = 0; file < 18; file += 1) {
    const { actions, next } = await poll(upstream, token);
    count += actions.length;
    token = next ?? "";
  }
  assert.equal(count, chat.ledger.length);
  const quiet = await poll(upstream, token);
  assert.deepEqual(quiet.actions, []);
  chat.say(2);
  assert.equal((await poll(upstream, quiet.next ?? "")).actions.length, 2);
});

const recordedPages = [
  ["qT5OTDvJK1Q", "pages/watch-live-2026.html", "watch", "get_live_chat"],
  ["dchqdFOW8EI", "pages/watch-replay-2021.html", "watch", "get_live_chat_replay"],
  ["7kdepDepMjk", "pages/popout-initial-data-2020.json", "popout", "get_live_chat"],
] as const;
for (const [videoId, file, on, endpoint] of recordedPages) {
  test(`the recorded page ${file} is served with its own token, good for what is said`, {
    skip,
  }, async (t) => {
    const upstream = await start(t);
    const chat = await upstream.play(videoId, recorded(file), { kinds: ["text"] });
    const before = chat.ledger.length;
    const ids = chat.say(3);
    const page = chatIn(await initialData(upstream, on, videoId));
    assert.equal(page.actions?.length ?? 0, before);
    const { status, actions } = await poll(upstream, tokenIn(page.continuations?.[0]), { endpoint });
    assert.equal(status, 200);
    assert.deepEqual(idsOf(actions), ids);
    assert.equal(upstream.requests.at(-1)?.videoId, videoId);
  });
}
