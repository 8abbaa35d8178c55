/** The examples in other languages: each follows a chat over a broken connection, and over a kill. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Line } from "../chaos/line.ts";
import { ROOT } from "./support/command.ts";
import { startRelay } from "./support/relay.ts";
import { temporaryFolder } from "./support/store-subject.ts";
import { Changes } from "./support/viewers.ts";

const VIDEO = "dQw4w9WgXcQ";
const isInstalled = (program: string, flag = "--version") => !spawnSync(program, [flag]).error;
/** What Python's and other languages' line splitting may cut, and a word in another script. */
const TRAPS = "héllo\u2028wörld\u0085 สวัสดี \u001c";

/** By language: what starts its example. */
const LANGUAGES: Record<string, string[]> = {
  python3: ["python3", "examples/follow.py"],
  sh: ["sh", "examples/follow.sh"],
  go: ["go", "run", "examples/follow.go"],
};

class Follower implements AsyncDisposable {
  /** The lines of all its lives. */
  readonly lines: string[] = [];
  readonly changes = new Changes();
  readonly #start: () => ReturnType<typeof spawn>;
  #child: ReturnType<typeof spawn>;

  constructor(command: readonly string[], url: string, cwd: string) {
    const [program = "", ...args] = command.map((word) => word.replace("examples/", join(ROOT, "examples/")));
    this.#start = () => {
      let text = "";
      const child = spawn(program, [...args, url, VIDEO], {
        cwd,
        stdio: ["ignore", "pipe", "ignore"],
        detached: true,
      });
      child.stdout?.setEncoding("utf8").on("data", (chunk) => {
        const lines = `${text}${chunk}`.split("\n");
        text = lines.pop() ?? "";
        this.lines.push(...lines.filter((line) => /^\d+ /.test(line)));
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
  for (const [language, command] of Object.entries(LANGUAGES)) {
    // Go is large, and so no test is skipped where it is missing.
    if (language === "go" && !isInstalled("go", "version")) continue;
    const skip =
      isInstalled(language) || language === "go" || language === "sh"
        ? false
        : `${language} is not installed`;
    it(`${language} follows a chat over a broken connection and over its own end`, { skip }, async (t) => {
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

/** An action that says this text. */
function textAction(text: string) {
  const renderer = { id: "trap", timestampUsec: `${Date.now()}000`, message: { runs: [{ text }] } };
  return { addChatItemAction: { item: { liveChatTextMessageRenderer: renderer } } };
}

it("docs/python.md shows the example as it is", async () => {
  const [page, example] = await Promise.all(
    ["docs/python.md", "examples/follow.py"].map((file) => readFile(join(ROOT, file), "utf8")),
  );
  assert.ok(page?.includes(`\`\`\`python\n${example}\`\`\``));
});
