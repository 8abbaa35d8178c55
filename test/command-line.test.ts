/** What a person sees who starts it: help, the demo's lines, one line for whatever cannot be started, and the end. */
import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { SETTINGS } from "../src/cli/config.ts";
import { noRecordings } from "./support/recorded.ts";
import { temporaryFolder } from "./support/store-subject.ts";
import { Stream } from "./support/stream.ts";

const ROOT = join(import.meta.dirname, "..");
const MAIN = join(ROOT, "src/cli/main.ts");
const LAUNCHER = join(ROOT, "bin/livechat-relay.js");
const LISTENING = /listening on (http:\/\/127\.0\.0\.1:\d+)"/;

interface StartOptions {
  env?: NodeJS.ProcessEnv;
  node?: string;
  main?: string;
}

/** A command as a process, which is killed if it takes very long. */
class Command {
  readonly child: ChildProcess;
  readonly exited: Promise<unknown[]>;
  out = "";
  error = "";

  constructor(
    args: readonly string[],
    { env = {}, node = process.execPath, main = MAIN }: StartOptions = {},
  ) {
    this.child = spawn(node, [main, ...args], { stdio: ["ignore", "pipe", "pipe"], env, timeout: 30_000 });
    this.child.stdout?.setEncoding("utf8").on("data", (text) => {
      this.out += text;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (text) => {
      this.error += text;
    });
    this.exited = once(this.child, "close");
  }

  /** Resolves with the first match in what it prints. */
  async printed(pattern: RegExp): Promise<string> {
    for (;;) {
      const [, found] = pattern.exec(this.out) ?? [];
      if (found !== undefined) return found;
      assert.equal(this.child.exitCode, null, `it ended after: ${this.out}${this.error}`);
      await Promise.race([once(this.child.stdout ?? this.child, "data"), this.exited]);
    }
  }
}

async function outcome(args: readonly string[], options: StartOptions = {}) {
  const command = new Command(args, options);
  const [code] = await command.exited;
  return { code, out: command.out, error: command.error };
}

async function temporaryStore(t: TestContext): Promise<string> {
  return `sqlite:${join(await temporaryFolder(t), "relay.db")}`;
}

describe("a start that cannot succeed ends with one line that says what to do", () => {
  const rows: [string[], number, RegExp][] = [
    [["serve", "--port", "x"], 2, /RELAY_PORT: must be a whole number/],
    [["--port", "serve"], 2, /RELAY_PORT: must be a whole number.*"serve"/],
    [["--store", "nonsense:"], 2, /RELAY_STORE: must be `sqlite:<path>` or `memory:`, not "nonsense:"/],
    [["--store", "sqlite:/proc/no/such.db"], 1, /RELAY_STORE: .*folder cannot be made.*name a file/],
    [["serve", "--retention-days", "-1"], 2, /--retention-days.*--help/],
    [["--poll-min-ms", "2", "--poll-max-ms", "1"], 2, /RELAY_POLL_MIN_MS/],
    [["srve"], 2, /"srve" is not a command; did you mean serve\?.*--help/],
    [["bogus", "--help"], 2, /"bogus" is not a command \(--help/],
    [["help", "dmo"], 2, /"dmo" is not a command; did you mean demo\?/],
    [["serve", "demo"], 2, /demo.*--help/],
    [["serve", "--rate", "1"], 2, /--rate is not a flag/],
    [["demo", "--rate", "0"], 2, /--rate: must be messages a second/],
    [["demo", "--recording", "/no/such/file"], 2, /--recording: .*name a recorded answer/],
  ];
  for (const [args, expected, line] of rows) {
    it(args.join(" "), async () => {
      // Warnings must not stand before it.
      const env = { RELAY_MAX_VIEWERS: "9999999", RELAY_GRACEMS: "1" };
      const { code, out, error } = await outcome(args, { env });
      assert.equal(code, expected);
      assert.equal(out, "");
      assert.match(error, /^livechat-relay: [^\n]+\n$/);
      assert.match(error, line);
    });
  }

  for (const command of ["serve", "demo"]) {
    it(`${command} on a port that is taken`, async (t) => {
      const taken = createServer().listen(0, "127.0.0.1");
      t.after(() => taken.close());
      await once(taken, "listening");
      const { port } = taken.address() as AddressInfo;
      const { code, error } = await outcome([
        command,
        "--port",
        String(port),
        "--store",
        await temporaryStore(t),
      ]);
      assert.equal(code, 1);
      assert.match(
        error,
        /^livechat-relay: cannot listen on 127\.0\.0\.1 port \d+ \(EADDRINUSE\): [^\n]+--port\n$/,
      );
    });
  }
});

describe("a Node.js that is too old", () => {
  const node = "/usr/bin/node";
  const skip = !isOld(node) && `${node} is missing or not older than the service needs`;
  for (const [main, args] of [
    [LAUNCHER, ["serve"]],
    [LAUNCHER, ["demo"]],
    [join(ROOT, "bin/check-node.js"), []],
  ] as const) {
    it(`is reported in one line by ${[main.slice(ROOT.length + 1), ...args].join(" ")}`, {
      skip,
    }, async () => {
      const { code, out, error } = await outcome([...args], { node, main });
      assert.equal(code, 1);
      assert.equal(out, "");
      assert.match(error, /^livechat-relay: this is Node\.js \d[\d.]+, and 24 or newer is needed[^\n]*\n$/);
    });
  }
});

function isOld(node: string): boolean {
  try {
    return (
      Number.parseInt(execFileSync(node, ["-p", "process.versions.node"], { encoding: "utf8" }), 10) < 24
    );
  } catch {
    return false;
  }
}

describe("help", () => {
  it("lists commands and settings, and of each command its flags", async () => {
    const [all, help, demo, demoHelp] = await Promise.all(
      [["--help"], ["help"], ["demo", "--help"], ["help", "demo"]].map((args) => outcome(args)),
    );
    assert.ok(all && demo);
    assert.deepEqual(help, all);
    assert.deepEqual(demoHelp, demo);
    for (const { code, out, error } of [all, demo]) {
      assert.equal(code, 0);
      assert.equal(error, "");
      for (const name of Object.keys(SETTINGS)) assert.ok(out.includes(name), name);
      assert.match(out, /RELAY_PORT, --port \(default 8080\)/);
    }
    assert.match(all.out, /^ {2}serve .*\n {2}demo /m);
    assert.doesNotMatch(all.out, /--rate/);
    assert.match(demo.out, /--rate \(default 5\)/);
  });

  it("prints the version", async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    assert.deepEqual(await outcome(["--version"]), { code: 0, out: `${version}\n`, error: "" });
  });

  it("loads neither the HTTP server nor a store", async () => {
    const hook = `import { registerHooks } from "node:module";
      registerHooks({ load: (url, context, next) => { console.error(url); return next(url, context); } });`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}` };
    const { error } = await outcome(["--help"], { env });
    assert.match(error, /src\/cli\/main\.ts/);
    assert.doesNotMatch(error, /fastify|sqlite/);
  });
});

describe("the demo", () => {
  it("prints a stream that brings messages and goes on, warns of nothing, and stops at Ctrl-C", async () => {
    const demo = new Command(["demo", "--port", "0", "--rate", "500", "--log-level", "warn"]);
    const url = await demo.printed(/curl -N '(\S+)\/v1\/stream/);
    const stream = await Stream.open(url, { videoId: "demo-stream" });
    await stream.untilMessages(2000);
    demo.child.kill("SIGINT");
    assert.equal(await stream.ended(), undefined);
    assert.deepEqual(await demo.exited, [0, null]);
    assert.doesNotMatch(demo.out, /^\{/m);
  });

  it("plays a recording", { skip: noRecordings }, async () => {
    const recorded = join(ROOT, "../shared/recorded/replay");
    const demo = new Command(["demo", "--port", "0", "--recording", recorded]);
    const url = await demo.printed(/curl -N '(\S+)\/v1\/stream/);
    await using stream = await Stream.open(url, { videoId: "demo-stream" });
    await stream.untilMessages(100);
    demo.child.kill("SIGTERM");
    assert.deepEqual(await demo.exited, [0, null]);
  });
});

describe("serve", () => {
  it("prints where it listens, whatever the log's level", async (t) => {
    const store = await temporaryStore(t);
    const serve = new Command(["--port", "0", "--store", store, "--log-level", "silent"]);
    const url = await serve.printed(LISTENING);
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
    serve.child.kill("SIGTERM");
    assert.deepEqual(await serve.exited, [0, null]);
  });

  const rows: [string, NodeJS.ProcessEnv, RegExp[]][] = [
    ["nothing where nothing was set", { RELAY_PORT: "" }, []],
    ["a limit above that of open files", { RELAY_MAX_VIEWERS: "9999999" }, [/^RELAY_MAX_VIEWERS is lowered/]],
    ["a misspelt setting", { RELAY_GRACEMS: "1" }, [/^RELAY_GRACEMS is not .* RELAY_GRACE_MS\?$/]],
  ];
  for (const [what, env, expected] of rows) {
    it(`warns of ${what}`, async () => {
      const serve = new Command(["--port", "0", "--store", "memory:"], { env });
      await serve.printed(LISTENING);
      serve.child.kill("SIGTERM");
      await serve.exited;
      const lines = serve.out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line));
      const warnings = lines.filter(({ level }) => level >= 40).map(({ msg }) => String(msg));
      assert.equal(warnings.length, expected.length, warnings.join());
      for (const [index, pattern] of expected.entries()) assert.match(warnings[index] ?? "", pattern);
    });
  }
});
