/** Chaos's control of the service: each kill point ends it at its step, and nothing outlives the driver. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { startSimulator } from "../../simulator/index.ts";
import { eventually } from "../support/eventually.ts";
import { testEnvironment } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";
import { Disk } from "./disk.ts";
import { FaultInjector, KILL_POINTS } from "./fault-injector.ts";
import { freePorts, Service } from "./service.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const VIDEO = "dQw4w9WgXcQ";
const SPOKEN_PER_SECOND = 50;

describe("chaos controls the service", { concurrency: true }, () => {
  it("each kill point ends the service at the named step, and a viewer resumes exactly", async (t) => {
    const upstream = await startSimulator();
    const disk = new Disk(32 * 1024 * 1024);
    const injector = new FaultInjector();
    const [port = 0] = await freePorts(1);
    const settings = testEnvironment(upstream, { RELAY_STORE: disk.storeUrl });
    const service = new Service({ projectDir: PROJECT, port, settings, injector });
    t.after(async () => {
      await service.close();
      await upstream.close();
      disk.close();
      injector.close();
    });
    await service.start();
    // A page load shows the whole chat, so a message that is missing in the end was lost by the relay.
    const chat = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 10, page: 1000, overlap: 20 });
    const speech = chat.speak(SPOKEN_PER_SECOND);
    const acceptEncoding = "identity"; // half a frame can be seen only without compression
    let stream = await Stream.open(service.url, { videoId: VIDEO, lastEventId: 0, acceptEncoding });
    const ids: string[] = [];
    for (const point of KILL_POINTS) {
      await stream.untilMessages(5);
      // After a slow start one batch can be larger than what a socket takes at once.
      await stream.until(() => stream.cursors.at(-1) === disk.room(VIDEO)?.head, "all that is kept");
      injector.arm(point);
      assert.deepEqual(await service.exited, { code: null, signal: "SIGKILL" });
      await stream.ended();
      const seen = stream.cursors.at(-1) ?? 0;
      const { head = 0 } = disk.room(VIDEO) ?? {};
      const isStored = KILL_POINTS.indexOf(point) >= KILL_POINTS.indexOf("after-commit");
      assert.ok(isStored ? head > seen : head === seen, `${point}: ${seen} was seen, ${head} is kept`);
      assert.equal(stream.raw.endsWith("\n\n"), point !== "half-frame");
      ids.push(...stream.ids);
      await service.start();
      stream = await Stream.open(service.url, { videoId: VIDEO, lastEventId: seen, acceptEncoding });
      await stream.untilMessages(1);
      assert.equal(stream.init.cursor, seen);
    }
    speech.stop();
    const said = chat.ledger.map(({ id }) => id);
    await stream.untilMessages(said.length - ids.length);
    await stream.close();
    assert.deepEqual([...ids, ...stream.ids], said);
    assert.deepEqual(injector.counts(), new Map(KILL_POINTS.map((point) => [point, 1])));
  });

  it("a service without the code that is to be wrapped does not start, and says what it lacks", async (t) => {
    const projectDir = await temporaryFolder(t);
    await mkdir(join(projectDir, "src/store/sqlite"), { recursive: true });
    const scripts = { start: `exec '${join(PROJECT, "node_modules/.bin/node")}' --eval ''` };
    await writeFile(join(projectDir, "package.json"), JSON.stringify({ type: "module", scripts }));
    await writeFile(join(projectDir, "src/store/sqlite/sqlite.ts"), "export class SqliteStore {}");
    const injector = new FaultInjector();
    t.after(() => injector.close());
    await using service = new Service({ projectDir, port: 0, settings: {}, injector });
    await assert.rejects(service.start(), /injector: .*sqlite\.ts has no SqliteStore\.prototype\.append/);
    assert.deepEqual(await service.exited, { code: 70, signal: null });
  });
});

describe("neither the service nor the disk outlives a driver that", () => {
  const ends = {
    breaks: 'throw new Error("broken")',
    "gets SIGTERM": 'process.kill(process.pid, "SIGTERM")',
  };
  for (const [name, end] of Object.entries(ends)) {
    it(name, async () => {
      const script = `
        import { Disk } from "./test/chaos/disk.ts";
        import { freePorts, Service } from "./test/chaos/service.ts";
        const disk = new Disk(8 << 20);
        const [port] = await freePorts(1);
        const service = new Service({ projectDir: ".", port, settings: { RELAY_STORE: disk.storeUrl } });
        await service.start();
        console.log(JSON.stringify({ url: service.url, storeUrl: disk.storeUrl }));
        ${end};`;
      const driver = spawn(process.execPath, ["--input-type=module-typescript", "--eval", script], {
        cwd: PROJECT,
        stdio: ["ignore", "pipe", "pipe"],
      });
      const ended = once(driver, "exit");
      const [written, errors] = await Promise.all([text(driver.stdout), text(driver.stderr)]);
      assert.notEqual(written, "", errors);
      const { url, storeUrl } = JSON.parse(written);
      assert.deepEqual(await ended, [1, null]);
      const folder = dirname(storeUrl.slice("sqlite:".length));
      assert.ok(!existsSync(folder));
      assert.ok(!(await readFile("/proc/self/mounts", "utf8")).includes(folder));
      await eventually(undefined, () => fetch(url).catch(() => undefined));
    });
  }
});
