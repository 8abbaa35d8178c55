/** What a person sees who starts it: the demo's lines, help, and one line for whatever cannot be started. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { noRecordings } from "./support/recorded.ts";
import { temporaryFolder } from "./support/store-subject.ts";
import { Stream } from "./support/stream.ts";

const MAIN = join(import.meta.dirname, "../src/cli/main.ts");

function start(args: string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], { stdio: ["ignore", "pipe", "pipe"], env: {} });
}

async function outcome(args: string[]): Promise<{ code: number; out: string; error: string }> {
  const child = start(args);
  assert.ok(child.stdout && child.stderr);
  const limit = setTimeout(() => child.kill("SIGKILL"), 15_000);
  const [out, error, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  clearTimeout(limit);
  return { code, out, error };
}

/** Starts it, and resolves with the first match in what it prints. */
async function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  let all = "";
  for await (const chunk of child.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    all += chunk;
    const [, found] = pattern.exec(all) ?? [];
    if (found !== undefined) return found;
  }
  assert.fail(`it ended after: ${all}`);
}

describe("a start that cannot succeed ends with one line that says what to do", () => {
  const rows: [string[], RegExp][] = [
    [["serve", "--port", "x"], /RELAY_PORT: must be a whole number/],
    [["serve", "--store", "ftp://x"], /store "ftp:" is not known.*sqlite:<path>/],
    [["serve", "--store", "sqlite:/proc/no/such.db"], /folder cannot be made.*name a file/],
    [["serve", "--retention-days", "-1"], /--retention-days.*--help/],
    [["bogus"], /bogus.*--help/],
    [["--port", "serve"], /RELAY_PORT: must be a whole number.*"serve"/],
    [["serve", "demo"], /demo.*--help/],
    [["demo", "--rate", "0"], /--rate: must be messages a second/],
    [["demo", "--recording", "/no/such/file"], /--recording: .*name a recorded answer/],
  ];
  for (const [args, line] of rows) {
    it(args.join(" "), async () => {
      const { code, error } = await outcome(args);
      assert.equal(code, 1);
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
      const store = `sqlite:${join(await temporaryFolder(t), "relay.db")}`;
      const { code, error } = await outcome([command, "--port", String(port), "--store", store]);
      assert.equal(code, 1);
      assert.match(
        error,
        /^livechat-relay: cannot listen on 127\.0\.0\.1 port \d+ \(EADDRINUSE\): [^\n]+--port\n$/,
      );
    });
  }
});

describe("the demo", () => {
  it("prints a stream that brings messages and goes on, and stops at Ctrl-C", async () => {
    const child = start(["demo", "--port", "0", "--rate", "50"]);
    const exited = once(child, "exit");
    const url = await printed(child, /curl -N '(\S+)\/v1\/stream/);
    const stream = await Stream.open(url, { videoId: "demo-stream" });
    await stream.untilMessages(80);
    child.kill("SIGINT");
    assert.equal(await stream.ended(), undefined);
    assert.deepEqual(await exited, [0, null]);
  });

  it("plays a recording", { skip: noRecordings }, async () => {
    const child = start([
      "demo",
      "--port",
      "0",
      "--recording",
      join(import.meta.dirname, "../../shared/recorded/replay"),
    ]);
    const exited = once(child, "exit");
    const url = await printed(child, /curl -N '(\S+)\/v1\/stream/);
    await using stream = await Stream.open(url, { videoId: "demo-stream" });
    await stream.untilMessages(100);
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  });
});

it("serve prints where it listens, whatever the log's level, and --help every setting", async (t) => {
  const store = `sqlite:${join(await temporaryFolder(t), "relay.db")}`;
  const child = start(["--port", "0", "--store", store, "--log-level", "silent"]);
  const exited = once(child, "exit");
  const url = await printed(child, /listening on (http:\/\/127\.0\.0\.1:\d+)"/);
  assert.equal((await fetch(`${url}/readyz`)).status, 200);
  child.kill("SIGTERM");
  assert.deepEqual(await exited, [0, null]);
  const { code, out } = await outcome(["--help"]);
  assert.equal(code, 0);
  assert.match(out, /RELAY_PORT, --port \(default 8080\)/);
});
