/** The simulator plays captures: with their tokens, in their rhythm, from each form of file. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { FakeClock } from "../../support/fake-clock.ts";
import { firstToken, idsOf, poll, readAll, startFor } from "../../support/simulator-reader.ts";
import { temporaryFolder } from "../../support/store-subject.ts";

const VIDEO = "simulated07";
const REPLAY = { endpoint: "get_live_chat_replay" } as const;

/** A folder of its own with these files in it. */
async function folderWith(t: TestContext, files: Record<string, string>): Promise<string> {
  const folder = await temporaryFolder(t);
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
const replay = { liveChatReplayContinuationData: { continuation: "placeholder" } };
const timed = { timedContinuationData: { timeoutMs: 8000, continuation: "placeholder" } };

test("captured answers come one by one, each with a token of its own, the final one last", async (t) => {
  const upstream = await startFor(t);
  const folder = await folderWith(t, {
    "a-end.json": answer({ playerSeekContinuationData: { continuation: "placeholder" } }),
    "b.json": answer(replay, said("one", 0), said("two", 0)),
    "c.json": answer(replay, said("two", 0), said("three", 0)),
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

test("a live capture plays in its own rhythm, or a given factor faster", async (t) => {
  const clock = new FakeClock();
  const upstream = await startFor(t, { clock });
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

test("yt-dlp's file of a replay is read page by page, and that of a live chat as live", async (t) => {
  const upstream = await startFor(t);
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

test("a capture may have more lines than a call may have arguments", async (t) => {
  const LINES = 130_000;
  const upstream = await startFor(t);
  const first = '{"someAction":{}}\n'.repeat(LINES - 1);
  const folder = await folderWith(t, {
    "long.live_chat.json": `${first}${JSON.stringify(said("the last", 0))}\n`,
  });
  const chat = await upstream.play(VIDEO, join(folder, "long.live_chat.json"), { as: "replay" });
  assert.equal(chat.ledger.length, LINES);
  assert.equal(chat.ledger.at(-1)?.id, "the last");
});

test("lines end only at line feeds, and one document may take several lines", async (t) => {
  const upstream = await startFor(t);
  const folder = await folderWith(t, {
    "1.json": `${JSON.stringify(said("one\u2028\u2029", 0))}\r\n\n${JSON.stringify(said("two", 0))}`,
    "2.json": JSON.stringify([said("three", 0), said("four", 0)], null, 2),
  });
  const chat = await upstream.play(VIDEO, folder, { as: "replay" });
  assert.deepEqual(
    chat.ledger.map(({ id }) => id),
    ["one\u2028\u2029", "two", "three", "four"],
  );
});

test("a live capture can be played as a replay, and a replay as live", async (t) => {
  const upstream = await startFor(t);
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
  const upstream = await startFor(t);
  const folder = await folderWith(t, { "sw.json": '{"error":{"code":400}}', "notes.txt": "x" });
  await assert.rejects(upstream.play(VIDEO, folder), /nothing of a chat/);
});
