/**
 * The service as one executable file (`npm run release`): on a machine where there is nothing else, in a
 * folder with a space and an umlaut, and behind a symbolic link; and what happens where it cannot run.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, globSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, stat, symlink, truncate } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startSimulator } from "../../simulator/index.ts";
import { companions } from "../../src/cli/companions.ts";
import { pageFiles } from "../../src/http/page-files.ts";
import { freePorts } from "../chaos/service.ts";
import { BareMachine, librariesOf, NO_BARE_MACHINE } from "../support/bare-machine.ts";
import { faultsOf, launchChromium, NO_CHROMIUM, until } from "../support/browser.ts";
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
  describe("on a machine without anything else", { skip: NO_BARE_MACHINE }, () => {
    it("runs the demo, whose pages are those of the checkout, and leaves no file behind", async (t) => {
      const machine = await BareMachine.make(t, FILE);
      const demo = machine.start(["demo", "--port", "0"]);
      const url = await demo.printed(/Page +(\S+)\/\?/);
      for (const [path, read] of pageFiles()) {
        if (path.endsWith(".html")) continue;
        assert.equal(await (await fetch(`${url}/${path}`)).text(), read(), path);
      }
      for (const path of ["/", "/overlay", "/overlay/setup", "/probe"])
        assert.match(await (await fetch(url + path)).text(), /^<!doctype html>/i, path);
      const watch = machine.start(["watch", "demo-stream", "--server", url]);
      await watch.printed(/: .+\n/);
      demo.child.kill("SIGINT");
      assert.deepEqual(await demo.exited, [0, null]);
      assert.deepEqual(await readdir(machine.folder), ["relay läuft"]);
    });

    it("shows the demo's chat to a browser", { skip: NO_CHROMIUM }, async (t) => {
      const machine = await BareMachine.make(t, FILE);
      const demo = machine.start(["demo", "--port", "0"]);
      const address = await demo.printed(/Page +(\S+)/);
      const browser = await launchChromium();
      t.after(() => browser.close());
      const page = await browser.newPage();
      const faults = faultsOf(page);
      await page.goto(address);
      await until(page, "document.querySelectorAll('#chat [data-message-id]').length >= 3");
      assert.deepEqual(faults, []);
    });

    it("keeps everything in SQLite over a kill -9, exports it, backs it up and imports it", async (t) => {
      const machine = await BareMachine.make(t, FILE);
      await using upstream = await startSimulator();
      upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20, forget: true, holdsMs: 60_000 }).speak(50);
      const [port = 0] = await freePorts(1);
      const settings = {
        RELAY_STORE: "sqlite:Übertragung.db",
        RELAY_PORT: `${port}`,
        RELAY_LOG_LEVEL: "info",
      };
      const env = testEnvironment(upstream, settings);
      const first = machine.start(["serve"], { env });
      const url = await first.printed(LISTENING);
      const seen = await Stream.open(url, { videoId: VIDEO });
      await seen.untilMessages(50);
      first.child.kill("SIGKILL");
      await first.exited;
      const second = machine.start(["serve"], { env });
      await second.printed(LISTENING);
      const resumed = await Stream.open(url, {
        videoId: VIDEO,
        lastEventId: seen.cursors.at(-1) ?? 0,
      });
      await resumed.untilMessages(50);
      const messages = [...seen.messages, ...resumed.messages];
      assertConsecutive([...seen.cursors, ...resumed.cursors], seen.init.cursor);
      const exported = await machine.outcome(["export", VIDEO, "--server", url, "--output", "chat.jsonl"]);
      assert.equal(exported.code, 0, exported.error);
      const copied = await machine.outcome(["backup", "copy.db", "--store", "sqlite:Übertragung.db"]);
      assert.equal(copied.code, 0, copied.error);
      const imported = await machine.outcome([
        ...["import", "chat.jsonl", "--video", VIDEO],
        ...["--store", "sqlite:imported.db"],
      ]);
      assert.equal(imported.code, 0, imported.error);
      const lines = (await readFile(join(machine.folder, "chat.jsonl"), "utf8")).split("\n").length - 1;
      assert.ok(lines >= messages.length - 1, `${lines} lines`);
      assert.match(imported.error, new RegExp(`\\b${lines} new messages`));
    });

    it("writes the documents and the files of deploy/ that belong to it", async (t) => {
      const machine = await BareMachine.make(t, FILE);
      const { code, out, error } = await machine.outcome(["files", "own"]);
      assert.deepEqual([code, error], [0, ""]);
      const files = companions();
      assert.deepEqual(
        out.split("\n").slice(0, -1),
        [...files.keys()].map((path) => `own/${path}`),
      );
      for (const [path, read] of files)
        assert.ok((await readFile(join(machine.folder, "own", path))).equals(read()), path);
    });

    it("runs two workers, which are processes of the same file, and an edge", async (t) => {
      const machine = await BareMachine.make(t, FILE);
      await using upstream = await startSimulator();
      upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20 }).speak(20);
      const [port = 0] = await freePorts(1);
      const settings = { RELAY_PORT: `${port}`, RELAY_WORKERS: "2", RELAY_LOG_LEVEL: "info" };
      const serve = machine.start(["serve"], { env: testEnvironment(upstream, settings) });
      const url = await serve.printed(LISTENING);
      await eventually(200, async () => (await fetch(`${url}/readyz`)).status);
      const { pid } = serve.child;
      const [worker] = (await readFile(`/proc/${pid}/task/${pid}/children`, "utf8")).trim().split(" ");
      assert.match(await readFile(`/proc/${worker}/cmdline`, "utf8"), /worker-of-this-service/);
      const edge = machine.start(["edge", "--origin", url, "--port", "0"]);
      const stream = await Stream.open(await edge.printed(LISTENING), { videoId: VIDEO });
      await stream.untilMessages(5);
      serve.child.kill("SIGTERM");
      assert.deepEqual(await serve.exited, [0, null]);
      await eventually(false, () => existsSync(`/proc/${worker}`));
    });

    for (const [what, disk, why] of [
      ["only for reading", "ro", /read-only file system/],
      ["full", "nr_inodes=1", /no space left/],
    ] as const) {
      it(`needs nothing of a home that is ${what}; one line says that it takes no store`, async (t) => {
        const machine = await BareMachine.make(t, FILE);
        const options = { disk, env: { HOME: "/home", TMPDIR: "/home" } };
        const demo = machine.start(["demo", "--port", "0"], options);
        const url = await demo.printed(/Page +(\S+)\/\?/);
        await using stream = await Stream.open(url, { videoId: "demo-stream" });
        await stream.untilMessages(1);
        const { code, error } = await machine.outcome(["serve", "--port", "0"], options);
        assert.equal(code, 1);
        assert.match(error, /^\/livechat-relay: RELAY_STORE: [^\n]*data[^\n]*\n$/);
        assert.match(error, why);
      });
    }

    it("cannot start without a library or with musl for glibc, as one line of the system says", async (t) => {
      const libraries = librariesOf(FILE);
      const without = (name: string) => libraries.filter((path) => !path.includes(name));
      const rows: [without: string, why: RegExp][] = [
        ["libatomic", /^.\/relay läuft: [^\n]*libatomic\.so\.1: cannot open shared object file[^\n]*\n$/],
        ["ld-linux", /^unshare: [^\n]*No such file or directory\n$/],
      ];
      for (const [name, why] of rows) {
        const machine = await BareMachine.make(t, FILE, without(name));
        const { code, error } = await machine.outcome(["--version"]);
        assert.equal(code, 127);
        assert.match(error, why);
      }
    });
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

  it("needs the glibc and the libraries that docs/deployment.md names", async () => {
    const needs = (await readFile(join(ROOT, "docs/deployment.md"), "utf8")).split("\n");
    const row = needs.find((line) => line.includes("`livechat-relay-linux-x64` |")) ?? assert.fail("no row");
    const minimum = /glibc 2\.(\d+) or newer/.exec(row)?.[1];
    const names = librariesOf(FILE).map((path) => /^[a-z_]+\+*/.exec(basename(path))?.[0] ?? path);
    for (const name of names.filter((each) => !GLIBC.has(each))) assert.ok(row.includes(`\`${name}\``), name);
    for (const file of globSync("livechat-relay-linux-*", { cwd: dirname(FILE) }))
      assert.equal(`${glibcOf(await readFile(join(dirname(FILE), file)))}`, minimum, file);
  });

  it("does not start if it was cut off, and its checksum says so in one line", async (t) => {
    const folder = await temporaryFolder(t);
    const cut = join(folder, basename(FILE));
    await copyFile(join(dirname(FILE), "SHA256SUMS"), join(folder, "SHA256SUMS"));
    await copyFile(FILE, cut);
    const { size } = await stat(FILE);
    for (const share of [0.99, 0.9, 0.5, 0.1]) {
      await truncate(cut, Math.floor(size * share)); // the part that would say so is not there
      const command = `"${cut}" --version`;
      const started = await outcomeOfProcess([command], { node: "/bin/sh", main: "-c" });
      assert.notEqual(started.code, 0, `${share}`);
      assert.equal(started.out, "");
    }
    const check = ["--check", "--ignore-missing", "--quiet", "SHA256SUMS"];
    const { status, stdout } = spawnSync("sha256sum", check, { cwd: folder, encoding: "utf8" });
    assert.equal(status, 1);
    assert.equal(stdout, `${basename(FILE)}: FAILED\n`);
  });
});

/** What belongs to glibc itself. */
const GLIBC = new Set(["libc", "libm", "libdl", "libpthread", "ld"]);

/** The minor version of the newest glibc of which a file uses a symbol. */
function glibcOf(file: Buffer): number {
  let newest = 0;
  const mark = "\0GLIBC_2.";
  for (let at = file.indexOf(mark); at >= 0; at = file.indexOf(mark, at + 1)) {
    const version = /^\d+(?=\0|\.)/.exec(
      file.toString("latin1", at + mark.length, at + mark.length + 8),
    )?.[0];
    newest = Math.max(newest, Number(version));
  }
  return newest;
}
