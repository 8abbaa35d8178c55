/** What the embedded store does when its thread, its disk or its process is taken away. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { copyFile, rename, rm, symlink, unlink } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { startSimulator } from "../../simulator/index.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { ENDED } from "../../src/protocol/chat.ts";
import { openStore } from "../../src/store/open.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { startProcess } from "../support/relay-process.ts";
import { StoreProcess } from "../support/store-process.ts";
import { followed, messages, own, readAll, settled, stored } from "../support/store-reading.ts";
import {
  BORN_MS,
  fileStore,
  filledFile,
  isUnavailable,
  openFor,
  ROOM,
  temporaryFile,
  temporaryFolder,
  wallAt,
} from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

/** The thread that the store starts next. */
async function nextThread(): Promise<Worker> {
  const [worker] = await once(process, "worker");
  return worker;
}

/** The time within which the store notices a deleted file. */
const FILE_CHECK_MS = 2000;

test("a killed process loses nothing that it acknowledged, ten times over", async (t) => {
  const path = await temporaryFile(t);
  const rooms = ["room-one", "room-two", "room-three"];
  for (let round = 0; round < 10; round++) {
    const writer = new StoreProcess(t, path, rooms);
    for (let lines = 1 + Math.floor(Math.random() * 150); lines > 0; lines--) await writer.line("added");
    await writer.kill();
    await writer.drain();
    assert.ok(writer.heads.size > 0);
    const store = await openFor(t, `sqlite:${path}`);
    await writer.assertKeptBy(store);
    await store.close();
  }
});

test("a file that another program locks for writing is read, and not written until it is free", async (t) => {
  const { path, store } = await fileStore(t);
  const claim = await own(store, ROOM);
  await store.append(claim, BORN_MS, messages(["a"]), "");
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  other.exec("begin immediate");
  await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isUnavailable);
  assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a"]));
  other.exec("rollback");
  assert.deepEqual(await store.append(claim, BORN_MS + 1, messages(["b"]), ""), stored(BORN_MS + 1, ["b"]));
});

test("a commit whose append failed reaches the followers, once", async (t) => {
  const { path, store } = await fileStore(t);
  const claim = await own(store, ROOM);
  const items = store.follow(ROOM, BORN_MS, new AbortController().signal)[Symbol.asyncIterator]();
  const first = items.next();
  await store.append(claim, BORN_MS, messages(["a"]), "");
  await first;
  const second = items.next();
  await settled(store);

  // The commit that lost its answer: made behind the store's back, with the file locked after it.
  const [b] = stored(BORN_MS + 1, ["b"]);
  assert.ok(b);
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  other
    .prepare("insert into message (room, cursor, id, body, details, at) select key, ?, ?, ?, ?, ? from room")
    .run(b.cursor, b.id, b.body, b.details, BORN_MS);
  other.exec("update room set head = head + 1; begin immediate");
  await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isUnavailable);
  assert.deepEqual(await second, { done: false, value: [b] });

  other.exec("rollback");
  const { head = 0 } = (await store.getRoom(ROOM)) ?? {};
  assert.deepEqual(await store.append(claim, head, messages(["b"]), ""), []);
  const third = items.next();
  await store.finish(claim, ENDED);
  assert.deepEqual(await third, { done: false, value: ENDED });
});

test("a thread that dies fails its operations as unavailable; repeats lose and double nothing", async (t) => {
  const path = await temporaryFile(t);
  let thread = nextThread();
  const store = await openFor(t, `sqlite:${path}`, wallAt(BORN_MS));
  const claim = await own(store, ROOM);
  const following = followed(store, ROOM, BORN_MS);
  let head = BORN_MS;
  let failures = 0;
  for (let n = 0; n < 60; n++) {
    const batch = messages([n, n + 1, n + 2]);
    const outcome = store.append(claim, head, batch, `${n}`);
    if (n % 10 === 5) {
      const dying = await thread;
      thread = nextThread();
      for (let turns = 0; turns < n / 10; turns++) await turn();
      await dying.terminate();
    }
    try {
      head += (await outcome).length;
    } catch (error) {
      assert.ok(isUnavailable(error), String(error));
      failures++;
      head = (await store.getRoom(ROOM))?.head ?? 0;
      head += (await store.append(claim, head, batch, `${n}`)).length;
    }
  }
  assert.ok(failures > 0);
  await store.finish(claim, ENDED);
  const expected = stored(BORN_MS, [...Array(62).keys()]);
  assert.deepEqual(await readAll(store, ROOM), expected);
  assert.deepEqual((await following).messages, expected);
});

test("a close ends a thread that does not complete its calls, which then fail as unavailable", async (t) => {
  const path = await temporaryFile(t);
  let isLimited = false;
  const sleep: Clock["sleep"] = (ms, signal) => (isLimited ? turn() : systemClock.sleep(ms, signal));
  const store = await openFor(t, `sqlite:${path}`, { ...systemClock, sleep });
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  other.exec("begin immediate");
  // Each round of 64 writes waits a second for the other program.
  const writes = Array.from({ length: 130 }, () => assert.rejects(store.probeWrite(0), /the thread .* died/));
  await turn();
  isLimited = true; // from here on, every time limit is over at once
  await store.close();
  await Promise.all(writes);
});

test("a start is stopped while it waits for its disk", async (t) => {
  const path = await filledFile(t);
  const other = new DatabaseSync(path);
  t.after(() => other.close());
  other.exec("begin immediate"); // the first write waits a second for the other program, as for a disk
  const stopped = new AbortController();
  const starting = nextThread();
  const clock: Clock = { ...systemClock, sleep: () => turn() }; // every time limit is over at once
  const url = `sqlite:${path}`;
  const opening = openStore(url, clock, new Telemetry(silentLog), { stopped: stopped.signal });
  await starting;
  stopped.abort("SIGTERM");
  await assert.rejects(opening, (reason) => reason === "SIGTERM");
});

test("a follower waits longer and longer for an unavailable store, and continues where it was", async (t) => {
  const path = await temporaryFile(t);
  const waits: number[] = [];
  let waited = () => {};
  const clock: Clock = {
    ...systemClock,
    now: () => BORN_MS,
    sleep: async (ms) => {
      waits.push(ms);
      waited();
      await turn();
    },
  };
  const starting = nextThread();
  const store = await openFor(t, `sqlite:${path}`, clock);
  const claim = await own(store, ROOM);
  await store.append(claim, BORN_MS, messages(["a", "b"]), "");
  await (await starting).terminate();
  const thief = new DatabaseSync(`${path}-lock`);
  thief.exec("begin exclusive");

  const following = followed(store, ROOM, BORN_MS + 1);
  await assert.rejects(store.append(claim, BORN_MS + 2, [], ""), /in use by another process/);
  await assert.rejects(store.probeWrite(0), isUnavailable);
  while (waits.length < 8) {
    const { promise, resolve } = Promise.withResolvers<void>();
    waited = resolve;
    await promise;
  }
  thief.close();
  await store.append(claim, BORN_MS + 2, messages(["c"]), "");
  await store.finish(claim, ENDED);
  assert.deepEqual((await following).messages, stored(BORN_MS + 1, ["b", "c"]));
  assert.deepEqual(waits.slice(0, 8), [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
});

const LOSSES: Record<string, (path: string) => Promise<void>> = {
  deleted: (path) => rm(path),
  replaced: async (path) => {
    await copyFile(path, `${path}-copy`);
    await rename(`${path}-copy`, path);
  },
};

for (const [what, lose] of Object.entries(LOSSES)) {
  test(`an open file that is ${what} is noticed at its next use, by a new thread, or soon without`, async (t) => {
    const path = await temporaryFile(t);
    const starting = nextThread();
    const store = await openFor(t, `sqlite:${path}`, wallAt(BORN_MS));
    const unused = await openFor(t, `sqlite:${path}-unused`);
    const claim = await own(store, ROOM);
    await store.append(claim, BORN_MS, messages(["a"]), "");
    await lose(path);
    await lose(`${path}-unused`);

    assert.equal(await store.isReady(), false);
    const { message } = await store.lost;
    assert.match(message, /^store \S+relay.db was deleted or replaced .*; restart the service$/);
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), { message });
    await (await starting).terminate();
    // The first call after the end of the thread.
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isUnavailable);
    await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), { message });
    await unused.lost;
  });
}

test("a folder that the store may not look into costs it neither its thread nor its file", {
  skip: process.platform === "win32",
}, async (t) => {
  const folder = join(await temporaryFolder(t), "data");
  const starting = nextThread();
  const store = await openFor(t, `sqlite:${join(folder, "relay.db")}`, wallAt(BORN_MS));
  const claim = await own(store, ROOM);
  await store.append(claim, BORN_MS, messages(["a"]), "");
  let hasDied = false;
  const thread = await starting;
  thread.once("exit", () => {
    hasDied = true;
  });
  await rename(folder, `${folder}-away`);
  await symlink(folder, folder); // a link to itself: every look at the file fails
  await systemClock.sleep(2 * FILE_CHECK_MS); // the thread has no clock but the computer's, and says nothing
  await assert.rejects(store.append(claim, BORN_MS + 1, messages(["b"]), ""), isUnavailable);
  await unlink(folder);
  await rename(`${folder}-away`, folder);
  await store.append(claim, BORN_MS + 1, messages(["b"]), "");
  assert.equal(hasDied, false);
  assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b"]));
});

test("a service whose store is lost logs this, disconnects its viewers and exits with 1", async (t) => {
  const path = await temporaryFile(t);
  await using upstream = await startSimulator();
  upstream.chat(ROOM).say(1);
  await using relay = await startProcess(upstream, { RELAY_STORE: `sqlite:${path}` });
  await using viewer = await Stream.open(relay.url, { videoId: ROOM });
  await viewer.untilMessages(1);
  await rm(path);
  await relay.logged("the store is lost");
  assert.deepEqual(await relay.exited, { code: 1, signal: null });
  assert.doesNotMatch(relay.lastLines.join("\n"), /retrying/);
  assert.equal((await viewer.ended())?.event, undefined);
});
