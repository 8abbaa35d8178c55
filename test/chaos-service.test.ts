/**
 * The chaos driver's hold on the service: each way to kill it, to hurt its store or to take its disk does what it
 * says, and the service, begun by `npm start`, goes on from it with nothing lost, doubled or let go.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Disk } from "../chaos/disk.ts";
import { FaultInjector, type InjectedFault, KILL_POINTS, THREAD_DEATHS } from "../chaos/fault-injector.ts";
import { freePorts, Service } from "../chaos/service.ts";
import { type Simulator, startSimulator } from "../src/simulator/index.ts";
import { testEnvironment } from "./support/relay.ts";
import { temporaryFolder } from "./support/store-subject.ts";
import { assertConsecutive, Stream } from "./support/stream.ts";

type Chat = ReturnType<Simulator["chat"]>;

const PROJECT = fileURLToPath(new URL("..", import.meta.url));
const VIDEOS = ["dQw4w9WgXcQ", "aaaaaaaaaaa", "bbbbbbbbbbb"] as const;
const [VIDEO] = VIDEOS;
const DISK_BYTES = 32 * 1024 * 1024;
const SPOKEN_PER_SECOND = 50;
/** The longest that anything may take here. */
const PATIENCE_MS = 15_000;

/** Asks again and again: for what tells nobody that it has come. */
async function until(holds: () => Promise<boolean>, what: string): Promise<void> {
  const limit = performance.now() + PATIENCE_MS;
  while (!(await holds())) {
    assert.ok(performance.now() < limit, `not within ${PATIENCE_MS} ms: ${what}`);
    await pause(20);
  }
}

/** A viewer in each of some rooms that speak. */
class Audience {
  readonly #streams: readonly Stream[];
  readonly #chats: readonly Chat[];
  readonly #speeches: readonly { stop(): void }[];

  static async open(stage: Stage, videoIds: readonly string[]): Promise<Audience> {
    const chats = videoIds.map((videoId) => stage.chat(videoId));
    const streams = await Promise.all(videoIds.map((videoId) => Stream.open(stage.service.url, { videoId })));
    const audience = new Audience(streams, chats);
    await audience.untilMore();
    return audience;
  }

  private constructor(streams: readonly Stream[], chats: readonly Chat[]) {
    this.#streams = streams;
    this.#chats = chats;
    this.#speeches = chats.map((chat) => chat.speak(SPOKEN_PER_SECOND));
  }

  /** The last cursor of each. */
  get heads(): (number | undefined)[] {
    return this.#streams.map(({ cursors }) => cursors.at(-1));
  }

  /** Everybody is sent something that was not there yet. */
  async untilMore(): Promise<void> {
    await Promise.all(this.#streams.map((stream) => stream.untilMessages(stream.messages.length + 5)));
  }

  async untilKeepalives(): Promise<void> {
    const waits = this.#streams.map((stream) => {
      const due = stream.comments.length + 5;
      return stream.until(() => stream.comments.length >= due, "keepalives");
    });
    await Promise.all(waits);
  }

  /** Ends the speeches: everybody has got all of them, over one connection. */
  async assertExact(): Promise<void> {
    for (const speech of this.#speeches) speech.stop();
    for (const [i, stream] of this.#streams.entries()) {
      const said = this.#chats[i]?.ledger.map(({ id }) => id) ?? [];
      await stream.untilMessages(said.length);
      assertConsecutive(stream.cursors, stream.init.cursor);
      assert.deepEqual(stream.ids, said);
      assert.ok(!stream.over);
      await stream.close();
    }
  }
}

/** A service with all that a driver holds it by, gone with the test. */
class Stage {
  readonly upstream: Simulator;
  readonly disk = new Disk(DISK_BYTES);
  readonly injector = new FaultInjector();
  readonly service: Service;

  static async open(t: TestContext): Promise<Stage> {
    const [port = 0] = await freePorts(1);
    const stage = new Stage(await startSimulator(), port);
    t.after(async () => {
      await stage.service.close();
      await stage.upstream.close();
      stage.disk.close();
      stage.injector.close();
    });
    await stage.service.start();
    return stage;
  }

  private constructor(upstream: Simulator, port: number) {
    this.upstream = upstream;
    const { disk, injector } = this;
    const settings = testEnvironment(upstream, { RELAY_STORE: disk.storeUrl, RELAY_KEEPALIVE_MS: "100" });
    this.service = new Service({ projectDir: PROJECT, port, settings, injector });
  }

  /** Whoever loads a page is shown all that was said: what is missing in the end, the relay has lost. */
  chat(videoId: string): Chat {
    return this.upstream.chat(videoId, { kinds: ["text"], timeoutMs: 10, page: 1000, overlap: 20 });
  }

  fired(name: InjectedFault, count = 1): Promise<void> {
    return this.injector.untilFired(name, count, AbortSignal.timeout(PATIENCE_MS));
  }

  /** What the service answers whoever asks whether it is ready. */
  async readiness(): Promise<number> {
    const { status } = await fetch(`${this.service.url}/readyz`, {
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return status;
  }

  untilReadiness(wanted: number): Promise<void> {
    return until(async () => (await this.readiness()) === wanted, `readiness ${wanted}`);
  }
}

it("each kill point ends the service where it says, and a viewer resumes exactly", async (t) => {
  const stage = await Stage.open(t);
  const { service, injector, disk } = stage;
  const chat = stage.chat(VIDEO);
  const speech = chat.speak(SPOKEN_PER_SECOND);
  let stream = await Stream.open(service.url, { videoId: VIDEO, lastEventId: 0 });
  const ids: string[] = [];
  for (const point of KILL_POINTS) {
    await stream.untilMessages(5);
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
    stream = await Stream.open(service.url, { videoId: VIDEO, lastEventId: seen });
    await stream.untilMessages(1);
    assert.equal(stream.init.cursor, seen);
    assertConsecutive(stream.cursors, seen);
  }
  speech.stop();
  const said = chat.ledger.map(({ id }) => id);
  await stream.untilMessages(said.length - ids.length);
  await stream.close();
  assert.deepEqual([...ids, ...stream.ids], said);
  assert.deepEqual(injector.counts(), new Map(KILL_POINTS.map((point) => [point, 1])));
});

it("a store's thread that dies in the midst of several rooms' messages costs no viewer anything", async (t) => {
  const stage = await Stage.open(t);
  const { service, injector } = stage;
  const audience = await Audience.open(stage, VIDEOS);
  for (const death of THREAD_DEATHS) {
    await audience.untilMore();
    injector.arm(death);
    await stage.fired(death);
  }
  await audience.assertExact();
  assert.equal(service.errors.get("the store's thread died"), THREAD_DEATHS.length);
  assert.ok(service.pid);
});

it("commits take as much longer as they are told, and a stalled loop asks the upstream nothing meanwhile", async (t) => {
  const stage = await Stage.open(t);
  const audience = await Audience.open(stage, [VIDEO]);
  const { injector, upstream } = stage;
  injector.arm("slow-commit", 200, 3);
  await stage.fired("slow-commit", 3);
  const [first, second, third] = injector.fired();
  assert.ok(first && second && third && second.at - first.at >= 200 && third.at - second.at >= 200);
  await audience.untilMore();

  injector.arm("stall-loop", 700);
  await stage.fired("stall-loop");
  const stalledAt = injector.fired().at(-1)?.at ?? 0;
  await audience.untilMore();
  const since = stalledAt - performance.timeOrigin;
  const [asked] = await upstream.requested("get_live_chat", { since });
  assert.ok(asked && asked.at - since > 690, "a poll in the midst of a stall");
  await audience.assertExact();
  assert.deepEqual(injector.counts().get("slow-commit"), 3);
});

describe("a disk that fails pauses everything and lets nobody go; once it is well, all that was said comes", () => {
  const faults = [
    {
      name: "full",
      can: (disk: Disk) => disk.canFill,
      lack: "no file system may be mounted here",
      begin: ({ disk }: Stage) => disk.fill(),
      end: (disk: Disk) => disk.free(),
    },
    {
      name: "locked by a stranger",
      can: () => true,
      lack: "",
      begin: ({ disk }: Stage) => disk.lock(),
      end: (disk: Disk) => disk.unlock(),
    },
    {
      name: "read-only",
      can: (disk: Disk) => disk.canSeal,
      lack: "no file can be made immutable here",
      begin: ({ disk, injector }: Stage) => disk.seal(injector),
      end: (disk: Disk) => disk.unseal(),
    },
  ];
  for (const { name, can, lack, begin, end } of faults) {
    it(name, async (t) => {
      const stage = await Stage.open(t);
      const { disk } = stage;
      if (!can(disk)) return t.skip(lack);
      const audience = await Audience.open(stage, VIDEOS);
      begin(stage);
      await stage.untilReadiness(503);
      await audience.untilKeepalives();
      const { heads } = audience;
      await audience.untilKeepalives();
      assert.deepEqual(audience.heads, heads, "published while the store failed");
      assert.equal(await stage.readiness(), 503);
      end(disk);
      await stage.untilReadiness(200);
      await audience.assertExact();
    });
  }
});

it("a room that a stranger takes over lets its viewers go, who resume exactly once it is taken back", async (t) => {
  const stage = await Stage.open(t);
  const { service, disk } = stage;
  const chat = stage.chat(VIDEO);
  const speech = chat.speak(SPOKEN_PER_SECOND);
  const before = await Stream.open(service.url, { videoId: VIDEO, lastEventId: 0 });
  await before.untilMessages(5);
  const { epoch = 0 } = disk.room(VIDEO) ?? {};
  const taken = disk.claim(VIDEO);
  assert.equal(taken.epoch, epoch + 1);
  await before.ended();
  const seen = before.cursors.at(-1) ?? 0;
  assert.equal(seen, taken.head);
  await using after = await Stream.open(service.url, { videoId: VIDEO, lastEventId: seen });
  speech.stop();
  const said = chat.ledger.map(({ id }) => id);
  await after.untilMessages(said.length - before.ids.length);
  assertConsecutive(after.cursors, seen);
  assert.deepEqual([...before.ids, ...after.ids], said);
  assert.equal(disk.room(VIDEO)?.epoch, epoch + 2);
});

it("a service that lacks what is to be wrapped does not start, and says what it lacks", async (t) => {
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

describe("neither service nor disk outlives a driver that", () => {
  const ends = {
    breaks: 'throw new Error("broken")',
    "is told to go": 'process.kill(process.pid, "SIGTERM")',
  };
  for (const [name, end] of Object.entries(ends)) {
    it(name, async () => {
      const script = `
        import { Disk } from "./chaos/disk.ts";
        import { freePorts, Service } from "./chaos/service.ts";
        const disk = new Disk(8 << 20);
        const [port] = await freePorts(1);
        const service = new Service({ projectDir: ".", port, settings: { RELAY_STORE: disk.storeUrl } });
        await service.start();
        console.log(JSON.stringify({ url: service.url, storeUrl: disk.storeUrl }));
        ${end};`;
      const driver = spawn(process.execPath, ["--input-type=module-typescript", "--eval", script], {
        cwd: PROJECT,
        stdio: ["ignore", "pipe", "ignore"],
      });
      const ended = once(driver, "exit");
      const { url, storeUrl } = JSON.parse(await text(driver.stdout));
      assert.deepEqual(await ended, [1, null]);
      const folder = dirname(storeUrl.slice("sqlite:".length));
      assert.ok(!existsSync(folder));
      assert.ok(!(await readFile("/proc/self/mounts", "utf8")).includes(folder));
      const isGone = () =>
        fetch(url).then(
          () => false,
          () => true,
        );
      await until(isGone, "the end of the service"); // what is killed takes a moment to go
    });
  }
});
