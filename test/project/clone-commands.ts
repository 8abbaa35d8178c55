/**
 * The README as a new user follows it; docs/deployment.md with docs/operations.md as an operator, docs/sdk.md
 * as a programmer: their commands in order, in a fresh clone and from its packed files. Part of
 * `npm run docs:commands`.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { chown, mkdir, mkdtemp, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, before, it, type TestContext } from "node:test";
import { promisify } from "node:util";
import { startSimulator } from "../../simulator/index.ts";
import { freePorts } from "../chaos/service.ts";
import { ask } from "../support/api.ts";
import { blocksOf, cloneInto, equip, Running, userEnvironment, whyNotRun } from "../support/clone.ts";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import type { Page } from "../support/history.ts";
import { testEnvironment } from "../support/relay.ts";

const run = promisify(execFile);
const README = readFileSync(join(ROOT, "README.md"), "utf8");
const MAX_LINES = 120;
const LINES = blocksOf("README.md").flatMap((block) => block.split("\n"));
const VIDEO = "dQw4w9WgXcQ";

/** Holds the clone and the installed files. */
let folder: string;
const within = (name: string) => join(folder, name);
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "relay-clone-"));
});
after(() => rm(folder, { recursive: true, force: true }));

/** The ids of the first and the last of the messages that `curl` prints. */
async function cursorsOf(curl: Running): Promise<[first: number, last: number]> {
  await curl.printed(/^id: \d+\n[\s\S]*^id: \d+\n/m);
  await curl.stop();
  const ids = [...curl.out.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  return [ids[0] ?? Number.NaN, ids.at(-1) ?? Number.NaN];
}

it(`README.md has at most ${MAX_LINES} lines, and names only commands that exist`, () => {
  assert.ok(README.split("\n").length <= MAX_LINES);
  assert.doesNotMatch(LINES.join("\n"), /^livechat-relay /m);
  assert.doesNotMatch(README, /`livechat-relay /);
});

it("README.md works from its first line to its last, in a fresh clone", async (t) => {
  const [port = 0] = await freePorts(1);
  const env = userEnvironment(port);
  const cwd = within("livechat-relay");
  await run("git", ["clone", "-q", ROOT, cwd]);
  const start = (line: string) => {
    const running = new Running(line, cwd, env);
    t.after(() => running.stop());
    return running;
  };
  let lastId = 0;
  let [resume, demoLine] = ["", ""];
  let demo: Running | undefined;
  const done = new Set<string>();
  for (const printed of LINES) {
    t.diagnostic(printed);
    const line = printed
      .replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`)
      .replace("<the last id you saw>", `${lastId}`);
    if (line === "npm ci") await equip(cwd);
    if (whyNotRun(line)) continue;
    if (/^(npm start|\.\/.* demo)$/.test(line)) {
      await demo?.stop();
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
      await new Running(kill, cwd, env).ended();
      demo = start(demoLine);
      await demo.printed(/listening on/);
      assert.equal((await cursorsOf(start(resume)))[0], lastId + 1);
      const out = await start(line).ended();
      const [titles = "", row = ""] = out.split("\n");
      assert.equal(row.split(/ {2,}/)[titles.split(/ {2,}/).indexOf("GAPS")], "0", out);
    } else if (line.includes(" watch ")) {
      const watch = start(line);
      await watch.printed(/.\n.*\n/);
      await watch.stop();
    } else await start(line).ended();
    done.add(printed);
  }
  assert.ok(done.size >= 10, `${done.size}`);
});

/** The unit as systemd runs it, but for the user and the confinement. */
class Unit {
  readonly #environment = new Map<string, string>();
  readonly #start: (environment: ReadonlyMap<string, string>) => Running;
  #running: Running | undefined;

  constructor(t: TestContext, start: (environment: ReadonlyMap<string, string>) => Running) {
    this.#start = start;
    t.after(() => this.#running?.stop());
  }

  async systemctl(command: string): Promise<void> {
    const [verb = "", word = ""] = command.replace("--now ", "").split(" ");
    const [name = "", value = ""] = word.split("=");
    if (verb === "set-environment") this.#environment.set(name, value);
    else if (verb === "unset-environment") assert.ok(this.#environment.delete(name), command);
    else {
      assert.match(`${verb} ${name}`, /^(enable|start|stop|restart) livechat-relay$/);
      if (verb === "stop" || verb === "restart") await this.#running?.stop();
      if (verb === "stop") return;
      this.#running = this.#start(this.#environment);
      await this.#running.printed(/listening on/);
    }
  }
}

it("docs/deployment.md and docs/operations.md install, back up, restore and upgrade as described", async (t) => {
  const [prefix, units, data] = [within("prefix"), within("units"), within("data")];
  const clone = within("livechat-relay");
  if (!existsSync(join(clone, "node_modules"))) await cloneInto(clone);
  for (const name of ["local/bin", "local/lib", "units", "data", "backups"])
    await mkdir(within(name), { recursive: true });
  // A Node.js that is there already, as on many machines: the installation must not run into it.
  const { stdout: node } = await run("sh", ["-c", "command -v node"], { env: userEnvironment() });
  await symlink(node.trim(), within("local/bin/node"));
  const user = { uid: 61_234, gid: 61_234 };
  await chown(data, user.uid, user.gid);
  const [port = 0] = await freePorts(1);
  await using upstream = await startSimulator();
  const chat = upstream.chat(VIDEO, { kinds: ["text"] });
  chat.say(5);
  const own = userEnvironment(port);
  const simulated = { ...testEnvironment(upstream), ...own, RELAY_STORE: undefined };
  const env: NodeJS.ProcessEnv = { ...simulated, PATH: `${within("local/bin")}:${own.PATH}` };
  const start = (line: string, cwd: string, settings = {}) => {
    const running = new Running(line, cwd, { ...env, ...settings });
    t.after(() => running.stop());
    return running;
  };
  const unit = new Unit(t, (environment) => {
    const text = readFileSync(join(units, "livechat-relay.service"), "utf8");
    const set = [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value = ""]) => {
      return [name, value.replace("/var/lib/livechat-relay", data)];
    });
    const command = /(?<=^ExecStart=).*/m.exec(text)?.[0] ?? assert.fail("no command");
    return start(command, "/", Object.fromEntries([...set, ...environment]));
  });
  const head = async () => {
    const answer = await ask<Page>(`http://127.0.0.1:${port}`, `/v1/messages?videoId=${VIDEO}`);
    return answer.body.head;
  };

  let cwd = clone;
  const play = async (line: string) => {
    if (line.startsWith("cd ")) cwd = resolve(cwd, line.slice(3));
    else if (line.startsWith("systemctl ")) await unit.systemctl(line.slice("systemctl ".length));
    else if (line.endsWith(" serve")) {
      const service = start(line, clone, { RELAY_PORT: "0" });
      await service.printed(/listening on/);
      await service.stop();
    } else if (line.startsWith("livechat-relay demo ")) {
      const demo = start(line.replace(/ --port \d+/, ""), cwd, { RELAY_PORT: "0" });
      await demo.printed(/Upstream +RELAY_UPSTREAM_URL=\S+ RELAY_/);
      await demo.stop();
    } else {
      const out = await start(line, cwd).ended();
      if (line === "livechat-relay --version") assert.match(out, /^\d+\.\d+\.\d+ \([0-9a-f]{12}\)\n$/);
      if (line.startsWith("curl ")) assert.match(out, /"status":"ok"|ready/);
    }
  };
  const playBlock = async (block: string) => {
    for (const printed of block.split("\n")) {
      const why = printed === "npm run release" ? "was done for README.md" : whyNotRun(printed);
      t.diagnostic(why ? `${printed} # not run: ${why}` : printed);
      const line = printed
        .replaceAll("/etc/systemd/system", units)
        .replaceAll("/opt/livechat-relay", prefix)
        .replaceAll("/usr/local", within("local"))
        .replaceAll("/var/lib/livechat-relay", data)
        .replaceAll("/var/backups", within("backups"))
        .replaceAll("127.0.0.1:8080", `127.0.0.1:${port}`);
      if (why) continue;
      assert.doesNotMatch(line, /(?<![\w/])\/(usr|etc|opt|var)\//); // what it does stays in the folder
      await play(line);
    }
  };

  for (const block of blocksOf("docs/deployment.md")) await playBlock(block);
  const curl = `curl -sN 'http://127.0.0.1:${port}/v1/stream?videoId=${VIDEO}'`;
  await cursorsOf(start(curl, clone));
  const packages = join(clone, "tools/release/packages");
  await start("npm pack --workspace client", clone).ended(); // as both pages say
  for (const page of ["docs/sdk.md", "client/README.md"]) {
    const project = await mkdtemp(within("project-"));
    for (const block of blocksOf(page).filter((commands) => !whyNotRun(commands))) {
      const commands = block
        .replace("PATH", clone)
        .replaceAll("CHECKOUT", clone)
        .replace("127.0.0.1:8080 demo-stream", `127.0.0.1:${port} ${VIDEO}`);
      const running = start(commands, project);
      if (/^node /m.test(block)) {
        await eventually(true, () => existsSync(join(project, "uptime-bot.cursor"))); // its stream is open
        await running.stop();
      } else assert.match(await running.ended(), /^added 1 package\b/m);
    }
  }
  for (const block of blocksOf("docs/operations.md")) {
    cwd = packages; // where the file of a new version is
    const isRestore = block.startsWith("systemctl stop ");
    const wanted = (await head()) + 3;
    if (isRestore) {
      chat.say(3); // of which the backup does not know
      await eventually(wanted, head);
    }
    await playBlock(block);
    if (!isRestore) continue;
    assert.ok((await head()) > wanted, "cursors were given again");
    const { uid, gid } = await stat(join(data, "relay.db"));
    assert.deepEqual({ uid, gid }, user);
  }
});
