/**
 * `watch` and `probe` as people use them: in a pipe, on a terminal, against a service that lives, dies or is
 * not there.
 */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readFile, symlink, writeFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Chat } from "../../simulator/simulated-chat.ts";
import { FileLock } from "../../src/store/sqlite/file-lock.ts";
import { freePorts } from "../chaos/service.ts";
import {
  AnsweringServer,
  cuts,
  END,
  init,
  message,
  messages,
  refuses,
  streams,
} from "../support/answering-server.ts";
import { deletionOf, linkRun, textAction } from "../support/chat-actions.ts";
import { outcome, outcomeInShell, Run } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { temporaryFile, temporaryFolder } from "../support/store-subject.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "-other-id__";

describe("watch", () => {
  let relay: TestRelay;
  let chat: Chat;
  before(async () => {
    relay = await startRelay();
    chat = relay.upstream.chat(VIDEO, { timeoutMs: 20, kinds: ["text"] });
    chat.say([
      textAction("first", { text: "one\ntwo\x1b[31m", author: "@ann" }),
      textAction("second", { text: "gone soon", author: "@bob" }),
      deletionOf("second"),
    ]);
  });
  after(() => relay[Symbol.asyncDispose]());

  it("prints whole lines without colour into a pipe, and at Ctrl-C the command to continue", async () => {
    const watch = new Run(["watch", VIDEO, "--server", relay.url]);
    await watch.printed(/a message by @bob\n/);
    watch.signal("SIGINT");
    assert.equal(await watch.exited, 130);
    const time = "\\d\\d?:\\d\\d [AP]M +";
    assert.match(
      watch.out,
      new RegExp(
        `^${time}@ann: one two\\[31m\n${time}@bob: gone soon\n${time}\\[deleted\\]: a message by @bob\n$`,
      ),
    );
    const cursor = /^livechat-relay: to resume from here: --since (\d+)\n$/.exec(watch.error)?.[1] ?? "";
    chat.say([textAction("third", { text: "what comes next" })]);
    const speaking = chat.speak(50); // the next write notices that the reader has left the pipe
    const { code, out, error } = await outcomeInShell(
      `relay watch ${VIDEO} --since ${cursor} --json | head -1`,
      {
        env: { RELAY_URL: relay.url },
      },
    );
    assert.deepEqual([code, error.includes("at ")], [0, false], error);
    speaking.stop();
    const next = JSON.parse(out);
    assert.deepEqual([next.cursor, next.message], [Number(cursor) + 1, "what comes next"]);
    const fields = ["cursor", "type", "id", "timestamp", "author", "message", "amount", "color", "parts"];
    assert.deepEqual(Object.keys(next), fields);
  });

  it("prints a shortened link whole", async () => {
    const linked = relay.upstream.chat("link-video1", { timeoutMs: 20 });
    const [shown, whole] = ["https://example.org/a/long/pa...", "https://example.org/a/long/path"];
    linked.say([textAction("linked", { runs: [{ text: "see " }, linkRun(shown, whole)] })]);
    const watch = new Run(["watch", "link-video1", "--server", relay.url]);
    await watch.printed(/@somebody: .*\n/);
    watch.signal("SIGINT");
    await watch.exited;
    assert.match(watch.out, /: see https:\/\/example\.org\/a\/long\/path\n$/);
  });

  for (const [id, pasted] of [
    ["pasted-vid0", "<https://youtu.be/pasted-vid0&t=5>"],
    ["pasted-vid1", "\u202apasted-vid1\u202c"],
    ["pasted-vid2", "pasted-vid2?si=x"],
  ] as const) {
    it(`takes the name of a video as people paste it: ${JSON.stringify(pasted)}`, async () => {
      const named = relay.upstream.chat(id, { timeoutMs: 20, kinds: ["text"] });
      named.say([textAction("older", { text: "one" }), textAction("newer", { text: "two" })]);
      const watch = new Run(["watch", pasted, "--backfill", "1", "--server", relay.url]);
      await watch.printed(/: two\n/);
      watch.signal("SIGINT");
      await watch.exited;
      assert.equal(watch.lines.length, 1, watch.out);
    });
  }

  it("exits with 143 at SIGTERM", async () => {
    const watch = new Run([
      "watch",
      VIDEO,
      "--server",
      relay.url,
      "--json",
      "--details",
      "--types",
      "moderation",
      "--since",
      "0",
    ]);
    const line = await watch.printed(/^(\{.*)\n/);
    watch.signal("SIGTERM");
    assert.equal(await watch.exited, 143);
    assert.deepEqual(JSON.parse(line).details.target, { messageId: "second" });
    assert.equal(watch.lines.length, 1);
  });

  it("prints one line if standard output is full", async () => {
    const { code, error } = await outcomeInShell(`relay watch ${VIDEO} --server ${relay.url} > /dev/full`);
    assert.equal(code, 1);
    assert.match(
      error,
      /^livechat-relay: standard output cannot be written: its disk is full: free space on it \(ENOSPC\)\n$/,
    );
  });

  it("waits for a service that does not run yet, and reconnects to one that restarts", async (t) => {
    const [port = 0] = await freePorts(1);
    const settings = { RELAY_PORT: `${port}`, RELAY_STORE: `sqlite:${await temporaryFile(t)}` };
    const { upstream } = relay;
    const other = upstream.chat(OTHER, { timeoutMs: 20 });
    other.say([textAction("before", { text: "before the restart" })]);
    const watch = new Run(["watch", OTHER, "--server", `http://127.0.0.1:${port}`, "--wait", "--json"]);
    await watch.printed(/ECONNREFUSED\); waiting\n/);
    const started = await startRelay({ upstream, settings });
    await watch.printed(/"message":"before the restart"/);
    await started.service.stop();
    await watch.printed(/; reconnecting\n/);
    await using _again = await startRelay({ upstream, settings });
    await watch.printed(/connected\n[\s\S]*connected\n/);
    other.say([textAction("after", { text: "after the restart" })]);
    await watch.printed(/"message":"after the restart"/);
    watch.signal("SIGINT");
    await watch.exited;
    const cursors = watch.lines.map((line) => JSON.parse(line).cursor);
    assert.deepEqual(
      cursors,
      cursors.map((_, index) => cursors[0] + index),
    );
  });
});

describe("on a terminal", () => {
  it("probe shows its progress, and a table", async () => {
    const row = { label: "WEB", endpoint: "get_live_chat", ok: true, actions: 3, error: null };
    const shown = Promise.withResolvers<void>();
    await using server = await AnsweringServer.start((response) =>
      shown.promise.then(() => response.end(JSON.stringify({ videoId: VIDEO, rows: [row] }))),
    );
    const startedAt = performance.now();
    const probe = new Run(["probe", VIDEO, "--server", server.url], { isTerminal: true });
    const seconds = await probe.printed(/24 attempts, one after another: (\d+) s so far/);
    assert.ok(Number(seconds) <= Math.round((performance.now() - startedAt) / 1000), seconds);
    shown.resolve();
    assert.equal(await probe.exited, 0);
    assert.match(probe.out, /CLIENT +ENDPOINT +OK +ACTIONS +ERROR\nWEB +get_live_chat +yes +3\n/);
  });
});

describe("a refusal of the service", () => {
  const none = { code: "NO_LIVE_CHAT", message: "There is no chat.\x1b[2J" };
  it("ends a command with exit code 1, and its code and message", async () => {
    await using server = await AnsweringServer.start(refuses(404, none));
    const { code, out, error } = await outcome(["export", VIDEO, "--server", server.url]);
    assert.deepEqual([code, out], [1, ""]);
    assert.equal(error, "livechat-relay: NO_LIVE_CHAT: There is no chat.[2J\n");
  });

  for (const command of ["watch", "export", "probe"]) {
    it(`gives exit code 3 if there is no service for ${command}`, async () => {
      const [port] = await freePorts(1);
      const { code, out, error } = await outcome([command, VIDEO], {
        env: { RELAY_URL: `http://127.0.0.1:${port}` },
      });
      assert.deepEqual([code, out], [3, ""]);
      assert.match(
        error,
        new RegExp(
          `^livechat-relay: no service answers at http://127\\.0\\.0\\.1:${port}: .*ECONNREFUSED.*"livechat-relay serve"[^\n]*\n$`,
        ),
      );
    });
  }

  it("is waited out with --wait if the chat has not begun", async () => {
    await using server = await AnsweringServer.start(
      refuses(404, none),
      streams(init(0), messages(1, 2), END),
    );
    const { code, out, error } = await outcome(["watch", VIDEO, "--server", server.url, "--wait", "--json"]);
    assert.equal(code, 0);
    assert.equal(out.trim().split("\n").length, 2);
    assert.match(error, /NO_LIVE_CHAT: There is no chat\.\[2J; waiting\n.*connected\n/);
  });

  it("is not waited out if waiting cannot help", async () => {
    const answer = { code: "INVALID_VIDEO_ID", message: "No." };
    await using server = await AnsweringServer.start(refuses(400, answer));
    const { code } = await outcome(["watch", VIDEO, "--server", server.url, "--wait"]);
    assert.equal(code, 1);
    assert.equal(server.calls.length, 1);
  });

  it("gives exit code 1 if a chat fails, and if no client works", async () => {
    const failed = 'event: error\ndata: {"code":"UPSTREAM_ERROR","message":"It failed."}\n\n';
    const row = { label: "WEB", endpoint: "get_live_chat", ok: false, actions: 0, error: "HTTP 400" };
    await using server = await AnsweringServer.start(
      streams(init(0), messages(1, 1), failed),
      refuses(200, { videoId: VIDEO, rows: [row] }),
    );
    const watch = await outcome(["watch", VIDEO, "--server", server.url, "--json"]);
    assert.equal(watch.code, 1);
    assert.match(watch.error, /UPSTREAM_ERROR: It failed\.\n$/);
    const probe = await outcome(["probe", VIDEO, "--server", server.url, "--json"]);
    assert.equal(probe.code, 1);
    assert.deepEqual(JSON.parse(probe.out), { videoId: VIDEO, rows: [row] });
  });
});

describe("watch --post", () => {
  const KEY = Buffer.from("a key of the test");

  it("ends at once for a URL that can never be called", async (t) => {
    await using server = await AnsweringServer.start(streams(init(0), messages(1, 1), END));
    const file = join(await temporaryFolder(t), "a.cursor");
    for (const [url, why] of [
      ["http://127.0.0.1:9/x", /^livechat-relay: --post: 127\.0\.0\.1:9 cannot be called \(bad port\)/],
      ["http://user:secret@127.0.0.1/x", /--post: must be an http or https URL without user and password/],
    ] as const) {
      const args = ["--server", server.url, "--post", url, "--cursor-file", file];
      const { code, error } = await outcome(["watch", VIDEO, ...args]);
      assert.equal(code, 2);
      assert.match(error, why);
    }
  });

  it("writes its cursor through no link that somebody has put beside the file", async (t) => {
    const folder = await temporaryFolder(t);
    const [file, other] = [join(folder, "a.cursor"), join(folder, "other")];
    await writeFile(other, "important");
    await symlink(other, `${file}.part`);
    await using hook = await AnsweringServer.start(refuses(200, ""));
    await using server = await AnsweringServer.start(streams(init(0), messages(1, 2), END));
    const args = ["--server", server.url, "--post", hook.url, "--cursor-file", file];
    const { code, error } = await outcome(["watch", VIDEO, ...args]);
    assert.equal(code, 0, error);
    assert.deepEqual([await readFile(file, "utf8"), await readFile(other, "utf8")], ["2\n", "important"]);
  });

  it("sends each message in order until it is accepted, signed, and continues from its cursor file", async (t) => {
    const folder = await temporaryFolder(t);
    const before = process.cwd();
    t.after(() => process.chdir(before));
    process.chdir(folder); // where the cursor file is looked for
    await using hook = await AnsweringServer.start(refuses(500, ""), refuses(200, ""));
    await using server = await AnsweringServer.start(
      cuts("retry: 10\n\n", init(0), messages(1, 2)),
      streams(init(2), messages(3, 3), END),
      streams(init(3), messages(4, 4), END),
    );
    const args = ["--server", server.url, "--post", `${hook.url}/hook`];
    const env = { RELAY_POST_SECRET: `whsec_${KEY.toString("base64")}` };
    const first = await outcome(["watch", VIDEO, ...args], { env });
    assert.deepEqual([first.code, first.out], [0, ""], first.error);
    assert.match(first.error, /the webhook answered 500; retrying[\s\S]*the webhook accepts messages again/);
    assert.equal(await readFile(join(folder, `${VIDEO}.cursor`), "utf8"), "3\n");
    const second = await outcome(["watch", `https://youtu.be/${VIDEO}`, ...args], { env });
    assert.equal(second.code, 0); // the same file, and the same form of ids
    assert.deepEqual(
      server.calls.map(({ lastEventId }) => lastEventId),
      [undefined, "2", "3"],
    );
    const sent = hook.calls.map(({ body }) => body.cursor);
    assert.deepEqual(sent, [1, 1, 2, 3, 4]);
    for (const { headers, body } of hook.calls) {
      const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature } = headers;
      assert.equal(id, `${VIDEO}:${body.cursor}`);
      assert.match(headers["user-agent"] ?? "", /^livechat-relay\/\d+\.\d+\.\d+$/);
      const signed = `${id}.${at}.${JSON.stringify(body)}`;
      assert.equal(signature, `v1,${createHmac("sha256", KEY).update(signed).digest("base64")}`);
    }
  });

  it("advances its cursor past types that were not requested, but not past rejected messages", async (t) => {
    const path = await temporaryFile(t);
    t.mock.timers.enable({ apis: ["setInterval"] });
    const kept = () => readFile(path, "utf8").catch(() => "");
    const holds = (cursor: number) =>
      eventually(`${cursor}\n`, () => {
        t.mock.timers.tick(2000);
        return kept();
      });
    const paid = (cursor: number) => message(cursor, { type: "superchat" });
    let stream: ServerResponse | undefined;
    await using hook = await AnsweringServer.start((response) => {
      if (hook.calls.length > 1) response.end();
    }); // the first is not answered
    await using server = await AnsweringServer.start((response, call) => {
      stream = response;
      streams(init(Number(call.lastEventId ?? 100)))(response, call);
    });
    const args = ["watch", VIDEO, "--server", server.url, "--post", hook.url, "--cursor-file", path];
    const start = () => new Run([...args, "--types", "paid"]);
    const stop = async (command: Run) => {
      command.signal("SIGTERM");
      await command.exited;
    };
    const first = start();
    await eventually("100\n", kept); // at once: a stop within the first interval must lose nothing
    stream?.write(messages(101, 150));
    await holds(150);
    stream?.write(paid(151) + messages(152, 160));
    await hook.changes.until(() => hook.calls.length === 1, "the message that is not taken");
    t.mock.timers.tick(60_000); // far longer than it waits between two writes
    await stop(first);
    await holds(150);
    const second = start();
    await server.changes.until(() => server.calls.length === 2, "the second stream");
    stream?.write(paid(151) + messages(152, 160));
    await holds(160);
    await stop(second);
    assert.deepEqual(
      server.calls.map(({ lastEventId }) => lastEventId),
      [undefined, "150"],
    );
    assert.deepEqual(
      hook.calls.map(({ body }) => body.cursor),
      [151, 151],
    );
  });

  it("stops if the receiver wants no more, and refuses a cursor file of something or somebody else", async (t) => {
    await using hook = await AnsweringServer.start(refuses(410, ""));
    await using server = await AnsweringServer.start(streams(init(0), messages(1, 1)));
    const path = await temporaryFile(t);
    const args = ["watch", VIDEO, "--server", server.url, "--post", hook.url, "--cursor-file", path];
    const gone = await outcome(args);
    assert.deepEqual(
      [gone.code, gone.error],
      [1, "livechat-relay: the webhook answered 410: it wants no more messages\n"],
    );
    const { length } = hook.calls;
    const lost = await outcome([...args, "--cursor-file", join(path, "no", "cursor")]);
    assert.equal(lost.code, 1);
    assert.match(lost.error, /\/no\/cursor cannot be written: .*\n$/);
    assert.equal(hook.calls.length, length, "a message was sent whose cursor cannot be kept");
    const unread = await outcome([...args, "--cursor-file", dirname(path)]);
    assert.equal(unread.code, 1);
    assert.match(unread.error, /^livechat-relay: \/\S+ cannot be read: it is a folder: name a file in it /);
    await writeFile(path, "nonsense");
    const refused = await outcome(args);
    assert.equal(refused.code, 1);
    assert.match(refused.error, /contains no cursor/);
    const other = new FileLock(path);
    t.after(() => other.release());
    const second = await outcome(args);
    const advice = "stop that one, or name another file with --cursor-file";
    assert.equal(second.error, `livechat-relay: ${path} is in use by another process: ${advice}\n`);
  });
});
