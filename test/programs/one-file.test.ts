/**
 * The service as one executable file (`npm run release`), where there is nothing else: without Node,
 * `PATH`, home and folder for temporary files, in a folder with spaces and umlauts, behind a symbolic
 * link.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { pageFiles } from "../../src/http/page-files.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { freePorts } from "../chaos/service.ts";
import { Command, outcomeOfProcess, ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { missingBut } from "../support/needs.ts";
import { testEnvironment } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { assertConsecutive, Stream } from "../support/stream.ts";

const BUILT = join(ROOT, "tools/release/packages", `livechat-relay-${process.platform}-${process.arch}`);
const FILE = process.env.RELAY_TEST_FILE ?? BUILT;
const skip = !existsSync(FILE) && missingBut("the executable file", "npm run release");
const VIDEO = "dQw4w9WgXcQ";
const LISTENING = /listening on (http:\/\/127\.0\.0\.1:\d+)"/;
/** Nobody can write there, not even root. */
const NOWHERE = { HOME: "/proc/1/none", TMPDIR: "/proc/1/none" };

/** The file under another name, and a folder where nothing else is. */
async function elsewhere(t: TestContext): Promise<{ file: string; cwd: string }> {
  const cwd = join(await temporaryFolder(t), "Live-Übertragung am Abend");
  await mkdir(cwd);
  const file = join(cwd, "relay läuft");
  await symlink(FILE, file);
  return { file, cwd };
}

/** Starts a command of the file; it is killed when the test is over. */
function start(
  t: TestContext,
  args: readonly string[],
  options: ConstructorParameters<typeof Command>[1] = {},
) {
  const { env, ...rest } = options;
  const command = new Command(args, { ...rest, env: { ...NOWHERE, ...env } });
  t.after(() => command.child.kill("SIGKILL"));
  return command;
}

describe("the one executable file", { skip }, () => {
  it("runs the demo, whose pages are those of the checkout, and leaves no file behind", async (t) => {
    const { file, cwd } = await elsewhere(t);
    const demo = start(t, ["demo", "--port", "0"], { file, cwd });
    const url = await demo.printed(/Page +(\S+)\/\?/);
    for (const [path, read] of pageFiles()) {
      if (path.endsWith(".html")) continue;
      assert.equal(await (await fetch(`${url}/${path}`)).text(), read(), path);
    }
    for (const path of ["/", "/overlay", "/overlay/setup", "/probe"])
      assert.match(await (await fetch(url + path)).text(), /^<!doctype html>/i, path);
    const watch = start(t, ["watch", "demo-stream", "--server", url], { file, cwd });
    await watch.printed(/: .+\n/);
    demo.child.kill("SIGINT");
    assert.deepEqual(await demo.exited, [0, null]);
    assert.deepEqual(await readdir(cwd), ["relay läuft"]);
  });

  it("keeps everything in SQLite over a kill -9, exports it, backs it up and imports it", async (t) => {
    const { file, cwd } = await elsewhere(t);
    await using upstream = await startSimulator();
    upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20, forget: true, holdsMs: 60_000 }).speak(50);
    const [port = 0] = await freePorts(1);
    const settings = { RELAY_STORE: "sqlite:Übertragung.db", RELAY_PORT: `${port}`, RELAY_LOG_LEVEL: "info" };
    const env = testEnvironment(upstream, settings);
    const first = start(t, ["serve"], { file, cwd, env });
    const url = await first.printed(LISTENING);
    const seen = await Stream.open(url, { videoId: VIDEO });
    await seen.untilMessages(50);
    first.child.kill("SIGKILL");
    await first.exited;
    const second = start(t, ["serve"], { file, cwd, env });
    await second.printed(LISTENING);
    const resumed = await Stream.open(url, {
      videoId: VIDEO,
      lastEventId: seen.cursors.at(-1) ?? 0,
    });
    await resumed.untilMessages(50);
    const messages = [...seen.messages, ...resumed.messages];
    assertConsecutive([...seen.cursors, ...resumed.cursors], seen.init.cursor);
    const at = { file, cwd, env: { ...NOWHERE } };
    const exported = await outcomeOfProcess(["export", VIDEO, "--server", url, "--output", "chat.jsonl"], at);
    assert.equal(exported.code, 0, exported.error);
    const copied = await outcomeOfProcess(["backup", "copy.db", "--store", "sqlite:Übertragung.db"], at);
    assert.equal(copied.code, 0, copied.error);
    const imported = await outcomeOfProcess(
      ["import", "chat.jsonl", "--video", VIDEO, "--store", "sqlite:imported.db"],
      at,
    );
    assert.equal(imported.code, 0, imported.error);
    const lines = (await readFile(join(cwd, "chat.jsonl"), "utf8")).split("\n").length - 1;
    assert.ok(lines >= messages.length - 1, `${lines} lines`);
    assert.match(imported.error, new RegExp(`\\b${lines} new messages`));
  });

  it("runs two workers, which are processes of the same file, and an edge", async (t) => {
    const { file, cwd } = await elsewhere(t);
    await using upstream = await startSimulator();
    upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20 }).speak(20);
    const [port = 0] = await freePorts(1);
    const settings = { RELAY_PORT: `${port}`, RELAY_WORKERS: "2", RELAY_LOG_LEVEL: "info" };
    const serve = start(t, ["serve"], { file, cwd, env: testEnvironment(upstream, settings) });
    const url = await serve.printed(LISTENING);
    await eventually(200, async () => (await fetch(`${url}/readyz`)).status);
    const { pid } = serve.child;
    const [worker] = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ");
    assert.match(await readFile(`/proc/${worker}/cmdline`, "utf8"), /worker-of-this-service/);
    const edge = start(t, ["edge", "--origin", url, "--port", "0"], { file, cwd });
    const stream = await Stream.open(await edge.printed(LISTENING), { videoId: VIDEO });
    await stream.untilMessages(5);
    serve.child.kill("SIGTERM");
    assert.deepEqual(await serve.exited, [0, null]);
    await eventually(false, () => existsSync(`/proc/${worker}`));
  });

  it("says in one line why a second start beside a running one fails", async (t) => {
    const { file, cwd } = await elsewhere(t);
    const running = start(t, ["serve", "--port", "0", "--store", "sqlite:a.db"], { file, cwd });
    const port = new URL(await running.printed(LISTENING)).port;
    const rows: [args: string[], why: RegExp][] = [
      [["--port", port, "--store", "memory:"], /EADDRINUSE.*another program uses this port/],
      [["--port", "0", "--store", "sqlite:a.db"], /a\.db.*another/],
    ];
    for (const [args, why] of rows) {
      const { code, error } = await outcomeOfProcess(["serve", ...args], { file, cwd, env: NOWHERE });
      assert.equal(code, 1);
      assert.match(error, why);
      assert.equal(error.trimEnd().split("\n").length, 1, error);
    }
  });

  it("says in one line that it cannot make its store in a folder that is only for reading", async (t) => {
    const { file } = await elsewhere(t);
    const { code, error } = await outcomeOfProcess(["serve", "--port", "0"], {
      file,
      cwd: "/proc/self",
      env: NOWHERE,
    });
    assert.equal(code, 1);
    assert.match(error, /^livechat-relay: RELAY_STORE: .*data[^\n]*\n$/);
  });

  it("calls itself in help and errors as it was called", async (t) => {
    const { file, cwd } = await elsewhere(t);
    const asCalled = { node: "/bin/sh", main: "-c", cwd, env: NOWHERE };
    const help = await outcomeOfProcess(['exec "./relay läuft" --help'], asCalled);
    assert.match(help.out, /^Usage: \.\/relay läuft \[command\] \[flags\]\n/);
    assert.doesNotMatch(help.out, /livechat-relay (?:demo|serve)/);
    const wrong = await outcomeOfProcess(['exec "./relay läuft" --port x'], asCalled);
    assert.match(wrong.error, /^\.\/relay läuft: --port: /);
    assert.ok(existsSync(file));
  });

  it("prints the licences of Node and of every package in it", async (t) => {
    const { file, cwd } = await elsewhere(t);
    const { out, error } = await outcomeOfProcess(["--licenses"], { file, cwd, env: NOWHERE });
    assert.equal(error, "");
    const { dependencies } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
    for (const name of Object.keys(dependencies))
      assert.match(out, new RegExp(`^${name} [\\d.]+: .*\n\n.*\\S`, "m"));
    assert.match(out, /^Node\.js is licensed for use as follows:/m);
  });
});
