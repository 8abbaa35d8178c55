/** The places that an export writes to: a device or a pipe, and a file that has several names. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, constants, openSync, writeSync } from "node:fs";
import { readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { it } from "node:test";
import { systemClock } from "../../src/base/clock.ts";
import { beginFile } from "../../src/base/whole-file.ts";
import { AnsweringServer, init, message, messages, streams } from "../support/answering-server.ts";
import { Command, outcome, outcomeInShell, ROOT, Run } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { temporaryFolder } from "../support/store-subject.ts";

const VIDEO = "dQw4w9WgXcQ";
/** The end of the stored messages. */
const NOW = 'event: end\ndata: {"reason":"until"}\n\n';

for (const [what, command, lines] of [
  ["a named pipe", "mkfifo F/pipe; cat F/pipe & relay ARGS --output F/pipe; code=$?; wait; exit $code", 2],
  ["standard output under its name", "relay ARGS --output /dev/stdout | cat", 2],
  ["nothing", "relay ARGS --output /dev/null", 0],
] as const)
  it(`an export into ${what} succeeds`, { skip: process.platform === "win32" }, async (t) => {
    const folder = await temporaryFolder(t);
    await using server = await AnsweringServer.start(streams(init(0), messages(1, 2), NOW));
    const args = `export ${VIDEO} --server ${server.url} --format jsonl`;
    const line = command.replaceAll("F/", `${folder}/`).replace("ARGS", args);
    const { code, out, error } = await outcomeInShell(line);
    assert.equal(error, "livechat-relay: 2 messages, up to cursor 2\n");
    assert.deepEqual([code, out.split("\n").length - 1], [0, lines]);
  });

/** More than a pipe holds. */
const MUCH = Array.from({ length: 300 }, (_, at) => message(at + 1, { message: "words ".repeat(200) })).join(
  "",
);

for (const [what, line] of [
  ["a named pipe whose reader has stalled", "mkfifo F/pipe; exec relay ARGS --output F/pipe 3<>F/pipe"],
  ["standard output whose reader has stalled", "mkfifo F/pipe; exec relay ARGS 3<>F/pipe >F/pipe"],
] as const)
  it(`an export into ${what} ends at the first signal`, { skip: process.platform === "win32" }, async (t) => {
    const folder = await temporaryFolder(t);
    await using server = await AnsweringServer.start(streams(init(0), MUCH));
    const args = `export ${VIDEO} --server ${server.url} --format jsonl --follow`;
    const script = line
      .replace("ARGS", args)
      .replace("relay", `'${process.execPath}' '${join(ROOT, "bin/livechat-relay.js")}'`)
      .replaceAll("F/", `${folder}/`);
    const command = new Command([script], { node: "bash", main: "-c", env: { PATH: process.env.PATH } });
    await server.changes.until(() => server.calls.length === 1, "the call");
    await eventually(true, () => isFull(join(folder, "pipe")));
    command.child.kill("SIGTERM");
    assert.deepEqual((await command.exited)[0], 143, command.error);
  });

/** The time between two looks for a reader of a named pipe. */
const CHECK_MS = 100;

/** Whether a named pipe with a reader takes nothing more. */
function isFull(pipe: string): boolean {
  const end = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  try {
    return writeSync(end, "x") === 0;
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "EAGAIN");
    return true;
  } finally {
    closeSync(end);
  }
}

it("an export into a named pipe that nobody opens ends at the first signal", {
  skip: process.platform === "win32",
}, async (t) => {
  const pipe = join(await temporaryFolder(t), "pipe");
  execFileSync("mkfifo", [pipe]);
  const sleep = t.mock.method(systemClock, "sleep");
  const command = new Run(["export", VIDEO, "--output", pipe, "--server", "http://127.0.0.1:1"]);
  const isWaiting = () => sleep.mock.calls.some(({ arguments: [ms] }) => ms === CHECK_MS);
  await eventually(true, () => command.listens("SIGTERM") && isWaiting());
  command.signal("SIGTERM");
  assert.equal(await command.exited, 143);
});

it("a file that appears while an export runs is not overwritten", async (t) => {
  const folder = await temporaryFolder(t);
  const path = join(folder, "chat.jsonl");
  await using server = await AnsweringServer.start(async (response, call) => {
    await writeFile(path, "somebody else's");
    streams(init(0), message(1), NOW)(response, call);
  });
  const { code, error } = await outcome(["export", VIDEO, "--server", server.url, "--output", path]);
  assert.deepEqual([code, error.includes(`${path} already exists`)], [2, true], error);
  assert.deepEqual(await readdir(folder), ["chat.jsonl"]);
  assert.equal(await readFile(path, "utf8"), "somebody else's");
});

it("what a killed process has left does not stop one with the same process id, as in a container", async (t) => {
  const path = join(await temporaryFolder(t), "chat.jsonl");
  const { part } = await beginFile(path);
  await using file = await beginFile(path);
  assert.notEqual(file.part, part); // two containers may share the folder, and both be process 1
  await writeFile(file.part, "whole");
  await file.finish();
  assert.equal(await readFile(path, "utf8"), "whole");
});

it("a process that a signal ends at once leaves no part of a backup or an export", async (t) => {
  const folder = await temporaryFolder(t);
  const begin = `import { beginFile } from ${JSON.stringify(join(ROOT, "src/base/whole-file.ts"))};
    await beginFile("chat.jsonl");
    process.exit(143);`;
  const ended = spawnSync(process.execPath, ["--input-type=module", "--eval", begin], { cwd: folder });
  assert.equal(ended.status, 143, String(ended.stderr));
  assert.deepEqual(await readdir(folder), []);
});

it("a file is continued by one export at a time, whatever name it is given", async (t) => {
  const folder = await temporaryFolder(t);
  const [path, link] = [join(folder, "chat.jsonl"), join(folder, "link.jsonl")];
  await using server = await AnsweringServer.start(
    streams(init(0), message(1), NOW),
    streams(init(1), message(2)),
  );
  const args = (output: string) => ["export", VIDEO, "--server", server.url, "--output", output, "--append"];
  assert.equal((await outcome(args(path))).code, 0);
  await symlink(path, link);
  const first = new Run(args(link));
  await server.changes.until(() => server.calls.length === 2, "the call");
  const { code, error } = await outcome(args(path));
  assert.deepEqual([code, error.includes(`${path} is in use by another process`)], [2, true], error);
  first.signal("SIGTERM");
  assert.equal(await first.exited, 143);
  assert.match(await readFile(path, "utf8"), /^\{"cursor":1,/);
});
