/**
 * The README as a new user follows it, and docs/deployment.md as an operator does: their commands in order,
 * in a fresh clone of the last commit, with the Node.js and the npm of the machine. Part of
 * `npm run docs:commands`.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { promisify } from "node:util";
import { freePorts } from "../chaos/service.ts";
import { ROOT } from "./support/command.ts";
import { temporaryFolder } from "./support/store-subject.ts";

const run = promisify(execFile);
const LIMIT_MS = 240_000;
const README = readFileSync(join(ROOT, "README.md"), "utf8");
const DEPLOYMENT = readFileSync(join(ROOT, "docs/deployment.md"), "utf8");
const MAX_LINES = 120;
const LINES = linesOf(README);

/** The commands of a page, in their order. */
function linesOf(page: string): string[] {
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)];
  return blocks.flatMap(([, block = ""]) => block.trim().split("\n"));
}

/** The environment of a user of this machine who has not installed anything of the project. */
function userEnvironment(port: number): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(npm_|RELAY_|NODE_TEST_|NODE$)/.test(name));
  const { PATH = "", ...env } = Object.fromEntries(own);
  const outside = PATH.split(":").filter((path) => !path.includes("node_modules"));
  return { ...env, PATH: outside.join(":"), RELAY_PORT: `${port}`, RELAY_URL: `http://127.0.0.1:${port}` };
}

/** A command in a shell, in a process group of its own. */
class Running {
  out = "";
  #error = "";
  readonly #child: ChildProcess;

  constructor(line: string, cwd: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn("sh", ["-c", line], { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    this.#child.stdout?.setEncoding("utf8").on("data", (text) => {
      this.out += text;
      this.#child.emit("printed");
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.#error += text;
    });
    this.#child.once("close", () => this.#child.emit("printed"));
  }

  /** Resolves with the first match in its output. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(LIMIT_MS);
    for (let found: RegExpExecArray | null; ; ) {
      found = pattern.exec(this.out);
      if (found) return found;
      assert.ok(!this.#isOver, `it ended after: ${this.out}${this.#error}`);
      await once(this.#child, "printed", { signal });
    }
  }

  async stop(): Promise<void> {
    if (this.#isOver) return;
    const closed = once(this.#child, "close");
    process.kill(-(this.#child.pid ?? Number.NaN), "SIGINT");
    await closed;
  }

  get #isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}

/** The ids of the first and the last of the messages that `curl` prints. */
async function cursorsOf(curl: Running): Promise<[first: number, last: number]> {
  await curl.printed(/^id: \d+\n[\s\S]*^id: \d+\n/m);
  await curl.stop();
  const ids = [...curl.out.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  return [ids[0] ?? Number.NaN, ids.at(-1) ?? Number.NaN];
}

it(`README.md has at most ${MAX_LINES} lines, and names no command that is not there`, () => {
  assert.ok(README.split("\n").length <= MAX_LINES);
  assert.doesNotMatch(LINES.join("\n"), /^livechat-relay /m);
  assert.doesNotMatch(README, /`livechat-relay /);
});

it("README.md works from its first line to its last, in a fresh clone", async (t) => {
  const folder = await temporaryFolder(t);
  const [port = 0] = await freePorts(1);
  const env = userEnvironment(port);
  const start = (line: string) => {
    const running = new Running(line, cwd, env);
    t.after(() => running.stop());
    return running;
  };
  let cwd = folder;
  let lastId = 0;
  let [resume, demoLine] = ["", ""];
  let demo: Running | undefined;
  const done = new Set<string>();
  for (const printed of LINES) {
    t.diagnostic(printed);
    const line = printed
      .replace("<address of this repository>", ROOT)
      .replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`)
      .replace("<the last id you saw>", `${lastId}`);
    if (line === "npm ci && npm test") continue; // .ci/run runs the tests
    if (line.startsWith("cd ")) cwd = join(cwd, line.slice(3));
    else if (line === "npm ci && npm run demo" || line === "npm start") {
      const service = start(line);
      await service.printed(/listening on/);
      await service.stop();
    } else if (line.startsWith("npm run demo -- --store ")) {
      demoLine = line;
      demo = start(line);
      await demo.printed(/listening on/);
    } else if (line.startsWith("curl -N")) {
      const [first, last] = await cursorsOf(start(line));
      if (lastId > 0) assert.equal(first, lastId + 1);
      lastId = last;
      resume = line.replace(/(?<=Last-Event-ID: )\d+/, `${last}`);
    } else if (line === "npx livechat-relay rooms") {
      const [kill = ""] = (await demo?.printed(/kill -9 \d+/)) ?? [];
      await run("sh", ["-c", kill]);
      demo = start(demoLine);
      await demo.printed(/listening on/);
      assert.equal((await cursorsOf(start(resume)))[0], lastId + 1);
      const { stdout } = await run("sh", ["-c", line], { cwd, env });
      const [titles = "", row = ""] = stdout.split("\n");
      assert.equal(row.split(/ {2,}/)[titles.split(/ {2,}/).indexOf("GAPS")], "0", stdout);
    } else if (line.includes(" watch ")) {
      const watch = start(line);
      await watch.printed(/.\n.*\n/);
      await watch.stop();
    } else await run("sh", ["-c", line], { cwd, env, timeout: LIMIT_MS });
    done.add(printed);
  }
  assert.ok(done.size >= 9, `${done.size}`);
});

it("docs/deployment.md installs what it describes, from its first line to the unit", async (t) => {
  const folder = await temporaryFolder(t);
  const [port = 0] = await freePorts(1);
  let cwd = join(folder, "livechat-relay");
  await run("git", ["clone", "-q", ROOT, cwd]);
  const [prefix, units] = [join(folder, "prefix"), join(folder, "units/")];
  await mkdir(units);
  const user = userEnvironment(port);
  const env = { ...user, PATH: `${prefix}/bin:${user.PATH}` };
  const sections = DEPLOYMENT.slice(DEPLOYMENT.indexOf("## Install"), DEPLOYMENT.indexOf("## Docker"));
  let service: Running | undefined;
  for (const printed of linesOf(sections)) {
    t.diagnostic(printed);
    const line = printed
      .replace("/etc/systemd/system/", units)
      .replace("/usr/local", prefix)
      .replace("127.0.0.1:8080", `127.0.0.1:${port}`);
    assert.doesNotMatch(line, /(?<![\w/])\/(usr|etc|var)\//); // what it does stays in the folder
    if (line.startsWith("cd ")) cwd = join(cwd, line.slice(3));
    else if (line.startsWith("systemctl enable")) {
      // As systemd would, but for the user and the confinement.
      const unit = readFileSync(join(units, "livechat-relay.service"), "utf8");
      const set = [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value = ""]) => {
        return [name, value.replace("/var/lib/livechat-relay", folder)];
      });
      const command = /(?<=^ExecStart=).*/m.exec(unit)?.[0] ?? assert.fail("no command");
      service = new Running(command, "/", { ...env, ...Object.fromEntries(set) });
      t.after(() => service?.stop());
      await service.printed(/listening on/);
    } else if (!/^(systemctl|journalctl) /.test(line)) {
      const { stdout } = await run("sh", ["-c", line], { cwd, env, timeout: LIMIT_MS });
      if (line === "livechat-relay --version") assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
      if (line.startsWith("curl ")) assert.match(stdout, /"status":"ok"|ready/);
    }
  }
  assert.ok(service);
});
