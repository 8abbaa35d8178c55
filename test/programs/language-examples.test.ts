/** The examples in other languages: each follows a chat over a broken connection, and over a kill. */
import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { Line } from "../chaos/line.ts";
import { freePorts } from "../chaos/service.ts";
import { ask } from "../support/api.ts";
import { ROOT } from "../support/command.ts";
import { without } from "../support/needs.ts";
import { startRelay } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { Changes } from "../support/viewers.ts";

const VIDEO = "dQw4w9WgXcQ";
const runs = ([program = "", ...args]: string[]) => spawnSync(program, args).status === 0;
/** What Python's and other languages' line splitting may cut, and a word in another script. */
const TRAPS = "héllo\u2028wörld\u0085 สวัสดี \u001c";

const PAGE = readFileSync(join(ROOT, "docs/python.md"), "utf8");
const FOLLOW = readFileSync(join(ROOT, "examples/follow.py"), "utf8");
/** The page's function for httpx, in place of the example's own. */
const WITH_HTTPX = `import pathlib, sys
${/^```python\n(import httpx.*?)^```$/ms.exec(PAGE)?.[1]}
${FOLLOW.slice(FOLLOW.indexOf("if __name__"))}`;

/** By language: what starts its example, and why it cannot. */
const LANGUAGES: Record<string, { command: string[]; skip: string | false }> = {
  python3: { command: ["python3", "examples/follow.py"], skip: without("python3") },
  sh: { command: ["sh", "examples/follow.sh"], skip: without("curl") },
};
// Go is large, and httpx is not part of Python: no test is skipped if they are missing.
if (runs(["python3", "-c", "import httpx"]))
  LANGUAGES.httpx = { command: ["python3", "-c", WITH_HTTPX], skip: false };
if (runs(["go", "version"])) LANGUAGES.go = { command: ["go", "run", "examples/follow.go"], skip: false };

class Follower implements AsyncDisposable {
  /** The lines of all its lives. */
  readonly lines: string[] = [];
  readonly changes = new Changes();
  readonly #start: () => ReturnType<typeof spawn>;
  #child: ReturnType<typeof spawn>;

  constructor(command: readonly string[], url: string, cwd: string, name = VIDEO) {
    const [program = "", ...args] = command.map((word) => word.replace("examples/", join(ROOT, "examples/")));
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

describe("the examples in other languages", { concurrency: true }, () => {
  for (const [language, { command, skip }] of Object.entries(LANGUAGES)) {
    it(`${language} follows a chat across a cut connection and its own restart`, { skip }, async (t) => {
      await using relay = await startRelay();
      await using line = await Line.to(Number(new URL(relay.url).port));
      const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], tokens: "reusable", timeoutMs: 50 });
      chat.say(3);
      const folder = await temporaryFolder(t);
      const cwd = join(folder, "work");
      await mkdir(cwd);
      await using follower = new Follower(command, line.url, cwd);
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
  }
});

describe("examples/follow.py", () => {
  const [A, B] = ["video-aaaaa", "video-bbbbb"] as const;

  it("follows a channel from one stream to the next, across its own restart", async (t) => {
    await using relay = await startRelay({ settings: { RELAY_CHANNEL_MS: "100" } });
    const channel = relay.upstream.channel("@somebody");
    const first = channel.broadcast(A, { chat: { kinds: ["text"], timeoutMs: 5 } });
    first.chat.say([textAction("in the first")]);
    const cwd = await temporaryFolder(t);
    await using follower = new Follower(LANGUAGES.python3?.command ?? [], relay.url, cwd, "@somebody");
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

  it("says how to use it, why nothing comes, and ends quietly at Ctrl-C", async (t) => {
    const example = join(ROOT, "examples/follow.py");
    for (const args of [[], ["127.0.0.1:8080", VIDEO]]) {
      const { status, stderr } = spawnSync("python3", [example, ...args], { encoding: "utf8" });
      assert.deepEqual([status, stderr.startsWith("usage: ")], [1, true], stderr);
    }
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

/** An action that says this text. */
function textAction(text: string, id = "trap") {
  const renderer = { id, timestampUsec: `${Date.now()}000`, message: { runs: [{ text }] } };
  return { addChatItemAction: { item: { liveChatTextMessageRenderer: renderer } } };
}

it("docs/python.md contains the example as it is", () => {
  assert.ok(PAGE.includes(`\`\`\`python\n${FOLLOW}\`\`\``));
});
