/** Disks that are full, or nearly: for a service, a store and a backup. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, it, test } from "node:test";
import { Disk } from "../chaos/disk.ts";
import { longActions } from "../chaos/long-messages.ts";
import { ask, assertRefused } from "../support/api.ts";
import { outcome } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { without } from "../support/needs.ts";
import { startRelay } from "../support/relay.ts";
import { StoreProcess } from "../support/store-process.ts";
import { openFor, temporaryFile } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "no-space-01";

describe("a service on a nearly full disk", () => {
  it("is unready from a chat that cannot be opened until there is space, and then opens it", async (t) => {
    using disk = new Disk(16 << 20);
    if (!disk.canFill) return t.skip("mounting was refused");
    await using relay = await startRelay({ settings: { RELAY_STORE: disk.storeUrl } });
    const { url, upstream } = relay;
    const readiness = async () => {
      const { ready, reasons } = (await ask<{ ready: boolean; reasons: string[] }>(url, "/readyz")).body;
      assert.equal(ready, reasons.length === 0);
      return reasons.filter((reason) => !/^the event loop is \d+ ms late$/.test(reason)); // on a busy machine
    };
    assert.deepEqual(await readiness(), []);
    disk.fill(128 << 10);
    upstream.chat(VIDEO, { page: 100 }).say(longActions(0, 50));
    for (let attempt = 0; attempt < 3; attempt++) {
      assertRefused(await ask(url, `/v1/stream?videoId=${VIDEO}`), 503, "STORE_UNAVAILABLE");
      assert.deepEqual(await readiness(), ["the store does not work: the disk is full"]);
    }
    disk.free();
    await eventually(0, async () => (await readiness()).length);
    await using stream = await Stream.open(url, { videoId: VIDEO, backfill: 50 });
    await stream.untilMessages(50);
  });
});

it("a start on a full disk is refused as that, with an old store and a new one", async (t) => {
  using disk = new Disk(16 << 20);
  if (!disk.canFill) return t.skip("mounting was refused");
  for (const name of ["new", "old"]) {
    const store = disk.storeUrl.replace("relay.db", `${name}.db`);
    if (name === "old") {
      disk.free();
      await (await openFor(t, store)).close();
    }
    disk.fill();
    const { code, error } = await outcome(["serve", "--port", "0", "--store", store]);
    assert.equal(code, 1);
    assert.match(
      error,
      /^livechat-relay: RELAY_STORE: store \S+ cannot grow: free space on its disk [^\n]+\n$/,
    );
  }
});

test("a full disk makes the store unavailable, and nothing is missing once there is space again", {
  skip: without("prlimit"),
}, async (t) => {
  const path = await temporaryFile(t);
  const writer = new StoreProcess(t, path, ["room-one", "room-two"], ["prlimit", "--fsize=300000:unlimited"]);
  for (let failures = 0; failures < 6; failures++) assert.ok(await writer.line("unavailable"));
  const before = new Map(writer.heads);
  spawnSync("prlimit", ["--pid", `${writer.child.pid}`, "--fsize=unlimited:unlimited"]);
  for (const [videoId, head] of before) {
    while ((writer.heads.get(videoId) ?? 0) < head + 100) assert.ok(await writer.line("added"));
  }
  await writer.kill();
  await writer.drain();
  await writer.assertKeptBy(await openFor(t, `sqlite:${path}`));
});

describe("livechat-relay backup", () => {
  it("leaves nothing behind if its disk is full, or too full for the last step", async (t) => {
    const path = await temporaryFile(t);
    const relay = await startRelay({ settings: { RELAY_STORE: `sqlite:${path}` } });
    await relay[Symbol.asyncDispose]();
    const { size } = await stat(path);
    for (const space of [size - 4096, size + 4096]) {
      using disk = new Disk(space);
      if (!disk.canFill) return t.skip("mounting was refused");
      const { code, error } = await outcome(["backup", disk.path, "--store", `sqlite:${path}`]);
      assert.equal(code, 1);
      assert.match(error, /^livechat-relay: the backup [^\n]+ cannot be written: [^\n]+\n$/);
      assert.deepEqual(await readdir(dirname(disk.path)), []);
    }
  });
});
