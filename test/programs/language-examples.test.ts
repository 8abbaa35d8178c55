/**
 * The examples in other languages: each follows a chat over a broken connection, a dead line and a kill, and
 * shows why it is refused.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import { Line } from "../chaos/line.ts";
import { freePorts } from "../chaos/service.ts";
import { ask } from "../support/api.ts";
import { paidAction } from "../support/chat-actions.ts";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { without } from "../support/needs.ts";
import { metric, startRelay } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { SECRET } from "../support/tokens.ts";
import { Changes } from "../support/viewers.ts";

const VIDEO = "dQw4w9WgXcQ";
const [A, B] = ["video-aaaaa", "video-bbbbb"];
/** What Python's and other languages' line splitting may cut, and a word in another script. */
const TRAPS = "héllo\u2028wörld\u0085 สวัสดี \u001c";

const PAGE = readFileSync(join(ROOT, "docs/python.md"), "utf8");
const FOLLOW = readFileSync(join(ROOT, "examples/follow.py"), "utf8");
/** The page's function for httpx, in place of the example's own. */
const WITH_HTTPX = `import os, pathlib, sys
${/^```python\n(import httpx.*?)^```$/ms.exec(PAGE)?.[1]}
${FOLLOW.slice(FOLLOW.indexOf("if __name__"))}`;

interface Language {
  /** The example, and the name of its file. */
  source: string;
  file: string;
  /** What starts the file. */
  command: readonly string[];
  /** Makes a program of the file, in place of `command`. */
  build?: readonly string[];
  /** Whether it takes channels, too. */
  channels?: true;
  skip: string | false;
}

const example = (file: string) => ({ file, source: readFileSync(join(ROOT, "examples", file), "utf8") });
const LANGUAGES: Record<string, Language> = {
  python3: { ...example("follow.py"), command: ["python3"], channels: true, skip: without("python3") },
  httpx: {
    source: WITH_HTTPX,
    file: "with-httpx.py",
    command: ["/usr/bin/python3"],
    channels: true,
    skip: without("httpx"),
  },
  sh: { ...example("follow.sh"), command: ["sh"], skip: without("curl") },
  go: { ...example("follow.go"), command: [], build: ["go", "build", "-o"], skip: without("go") },
};

/** The waits of the examples, shortened: between attempts, and for a byte of a connection. */
const SHORTENED: [long: string, short: string][] = [
  ["wait = 3\n", "wait = 0.1\n"],
  ["wait, headers = 3,", "wait, headers = 0.1,"],
  ["sleep 3", "sleep 0.1"],
  ["3 * time.Second", "100 * time.Millisecond"],
  ["timeout=45", "timeout=1"],
  ["--speed-time 45", "--speed-time 1"],
  ["45 * time.Second", "time.Second"],
];

/** Writes the example into the folder, with the waits that `changed` replaces; resolves to what starts it. */
async function written(
  folder: string,
  { source, file, command, build }: Language,
  changed: readonly (readonly [string, string])[],
): Promise<string[]> {
  const path = join(folder, file);
  await writeFile(
    path,
    changed.reduce((text, [long, short]) => text.replace(long, short), source),
  );
  if (!build) return [...command, path];
  const [program = "", ...args] = build;
  const built = join(folder, "follow");
  await promisify(execFile)(program, [...args, built, path]);
  return [built];
}

class Follower implements AsyncDisposable {
  /** The lines of all its lives. */
  readonly lines: string[] = [];
  readonly changes = new Changes();
  readonly #start: () => ReturnType<typeof spawn>;
  #child: ReturnType<typeof spawn>;

  constructor(command: readonly string[], url: string, cwd: string, name = VIDEO) {
    const [program = "", ...args] = command;
    this.#start = () => {
      let text = "";
      const child = spawn(program, [...args, url, name], {
        cwd,
        stdio: ["ignore", "pipe", "ignore"],
        detached: true,
      });
      child.stdout?.setEncoding("utf8").on("data", (chunk) => {
        const lines = `${text}${chunk}`.split("\n");
        text = lines.pop() ?? "";
        this.lines.push(...lines.filter((line) => /^([\w-]{11}\.)?\d+ /.test(line)));
        this.changes.announce();
      });
      return child;
    };
    this.#child = this.#start();
  }

  get cursors(): number[] {
    return this.lines.map((line) => Number.parseInt(line, 10));
  }

  async reached(cursor: number): Promise<void> {
    await this.changes.until(() => (this.cursors.at(-1) ?? 0) >= cursor, `cursor ${cursor}`);
  }

  /** Ends the program alone, not what it has started. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    await once(this.#child, "exit");
  }

  async kill(): Promise<void> {
    const { pid = Number.NaN, exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return;
    process.kill(-pid, "SIGKILL");
    await once(this.#child, "close");
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  restart(): void {
    this.#child = this.#start();
  }
}

describe("the examples in other languages", { concurrency: 6 }, () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "relay-examples-"));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  for (const [language, own] of Object.entries(LANGUAGES)) {
    const { skip } = own;
    let made: Promise<string[]> | undefined;
    const command = () => (made ??= written(folder, own, SHORTENED));

    it(`${language} follows a chat across a cut connection and its own restart`, { skip }, async (t) => {
      await using relay = await startRelay();
      await using line = await Line.to(Number(new URL(relay.url).port));
      const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], tokens: "reusable", timeoutMs: 50 });
      chat.say(3);
      await using follower = new Follower(await command(), line.url, await temporaryFolder(t));
      await follower.changes.until(() => follower.lines.length >= 3, "the first messages");
      const first = follower.cursors[0] ?? Number.NaN;
      line.cut();
      chat.say([textAction(TRAPS)]);
      chat.say(3);
      await follower.reached(first + 6);
      await follower.kill();
      chat.say(3);
      follower.restart();
      await follower.reached(first + 9);
      // One that was killed between a message and its file may repeat that message.
      const cursors = [...new Set(follower.cursors)];
      assert.deepEqual(
        cursors,
        cursors.map((_, index) => first + index),
      );
      assert.ok(follower.cursors.length <= cursors.length + 1);
      assert.match(follower.lines.find((line) => line.includes("héllo")) ?? "", /wörld.*สวัสดี/);
    });

    it(`${language} leaves a line that is dead, not one that is only quiet`, { skip }, async (t) => {
      await using relay = await startRelay({ settings: { RELAY_KEEPALIVE_MS: "200" } });
      await using line = await Line.to(Number(new URL(relay.url).port));
      const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 50 });
      chat.say(3);
      await using follower = new Follower(await command(), line.url, await temporaryFolder(t));
      await follower.changes.until(() => follower.lines.length >= 3, "the first messages");
      const first = follower.cursors[0] ?? Number.NaN;
      const before = line.connections;
      line.silence();
      chat.say(3);
      await eventually(true, () => line.connections > before); // it tries again
      line.speak();
      await follower.reached(first + 5);
    });

    it(`${language} shows why it is refused, and ends`, { skip }, async (t) => {
      await using open = await startRelay();
      await using guarded = await startRelay({ settings: { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET } });
      const cwd = await temporaryFolder(t);
      const [program = "", ...args] = await written(cwd, own, []); // a refusal may take seconds
      for (const [url, name, expected] of [
        [guarded.url, VIDEO, 401],
        [open.url, "jNQXAC9IVRw", 404],
        [open.url, "x", 400],
      ] as const) {
        const { status, body } = await ask<{ message: string }>(url, `/v1/stream?videoId=${name}`);
        assert.equal(status, expected);
        const { code, stderr } = await promisify(execFile)(program, [...args, url, name], {
          cwd,
          timeout: 30_000,
        }).catch((failure) => failure);
        assert.deepEqual([code, stderr.includes(body.message)], [1, true], stderr);
        assert.equal(stderr.trimEnd().split("\n").length, 1, stderr);
      }
    });

    it(`${language} says how to use it`, { skip, timeout: 180_000 }, async (t) => {
      const cwd = await temporaryFolder(t);
      const [program = "", ...args] = await command();
      for (const given of [[], ["127.0.0.1:8080", VIDEO]]) {
        const run = promisify(execFile)(program, [...args, ...given], { cwd, timeout: 60_000 });
        const { code, stderr } = await run.catch((failure) => failure);
        assert.deepEqual([code > 0, stderr.startsWith("usage: ")], [true, true], stderr);
      }
    });

    for (const signal of ["SIGTERM", "SIGKILL"] as const)
      it(`${language} leaves no reader behind after ${signal}`, { skip }, async (t) => {
        await using relay = await startRelay({ settings: { RELAY_KEEPALIVE_MS: "200" } });
        relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 50 }).say(3);
        await using follower = new Follower(await command(), relay.url, await temporaryFolder(t));
        await follower.changes.until(() => follower.lines.length >= 3, "the first messages");
        await follower.end(signal);
        await eventually(0, () => metric(relay, "relay_viewers"));
      });

    if (own.channels)
      it(`${language} follows a channel from one stream to the next, across its own restart`, {
        skip,
      }, async (t) => {
        await using relay = await startRelay({ settings: { RELAY_CHANNEL_MS: "100" } });
        const channel = relay.upstream.channel("@somebody");
        const first = channel.broadcast(A, { chat: { kinds: ["text"], timeoutMs: 5 } });
        first.chat.say([textAction("in the first")]);
        const cwd = await temporaryFolder(t);
        await using follower = new Follower(await command(), relay.url, cwd, "@somebody");
        const reached = (count: number) =>
          follower.changes.until(() => new Set(follower.lines).size === count, `${count} messages`);
        await reached(1);
        const second = channel.broadcast(B, { chat: { kinds: ["text"], timeoutMs: 5 } });
        second.chat.say([textAction("in the second")]);
        first.end();
        await reached(2);
        await follower.kill();
        second.chat.say([textAction("later", "later")]);
        follower.restart();
        await reached(3);
        assert.deepEqual(
          [...new Set(follower.lines)].map((line) => line.replace(/\.\d+ +/, " ")),
          [`${A} in the first`, `${B} in the second`, `${B} later`],
        );
      });
  }
});

describe("examples/follow.py", () => {
  it("counts each message once over kills, with the page's last lines", async (t) => {
    const [, lines = ""] = /^```python\n(state = .*?)^```$/ms.exec(PAGE) ?? [];
    const [before = ""] = FOLLOW.split(/^ {4}last = /m);
    const cwd = await temporaryFolder(t);
    const example = join(cwd, "count.py");
    await writeFile(example, before + lines.replace(/^/gm, "    "));
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5 });
    const file = join(cwd, `${VIDEO}.last-id`);
    const state = () => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {});
    for (const round of [1, 2, 3, 4]) {
      for (let at = 1; at <= 20; at += 1)
        chat.say([textAction("hello", `t${round}-${at}`), paidAction(`p${round}-${at}`, "€5.00")]);
      await using _follower = new Follower(["python3", example], relay.url, cwd);
      await eventually(true, () => state().superchats >= 20 * round - 10); // the kill comes in their midst
    }
    await using _follower = new Follower(["python3", example], relay.url, cwd);
    await eventually(80, () => state().superchats);
    chat.say([textAction("the last", "the-last")]);
    const { superchats, last } = state();
    await eventually(true, () => state().last !== last);
    assert.equal(state().superchats, superchats);
  });

  it("prints the service's message when it is refused", async () => {
    await using relay = await startRelay();
    for (const name of ["@nobody", "jNQXAC9IVRw"]) {
      const query = `${name.startsWith("@") ? "channel" : "videoId"}=${name}`;
      const refused = await ask<{ message: string }>(relay.url, `/v1/stream?${query}`);
      const command = [join(ROOT, "examples/follow.py"), relay.url, name];
      const { code, stderr } = await promisify(execFile)("python3", command).catch((failure) => failure);
      assert.deepEqual([code, stderr], [1, `${refused.body.message}\n`]);
    }
  });

  it("says why nothing comes, and ends quietly at Ctrl-C", async (t) => {
    const example = join(ROOT, "examples/follow.py");
    const [port = 0] = await freePorts(1);
    const url = `http://127.0.0.1:${port}`;
    const cwd = await temporaryFolder(t);
    await writeFile(join(cwd, `${VIDEO}.last-id`), "0\n"); // as an editor writes it
    const child = spawn("python3", [example, url, VIDEO], { cwd });
    t.after(() => child.kill("SIGKILL"));
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (text) => {
      said += text;
    });
    while (!said.endsWith("\n")) await once(child.stderr, "data");
    assert.match(said, new RegExp(`^${url}: .*refused.*; trying again\n$`));
    child.kill("SIGINT");
    assert.deepEqual(await once(child, "close"), [0, null]);
    assert.doesNotMatch(said, /Traceback/);
  });
});

it("the examples end quietly once nobody reads their output, and take a URL for an id", async (t) => {
  await using relay = await startRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20 });
  chat.say(20);
  const speak = setInterval(() => chat.say(1), 50);
  t.after(() => clearInterval(speak));
  const watched = `https://www.youtube.com/watch?v=${VIDEO}&t=5s`;
  for (const [program, name] of [
    ["python3 examples/follow.py", VIDEO],
    ["sh examples/follow.sh", watched],
  ] as const) {
    const script = `cd "$1" && ${program.replace("examples", join(ROOT, "examples"))} "$2" "$3" | head -n 3`;
    const command = ["-c", script, "sh", await temporaryFolder(t), relay.url, name];
    const { stdout, stderr } = await promisify(execFile)("sh", command);
    assert.equal(stdout.trimEnd().split("\n").length, 3, program);
    assert.equal(stderr, "", program);
  }
});

/** An action that says this text. */
function textAction(text: string, id = "trap") {
  const renderer = { id, timestampUsec: `${Date.now()}000`, message: { runs: [{ text }] } };
  return { addChatItemAction: { item: { liveChatTextMessageRenderer: renderer } } };
}

it("docs/python.md contains the example as it is", () => {
  assert.ok(PAGE.includes(`\`\`\`python\n${FOLLOW}\`\`\``));
});
