/**
 * `export`: complete up to its moment, or not there at all; files that are gone on with; pipes that are left.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parse } from "csv-parse/sync";
import type { Chat } from "../../simulator/simulated-chat.ts";
import type { Part } from "../../src/protocol/message.ts";
import { CHAT_TABLE } from "../../src/serving/history/csv.ts";
import {
  type Answer,
  AnsweringServer,
  cuts,
  END,
  frame,
  holds,
  id,
  init,
  message,
  messages,
  refuses,
  streams,
} from "../support/answering-server.ts";
import { Command, outcome, outcomeInShell, Run } from "../support/command.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { temporaryFile } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const REPLAY = "-replay-id_";

const records = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const withWholeLinks = (parts: readonly Part[]) =>
  parts.map((part) => (part.kind === "link" ? part.url : part.text)).join("");

/** The end of the stored messages. */
const NOW = 'event: end\ndata: {"reason":"until"}\n\n';

describe("export from a running service", () => {
  let relay: TestRelay;
  let chat: Chat;
  before(async () => {
    relay = await startRelay();
    chat = relay.upstream.chat(VIDEO, { timeoutMs: 20 });
    chat.say(600);
    relay.upstream.chat(REPLAY, { kind: "replay", kinds: ["text"] }).say(120);
  });
  after(() => relay[Symbol.asyncDispose]());

  it("writes all stored messages up to its moment, though the chat goes on", async () => {
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO, lastEventId: 0, details: true });
    const [first] = await viewer.untilMessages(1);
    chat.say(300);
    await viewer.until(() => viewer.ids.includes(chat.ledger.at(-1)?.id ?? ""), "the newest message");
    const speaking = chat.speak(50);
    const { code, out, error } = await outcome(["export", VIDEO, "--server", relay.url]);
    speaking.stop();
    assert.equal(code, 0, error);
    const exported = records(out);
    assert.equal(exported[0].cursor, first?.cursor);
    const received = viewer.messages.map(({ cursor, message }) => ({ cursor, ...message }));
    assert.deepEqual(exported.slice(0, received.length), received.slice(0, exported.length));
    assert.ok(exported.length >= 300);
    assert.match(
      error,
      new RegExp(`^livechat-relay: ${exported.length} messages, up to cursor ${exported.at(-1).cursor}\n$`),
    );
  });

  it("follows a replay to its end, as CSV by the file's ending, even if the id has a dash first", async (t) => {
    const path = `${await temporaryFile(t)}.csv`;
    const args = ["export", REPLAY, "--server", relay.url, "--output", path];
    const refused = await outcome(args);
    assert.equal(refused.code, 1);
    assert.match(refused.error, /^livechat-relay: NOT_STORED: [^\n]*\n$/);
    const { code, error } = await outcome([...args, "--follow"]);
    assert.equal(code, 0, error);
    const rows: Record<string, string>[] = parse(await readFile(path, "utf8"), { columns: true });
    assert.equal(rows.length, 120);
    await using viewer = await Stream.open(relay.url, { videoId: REPLAY, lastEventId: 0 });
    await viewer.ended();
    assert.deepEqual(
      rows.map(({ id }) => id),
      viewer.ids,
    );
    assert.deepEqual(
      rows.map(({ message }) => message?.replace(/^'/, "")),
      viewer.messages.map(({ message }) => withWholeLinks(message.parts)),
    );
  });

  it("names the chat that is not stored", async () => {
    const { code, error } = await outcome(["export", VIDEO, "--server", relay.url, "--chat", "replay"]);
    const what = `nothing is stored of the replay chat of ${VIDEO}; leave out --chat to export the other`;
    assert.deepEqual([code, error], [1, `livechat-relay: NOT_STORED: ${what}\n`]);
  });

  it("says with the names of its flags what the service refuses", async () => {
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO, lastEventId: 0 });
    await viewer.untilMessages(1); // which are stored
    const { code, error } = await outcome(["export", VIDEO, "--server", relay.url, "--said-from", "12:30"]);
    assert.equal(code, 1);
    assert.match(
      error,
      /: INVALID_REQUEST: --said-from: only a replay has .* give a date, or --chat replay\.\n$/,
    );
  });

  it("asks the service only for its types, and shows its progress", async (t) => {
    const path = `${await temporaryFile(t)}.jsonl`;
    const sends = streams(init(0), message(1, { type: "raid" }), message(5, { type: "gap" }), id(8), NOW);
    await using server = await AnsweringServer.start(sends);
    const args = ["export", VIDEO, "--server", server.url, "--output", path, "--types", "notices,poll"];
    const { code, error } = await outcome(args);
    assert.equal(code, 0);
    assert.match(error, /: 2 messages, up to cursor 8\n/);
    const types = "raid,summary,notice,mode,product,poll";
    assert.deepEqual(
      server.calls.map(({ path }) => Object.fromEntries(new URL(path, server.url).searchParams)),
      [{ videoId: VIDEO, details: "true", types, until: "now" }],
    );
    assert.deepEqual(
      records(await readFile(path, "utf8")).map(({ type }) => type),
      ["raid", "gap"],
    );
  });

  it("ends quietly when the reader of its pipe does", async () => {
    const { code, out, error } = await outcomeInShell(
      `relay export ${VIDEO} --server ${relay.url} | head -1`,
    );
    assert.equal(code, 0);
    assert.equal(records(out).length, 1);
    assert.doesNotMatch(error, /\n {4}at |EPIPE/);
  });

  it("prints one line that names the file if the system refuses its name", async () => {
    const path = `/tmp/${"x".repeat(300)}.jsonl`;
    for (const flags of [[], ["--follow"], ["--append"]]) {
      const args = ["export", VIDEO, "--server", relay.url, "--output", path, ...flags];
      const { code, error } = await outcome(args);
      assert.equal(code, 2);
      assert.match(error, /^livechat-relay: \/tmp\/x+\.jsonl cannot be written: ENAMETOOLONG[^\n]*\n$/);
    }
  });

  it("prints one line if the disk is full", async () => {
    const { code, error } = await outcome(["export", VIDEO, "--server", relay.url, "--output", "/dev/full"]);
    assert.equal(code, 1);
    assert.match(
      error,
      /^livechat-relay: \/dev\/full cannot be written: its disk is full: free space on it \(ENOSPC\)\n$/,
    );
  });
});

describe("the file of an export", () => {
  it("appears whole or not at all", async (t) => {
    const path = `${await temporaryFile(t)}.jsonl`;
    await using server = await AnsweringServer.start(streams(init(0), messages(1, 2)));
    const cut = new Run(["export", VIDEO, "--server", server.url, "--output", path]);
    await server.changes.until(() => server.calls.length === 1, "the call");
    for (const copy of ["SIGTERM", "SIGTERM"] as const) cut.signal(copy); // as npm forwards its own
    assert.equal(await cut.exited, 143);
    assert.deepEqual(await readdir(dirname(path)), []);
  });

  it("is not overwritten without --force", async (t) => {
    const path = `${await temporaryFile(t)}.jsonl`;
    await using server = await AnsweringServer.start(streams(init(0), messages(1, 9), NOW));
    await writeFile(path, "mine");
    const refused = await outcome(["export", VIDEO, "--server", server.url, "--output", path]);
    assert.equal(refused.code, 2);
    assert.match(refused.error, /already exists: .*--force/);
    assert.equal(await readFile(path, "utf8"), "mine");
  });

  it("keeps its permissions and the link that leads to it with --force", async (t) => {
    const path = `${await temporaryFile(t)}.jsonl`;
    await using server = await AnsweringServer.start(streams(init(0), messages(1, 9), NOW));
    await writeFile(path, "mine", { mode: 0o600 });
    const link = join(dirname(path), "link.jsonl");
    await symlink(path, link);
    const args = ["export", VIDEO, "--server", server.url, "--output", link, "--force"];
    assert.equal((await outcome(args)).code, 0);
    assert.equal(records(await readFile(path, "utf8")).length, 9);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.equal(await readlink(link), path);
    assert.equal((await readdir(dirname(path))).length, 3); // with what the link's file is of
  });

  for (const [format, rest] of [
    ["jsonl", '{"cursor":3,"ty'],
    ["csv", '3,chat,3,,,,"half'],
  ] as const) {
    it(`is continued after its last whole ${format} record`, async (t) => {
      const path = `${await temporaryFile(t)}.${format}`;
      const odd = message(2, {
        message: 'a "quoted"\nline',
        timestamp: "",
        author: "",
        amount: "",
        color: "",
      });
      await using server = await AnsweringServer.start(
        streams(init(0), message(1, { author: "@a" }), odd, NOW),
        holds(2),
        streams(init(2), messages(3, 4), NOW),
        holds(4),
        streams(init(4), NOW),
      );
      const args = ["export", VIDEO, "--server", server.url, "--output", path, "--append"];
      assert.equal((await outcome(args)).code, 0);
      await writeFile(path, rest, { flag: "a" });
      assert.equal((await outcome(args)).code, 0);
      const { code, error } = await outcome(args);
      assert.equal(code, 0, error);
      assert.deepEqual(
        server.calls.map(({ lastEventId }) => lastEventId),
        ["0", undefined, "2", undefined, "4"],
      );
      const text = await readFile(path, "utf8");
      const rows: { cursor: number | string; message: string }[] =
        format === "csv" ? parse(text, { columns: true }) : records(text);
      assert.deepEqual(
        rows.map(({ cursor }) => Number(cursor)),
        [1, 2, 3, 4],
      );
      assert.equal(rows[1]?.message, 'a "quoted"\nline');
    });
  }

  for (const [what, format, text] of [
    ["a table of something else", "csv", "name,age\r\nann,7\r\n"],
    ["a table that begins its rows with numbers", "csv", "1,bolt\n2,nut"],
    ["a table whose first line has an odd quote", "csv", '5" pipe,3\nelbow,7\ntee,2\n'],
    ["a note without a line break", "csv", "remember the milk"],
    ["a note without a line break", "jsonl", "remember the milk"],
    ["JSON without a line break", "jsonl", '{"users":[]}'],
    ["JSON with a cursor of its own", "jsonl", '{"cursor":5,"users":[]}'],
    ["an export of the other format", "jsonl", CHAT_TABLE.header],
    ["an export of the other format", "csv", '{"cursor":3,"ty'],
  ] as const) {
    it(`is left alone if it is ${what} (${format})`, async (t) => {
      const path = `${await temporaryFile(t)}.${format}`;
      await writeFile(path, text);
      const { code, error } = await outcome(["export", VIDEO, "--output", path, "--append"]);
      assert.equal(code, 2);
      assert.match(error, /is not an export in this format/);
      assert.equal(await readFile(path, "utf8"), text);
    });
  }

  for (const [format, text] of [
    ["jsonl", ""],
    ["jsonl", '{"cur'],
    ["jsonl", '{"cursor":17'],
    ["jsonl", '{"cursor":17,"type":"chat","id":"17","mess'],
    ["csv", ""],
    ["csv", "cursor,ty"],
    ["csv", CHAT_TABLE.header.trimEnd()],
    ["csv", CHAT_TABLE.header],
  ] as const) {
    it(`restarts if it holds ${JSON.stringify(text.slice(0, 50))} of ${format}`, async (t) => {
      const path = `${await temporaryFile(t)}.${format}`;
      await writeFile(path, text);
      await using server = await AnsweringServer.start(streams(init(0), message(1), NOW));
      const args = ["export", VIDEO, "--server", server.url, "--output", path, "--append"];
      const { code, error } = await outcome(args);
      assert.equal(code, 0, error);
      const lines = (await readFile(path, "utf8")).split("\n");
      assert.equal(lines.length, format === "csv" ? 3 : 2);
      assert.match(lines.at(-2) ?? "", format === "csv" ? /^1,chat,/ : /^\{"cursor":1,/);
    });
  }

  it("has lines for people with --format txt, and cannot be continued then", async () => {
    const words = message(1, { timestamp: "9:05 PM", author: "@a", message: "x\ny", amount: "", color: "" });
    await using server = await AnsweringServer.start(streams(init(0), words, NOW));
    const args = ["export", VIDEO, "--server", server.url, "--format", "txt"];
    assert.equal((await outcome(args)).out, "9:05 PM   @a: x y\n");
    const { code, error } = await outcome([...args, "--output", "/nowhere/a", "--append"]);
    assert.deepEqual([code, error.includes("--format jsonl or csv")], [2, true]);
  });

  it("begins with one byte order mark with --bom", async (t) => {
    const path = `${await temporaryFile(t)}.csv`;
    const plain = { timestamp: "", author: "", amount: "", color: "" };
    await using server = await AnsweringServer.start(
      streams(init(0), NOW),
      streams(init(0), message(1, plain), NOW),
      holds(1),
      streams(init(1), message(2, plain), NOW),
    );
    for (const options of [["--bom"], ["--bom"], []])
      assert.equal(
        (await outcome(["export", VIDEO, "--server", server.url, "--output", path, "--append", ...options]))
          .code,
        0,
      );
    const text = await readFile(path, "utf8");
    assert.deepEqual([text.indexOf(`\ufeff${CHAT_TABLE.header}`), text.lastIndexOf("\ufeff")], [0, 0]);
    const rows: { cursor: string }[] = parse(text, { columns: true, bom: true });
    assert.deepEqual(
      rows.map(({ cursor }) => cursor),
      ["1", "2"],
    );
  });

  it("is continued by one export at a time", async (t) => {
    const path = `${await temporaryFile(t)}.jsonl`;
    await using server = await AnsweringServer.start(streams(init(0)), streams(init(1), message(2), NOW));
    const args = ["export", VIDEO, "--server", server.url, "--output", path, "--append"];
    const first = new Command(args);
    await server.changes.until(() => server.calls.length === 1, "the call");
    const { code, error } = await outcome(args);
    assert.deepEqual([code, error.includes(`${path} is in use by another process`)], [2, true], error);
    first.child.kill("SIGTERM");
    assert.deepEqual(await first.exited, [143, null]);
    assert.equal((await outcome(args)).code, 0);
    assert.deepEqual(
      records(await readFile(path, "utf8")).map(({ cursor }) => cursor),
      [2],
    );
  });

  for (const [mode, format] of [
    ["--follow", "jsonl"],
    ["--append", "csv"],
  ] as const) {
    it(`is not left behind by ${mode} if the chat is refused (${format})`, async (t) => {
      const path = `${await temporaryFile(t)}.${format}`;
      await using server = await AnsweringServer.start(
        refuses(404, { code: "NO_LIVE_CHAT", message: "No live chat found." }),
      );
      const args = ["export", VIDEO, "--server", server.url, "--output", path, "--follow", mode];
      assert.equal((await outcome(args)).code, 1);
      assert.equal(existsSync(path), false);
    });
  }

  it("grows with --follow to the chat's end, across a cut, and marks a gap", async (t) => {
    const path = `${await temporaryFile(t)}.jsonl`;
    await using server = await AnsweringServer.start(
      cuts("retry: 10\n\n", init(0), messages(1, 2)),
      streams(init(7), messages(8, 9), END),
    );
    const args = ["export", VIDEO, "--server", server.url, "--output", path, "--follow", "--types", "chat"];
    const { code, error } = await outcome(args);
    assert.equal(code, 0);
    assert.match(error, /reconnecting\n/);
    assert.match(error, /messages may be missing between cursors 2 and 7\n/);
    assert.deepEqual(
      records(await readFile(path, "utf8")).map(({ cursor }) => cursor),
      [1, 2, 8, 9],
    );
  });

  it("that is left names the stretch behind the last gap, in which nothing is missing", async (t) => {
    const broken = frame("error", { code: "UPSTREAM_ERROR", message: "m" });
    const begun = cuts("retry: 10\n\n", init(0), messages(1, 2));
    const rows: [answers: Answer[], stretch: string | undefined][] = [
      [[streams(init(0), messages(1, 2), broken)], "1 to 2"],
      [[streams(init(0), messages(1, 2), message(3, { type: "gap" }), messages(4, 5), broken)], "3 to 5"],
      [[begun, streams(init(7), messages(8, 9), broken)], "8 to 9"],
      [[begun, streams(init(7), broken)], undefined],
    ];
    for (const [answers, stretch] of rows) {
      const path = `${await temporaryFile(t)}.jsonl`;
      await using server = await AnsweringServer.start(...answers);
      const { error } = await outcome([
        ...["export", VIDEO, "--server", server.url, "--output", path, "--follow"],
      ]);
      assert.equal(/has everything from cursor (\d+ to \d+)\n/.exec(error)?.[1], stretch, error);
    }
  });
});

describe("an export on a terminal", () => {
  it("shows its progress on a terminal if the data goes to a file", async (t) => {
    const path = `${await temporaryFile(t)}.jsonl`;
    const shown = Promise.withResolvers<void>();
    await using server = await AnsweringServer.start(async (response, call) => {
      streams(init(0), message(1, { details: { offsetMs: 3_723_000 } }))(response, call);
      await shown.promise;
      response.write(NOW);
    });
    const args = ["export", VIDEO, "--server", server.url, "--output", path];
    const command = new Run(args, { isTerminal: true });
    await command.printed(/\[2K1 message, \d+ a second, 1:02:03 into the video/);
    shown.resolve();
    assert.equal(await command.exited, 0);
  });
});
