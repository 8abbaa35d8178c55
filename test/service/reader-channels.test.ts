/** `watch` and `export --follow` of a channel: one stream after the other, resumed in the right one. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { parse } from "csv-parse/sync";
import {
  AnsweringServer,
  began,
  cuts,
  END,
  frame,
  holds,
  inChannel,
  init,
  message,
  refuses,
  streams,
} from "../support/answering-server.ts";
import { textAction } from "../support/chat-actions.ts";
import { outcome, Run } from "../support/command.ts";
import { startRelay } from "../support/relay.ts";
import { temporaryFile, temporaryFolder } from "../support/store-subject.ts";

const HANDLE = "@somebody";
const [A, B] = ["-video-aaaa", "video-bbbbb"] as const;

const WORDS = { timestamp: "9:05 PM", author: "@ann", amount: "", color: "", parts: [], details: {} };
const said = (videoId: string, from: number, to = from, more: object = {}) =>
  inChannel(videoId, from, to, { ...WORDS, ...more });
const news = (state: string, more: object = {}) =>
  frame("channel", { channel: HANDLE, title: "Some\x1b[31mbody", state, ...more });
const gone = frame("error", { code: "NO_LIVE_CHAT", message: "The channel is gone." });

const callsOf = ({ calls }: AnsweringServer) =>
  calls.map(({ path, lastEventId }) => [decodeURIComponent(path), lastEventId]);

/** Runs a command until it has printed something, and stops it. */
async function until(args: string[], pattern: RegExp): Promise<Run> {
  const command = new Run(args);
  await command.printed(pattern);
  command.signal("SIGINT");
  assert.equal(await command.exited, 130, command.error);
  return command;
}

describe("watch of a channel", () => {
  it("prints one stream after the other, says which, and continues where it stopped", async () => {
    await using relay = await startRelay({ settings: { RELAY_CHANNEL_MS: "100" } });
    const channel = relay.upstream.channel(HANDLE);
    const first = channel.broadcast(A, { chat: { kinds: ["text"], timeoutMs: 5 } });
    first.chat.say([textAction("one", { text: "in the first", author: "@ann" })]);
    const watch = new Run(["watch", `https://www.youtube.com/${HANDLE}/live`, "--server", relay.url]);
    await watch.printed(/: in the first\n/);
    const second = channel.broadcast(B, { chat: { kinds: ["text"], timeoutMs: 5 } });
    second.chat.say([textAction("two", { text: "in the second", author: "@bob" })]);
    first.end();
    await watch.printed(/: in the second\n/);
    watch.signal("SIGINT");
    assert.equal(await watch.exited, 130);
    assert.deepEqual(
      watch.lines.map((line) => line.replace(/^.{8} +/, "")),
      ["@ann: in the first", "@bob: in the second"],
    );
    const told = watch.error.split("\n").filter((line) => / is live: video /.test(line));
    assert.deepEqual(
      told.map((line) => line.slice(-11)),
      [A, B],
    );
    const [, since = ""] = /to resume from here: --since (\S+)\n$/.exec(watch.error) ?? [];
    assert.match(since, new RegExp(`^${B}\\.\\d+$`));
    second.chat.say([textAction("three", { text: "later", author: "@bob" })]);
    const again = await until(
      ["watch", HANDLE, "--server", relay.url, "--since", since, "--json"],
      /"later"/,
    );
    const [message, ...others] = again.lines.map((line) => JSON.parse(line));
    assert.deepEqual(Object.keys(message).slice(0, 3), ["cursor", "videoId", "type"]);
    assert.deepEqual([message.videoId, message.message, others], [B, "later", []]);
  });

  it("reports each change of the channel once, without control characters", async () => {
    await using server = await AnsweringServer.start(
      streams(
        ...[news("waiting"), news("waiting", { reason: "YouTube cannot be reached" })],
        ...[news("upcoming", { videoId: A, startsAt: "2026-11-22T18:00:00.000Z" })],
        ...[news("upcoming", { videoId: A }), began(A, 4), said(A, 5)],
        ...[news("live", { videoId: A }), news("live", { videoId: A }), gone],
      ),
    );
    const { code, out, error } = await outcome(["watch", HANDLE, "--server", server.url]);
    assert.deepEqual([code, out], [1, "9:05 PM   @ann: x\n"]);
    assert.deepEqual(error.trim().split("\n"), [
      "livechat-relay: Some[31mbody has no stream; waiting",
      "livechat-relay: Some[31mbody has no stream; waiting: YouTube cannot be reached",
      `livechat-relay: Some[31mbody has scheduled a stream at 2026-11-22 18:00 UTC: video ${A}`,
      `livechat-relay: Some[31mbody has scheduled a stream: video ${A}`,
      `livechat-relay: Some[31mbody is live: video ${A}`,
      `livechat-relay: to resume from here: --since=${A}.5`,
      "livechat-relay: NO_LIVE_CHAT: The channel is gone.",
    ]);
  });

  it("--post names each message's video, and continues after its cursor file", async (t) => {
    const before = process.cwd();
    t.after(() => process.chdir(before));
    process.chdir(await temporaryFolder(t)); // where the cursor file is looked for
    await using hook = await AnsweringServer.start(refuses(200, ""));
    await using server = await AnsweringServer.start(
      streams(news("live", { videoId: A }), began(A, 4), said(A, 5), began(B, 7), said(B, 8), gone),
      streams(began(B, 8), said(B, 9), gone),
    );
    for (const [channel, file] of [
      ["youtube.com/@Somebody", `${HANDLE}.cursor`],
      ["c/Somebody", "c-Somebody.cursor"],
    ] as const) {
      server.calls.length = hook.calls.length = 0;
      const args = ["watch", channel, "--server", server.url, "--post", hook.url];
      assert.equal((await outcome(args)).code, 1);
      assert.equal(await readFile(file, "utf8"), `${B}.8\n`);
      assert.equal((await outcome(args)).code, 1);
      assert.equal(await readFile(file, "utf8"), `${B}.9\n`);
      assert.deepEqual(
        callsOf(server).map(([, id]) => id),
        [undefined, `${B}.8`],
      );
      assert.deepEqual(
        hook.calls.map(({ headers, body }) => [headers["webhook-id"], body.videoId]),
        [
          [`${A}:5`, A],
          [`${B}:8`, B],
          [`${B}:9`, B],
        ],
      );
      await writeFile(file, "5\n"); // a video's
      const { code, error } = await outcome(args);
      assert.equal(code, 1);
      assert.match(error, /contains no cursor of/);
    }
  });
});

describe("export --follow of a channel", () => {
  for (const [format, rest] of [
    ["jsonl", `{"cursor":9,"videoId":"${B}","ty`],
    ["csv", `9,${B},chat,"half`],
  ] as const) {
    it(`writes each message with its video, and continues a file of ${format} with --append`, async (t) => {
      const path = `${await temporaryFile(t)}.${format}`;
      await using server = await AnsweringServer.start(
        streams(began(A, 4), said(A, 5, 6, { message: 'a "quoted"\nline' }), gone),
        holds(6, `said ${A}.6`),
        streams(began(A, 6), began(B, 7), said(B, 8), gone),
        holds(8, `said ${B}.8`),
        streams(began(B, 8), said(B, 9), gone),
      );
      const args = ["export", HANDLE, "--server", server.url, "--output", path, "--follow", "--append"];
      const begun = await outcome([...args, ...(format === "csv" ? ["--bom"] : [])]);
      assert.match(begun.error, new RegExp(`: the file has everything from cursor ${A}.5 to ${A}.6\n`));
      const followed = new RegExp(
        `: the file has the streams as they were followed, from cursor ${A}.6 to ${B}.8\n`,
      );
      assert.match((await outcome(args)).error, followed);
      await writeFile(path, rest, { flag: "a" });
      await outcome(args);
      const stream = `/v1/stream?channel=${HANDLE}&backfill=500&details=true`;
      assert.deepEqual(callsOf(server), [
        [stream, undefined],
        [`/v1/messages?videoId=${A}&after=5&limit=1`, undefined],
        [stream, `${A}.6`],
        [`/v1/messages?videoId=${B}&after=7&limit=1`, undefined],
        [stream, `${B}.8`],
      ]);
      const text = await readFile(path, "utf8");
      const rows: { cursor: number | string; videoId: string; message: string }[] =
        format === "csv"
          ? parse(text, { columns: true, bom: true })
          : text
              .trim()
              .split("\n")
              .map((line) => JSON.parse(line));
      assert.deepEqual(
        rows.map(({ cursor, videoId }) => `${videoId}.${cursor}`.replace(/^'/, "")),
        [`${A}.5`, `${A}.6`, `${B}.8`, `${B}.9`],
      );
      assert.equal(rows[1]?.message, 'a "quoted"\nline');
    });

    it(`continues no file of a video (${format}), and an export of a video none of a channel`, async (t) => {
      await using server = await AnsweringServer.start(
        streams(began(A, 4), said(A, 5), gone),
        streams(init(0), message(1, WORDS), END),
      );
      const paths = [`${await temporaryFile(t)}.${format}`, `${await temporaryFile(t)}.${format}`];
      const export_ = (name: string, path = "") =>
        outcome(["export", name, "--server", server.url, "--output", path, "--follow", "--append"]);
      await export_(HANDLE, paths[0]);
      await export_("dQw4w9WgXcQ", paths[1]);
      for (const [name, path] of [
        ["dQw4w9WgXcQ", paths[0]],
        [HANDLE, paths[1]],
      ] as const) {
        const { code, error } = await export_(name, path);
        assert.equal(code, 2, error);
        assert.match(error, /is not an export in this format/);
      }
    });
  }

  it("reconnects by the id of its last message", async () => {
    await using server = await AnsweringServer.start(
      cuts("retry: 10\n\n", began(A, 4), said(A, 5)),
      streams(began(A, 5), said(A, 6), gone),
    );
    const { out } = await outcome(["export", HANDLE, "--server", server.url, "--follow", "--format", "txt"]);
    assert.equal(out, "9:05 PM   @ann: x\n".repeat(2));
    assert.deepEqual(
      callsOf(server).map(([, id]) => id),
      [undefined, `${A}.5`],
    );
  });
});

describe("a channel", () => {
  for (const [what, args, words] of [
    ["is refused without --follow", ["export", HANDLE], /a channel has no end: add --follow/],
    [
      "has no whole number to continue after",
      ["watch", HANDLE, "--since", "5"],
      /--since: a channel continues/,
    ],
    [
      "has no whole number to export after",
      ["export", HANDLE, "--follow", "--since", "5"],
      /--since: a channel continues/,
    ],
    ["has the places of no video", ["watch", B, `--since=${A}.5`], /--since: .* is a place in a channel/],
    [
      "has no other places",
      ["watch", HANDLE, "--since", "5.5"],
      /--since.*a whole number, or <video id>\.<cursor>/,
    ],
  ] as const)
    it(what, async () => {
      const { code, error } = await outcome(args);
      assert.equal(code, 2);
      assert.match(error, words);
    });
});
