/** `FILE.meta.json` beside an export: what the file is of, whatever became of the command. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Chat } from "../../simulator/simulated-chat.ts";
import { VERSION } from "../../src/base/own-files.ts";
import { Command, outcome } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const PLAIN = "plain-video";
const TITLE = "A “night” \u202eof\u0007 songs";

describe("the file beside an export", () => {
  let relay: TestRelay;
  let chat: Chat;
  let facts: object;
  before(async () => {
    relay = await startRelay();
    const channel = relay.upstream.channel("@singer", { title: "The Singer" });
    const options = { title: TITLE, chat: { kinds: ["text"], foundOn: "watch", timeoutMs: 5 } } as const;
    const broadcast = channel.broadcast(VIDEO, options);
    ({ chat } = broadcast);
    chat.say(5);
    const named = { id: channel.channelId, name: "The Singer", handle: "@singer" };
    const began = new Date(Math.floor((broadcast.startedAt ?? 0) / 1000) * 1000).toISOString();
    facts = {
      videoId: VIDEO,
      chatType: "liveChatRenderer",
      title: TITLE,
      channel: named,
      startedAt: began,
      endedAt: null,
    };
    relay.upstream.chat(PLAIN, { kinds: ["text"], timeoutMs: 5 }).say(2);
  });
  after(() => relay[Symbol.asyncDispose]());

  async function filled(count: number, videoId = VIDEO) {
    await using viewer = await Stream.open(relay.url, { videoId, lastEventId: 0 });
    return (await viewer.untilMessages(count)).map(({ cursor }) => cursor);
  }

  async function metaOf(path: string) {
    const text = await readFile(`${path}.meta.json`, "utf8");
    assert.match(text, /^\{[\x20-\x7e“”]*\}\n$/, "one line, without control characters and overrides");
    const { exportedAt, version, ...meta } = JSON.parse(text);
    assert.ok(Math.abs(Date.now() - Date.parse(exportedAt)) < 60_000);
    assert.equal(version, VERSION);
    return meta;
  }

  const exporting = (...args: string[]) => outcome(["export", "--server", relay.url, ...args]);

  it("says what the video is, and which messages the file has, also after an append", async (t) => {
    const folder = await temporaryFolder(t);
    for (const ending of ["jsonl", "csv"]) {
      const cursors = await filled(chat.ledger.length);
      const path = join(folder, `night.${ending}`);
      const since = `--since=${cursors[1]}`;
      assert.equal((await exporting(`https://youtu.be/${VIDEO}`, "--output", path, since)).code, 0);
      const firstCursor = cursors[2];
      const some = { messages: cursors.length - 2, firstCursor, lastCursor: cursors.at(-1) };
      assert.deepEqual(await metaOf(path), { ...facts, ...some });
      chat.say(2);
      const more = await filled(chat.ledger.length);
      const all = { messages: cursors.length, firstCursor, lastCursor: more.at(-1) };
      for (const what of ["two were new", "nothing was new"]) {
        assert.equal((await exporting(VIDEO, "--output", path, "--append")).code, 0);
        assert.deepEqual(await metaOf(path), { ...facts, ...all }, what);
      }
    }
  });

  it("is there for a part of the chat, and when a followed chat is left", async (t) => {
    const cursors = await filled(chat.ledger.length);
    const folder = await temporaryFolder(t);
    const path = join(folder, "words.txt");
    const none = ["--text", "says nobody at all"];
    assert.equal((await exporting(VIDEO, "--output", path, "--format", "txt", ...none)).code, 0);
    const empty = { messages: 0, firstCursor: null, lastCursor: null };
    assert.deepEqual(await metaOf(path), { ...facts, ...empty });
    const followed = join(folder, "followed.jsonl");
    const command = new Command(["export", VIDEO, "--server", relay.url, "--output", followed, "--follow"]);
    await eventually(cursors.length, async () => (await linesOf(followed)).length);
    command.child.kill("SIGINT");
    assert.deepEqual(await command.exited, [130, null]);
    const part = { messages: cursors.length, firstCursor: cursors[0], lastCursor: cursors.at(-1) };
    assert.deepEqual(await metaOf(followed), { ...facts, ...part });
  });

  it("is there for each file of a folder, with null for unknown facts, and not for standard output", async (t) => {
    await filled(2, PLAIN);
    const folder = join(await temporaryFolder(t), "all");
    assert.equal((await exporting("--all", "--output", folder)).code, 0);
    const files = [VIDEO, PLAIN].flatMap((id) => [`${id}.jsonl`, `${id}.jsonl.meta.json`]);
    assert.deepEqual((await readdir(folder)).sort(), ["index.csv", ...files].sort());
    const { title, channel, startedAt, messages } = await metaOf(join(folder, `${PLAIN}.jsonl`));
    assert.deepEqual([title, channel, startedAt, messages], [null, null, null, 2]);
    const { out } = await exporting(PLAIN);
    assert.equal(out.trimEnd().split("\n").length, 2);
  });
});

/** Its lines; none while there is no file. */
async function linesOf(path: string): Promise<string[]> {
  return existsSync(path) ? (await readFile(path, "utf8")).split("\n").slice(0, -1) : [];
}
