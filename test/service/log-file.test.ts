/**
 * A log that is written to a file or a pipe, as by `serve >> relay.log`: full disks, a rotation meanwhile,
 * and a reader that reads no more.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { startSimulator } from "../../simulator/index.ts";
import { Disk } from "../chaos/disk.ts";
import { freePorts } from "../chaos/service.ts";
import { ask, assertRefused } from "../support/api.ts";
import { Command, ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { testEnvironment } from "../support/relay.ts";
import { temporaryFile } from "../support/store-subject.ts";

const LIMIT = { timeout: 300_000 };
/** A file of a full disk can still grow to the end of its last page. */
const PAGE_BYTES = 4096;

/** A service that appends its log to a file. `refuse` makes it log a line of the video that it returns. */
async function logging(t: TestContext, file: string, command = "serve") {
  const upstream = await startSimulator();
  t.after(() => upstream.close());
  const [port = 0] = await freePorts(1);
  const serve = `exec '${process.execPath}' '${join(ROOT, "bin/livechat-relay.js")}' ${command} >> '${file}'`;
  const env = testEnvironment(upstream, { RELAY_PORT: `${port}` });
  const service = new Command([serve], { node: "sh", main: "-c", env });
  t.after(() => service.child.kill("SIGKILL"));
  const url = `http://127.0.0.1:${port}`;
  let nextId = 100;
  const status = (path: string) => fetch(`${url}${path}`).then((answer) => answer.status);
  await eventually(200, () => status("/readyz").catch(() => 0));
  return {
    service,
    refuse: async () => {
      const videoId = `no-chat-${nextId++}`;
      assertRefused(await ask(url, `/v1/stream?videoId=${videoId}`), 404, "NO_LIVE_CHAT");
      return videoId;
    },
  };
}

describe("a log on a full disk", LIMIT, () => {
  it("costs its lines and nothing else: the service starts, answers and stops", async (t) => {
    const { service, refuse } = await logging(t, "/dev/full");
    for (let n = 0; n < 3; n++) await refuse();
    service.child.kill("SIGTERM");
    assert.deepEqual(await service.exited, [0, null], service.error);
  });

  it("costs the demo its greeting, too, and nothing else", async (t) => {
    const { service } = await logging(t, "/dev/full", "demo");
    service.child.kill("SIGTERM");
    assert.deepEqual(await service.exited, [0, null], service.error);
  });

  it("goes on in a line of its own once there is space, reports lost lines, and can be truncated", async (t) => {
    using disk = new Disk(1 << 20);
    if (!disk.canFill) return t.skip("mounting was refused");
    const file = join(dirname(disk.path), "relay.log");
    const { service, refuse } = await logging(t, file);
    const log = () => readFileSync(file, "utf8");
    disk.fill();
    const inPage = log().length;
    for (let n = 0; n < 40; n++) await refuse(); // more than the file's last page has room for
    await eventually(0, () => log().length % PAGE_BYTES);
    assert.ok(log().length > inPage);
    assert.match(log(), /[^\n]$/);
    disk.free();
    const refused = await refuse();
    await eventually(true, () => log().includes("are missing"));
    const line = new RegExp(`"${refused}".*\n`); // it comes behind the report if another line was first
    await eventually(true, () => line.test(log()));
    const whole = log().slice(PAGE_BYTES);
    truncateSync(file);
    await refuse();
    service.child.kill("SIGTERM");
    assert.deepEqual(await service.exited, [0, null], service.error);
    const messages = (text: string) =>
      text
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line).msg);
    // A line of before may have been under way when there was space again.
    const [first, ...rest] = messages(whole);
    assert.equal(first, "room not opened");
    assert.deepEqual(
      rest.filter((message) => message !== first),
      ["lines of the log are missing"],
    );
    assert.deepEqual(messages(log()), ["room not opened", "stopping", "stopped"]);
  });
});

it("a log that nobody reads keeps the service from neither answering nor stopping", LIMIT, async (t) => {
  const pipe = join(dirname(await temporaryFile(t)), "log");
  execFileSync("mkfifo", [pipe]);
  const reader = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK);
  t.after(() => closeSync(reader));
  const fill = () => {
    for (;;) writeSync(reader, "x".repeat(PAGE_BYTES));
  };
  assert.throws(fill, { code: "EAGAIN" });
  const { service, refuse } = await logging(t, pipe);
  await refuse();
  service.child.kill("SIGTERM");
  assert.deepEqual(await service.exited, [0, null], service.error);
});
