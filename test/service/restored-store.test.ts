/**
 * A store that has lost its latest time, under viewers that hold cursors of it: what they are sent when they
 * resume.
 */
import assert from "node:assert/strict";
import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it, type TestContext } from "node:test";
import { pino } from "pino";
import { openDatabase } from "../../src/store/sqlite/sqlite-schema.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { Line } from "../chaos/line.ts";
import { startTestEdge } from "../support/edge.ts";
import { textAction } from "../support/opening.ts";
import { startRelay, type TestRelayOptions } from "../support/relay.ts";
import { openFor, temporaryFile, temporaryFolder, wallAt } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const CHAT = { timeoutMs: 5 };

const ids = (letter: string, from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => `${letter}${from + n}`);

interface Loss {
  /**
   * Puts a store in the place of the one that the relay had; `backup` holds the first ten messages of thirty.
   */
  replace(path: string, backup: string): Promise<void>;
  settings?: TestRelayOptions["settings"];
}

const restore: Loss["replace"] = async (path, backup) => {
  await rm(path);
  await copyFile(backup, path);
};

/**
 * One life of the relay in which a viewer is sent thirty messages, the loss, and another life in which the
 * room is polled on and has said forty others when the viewer resumes. Gives its cursor and its new stream,
 * and an edge that followed both lives, with the stream that it had before the loss.
 */
async function resumedAfter(t: TestContext, { replace, settings }: Loss) {
  const folder = await temporaryFolder(t);
  const path = join(folder, "relay.db");
  const backup = join(folder, "backup.db");
  const before = await startRelay({ settings: { RELAY_STORE: `sqlite:${path}` } });
  const { upstream } = before;
  t.after(() => before[Symbol.asyncDispose]());
  const chat = upstream.chat(VIDEO, CHAT);
  chat.say(ids("a", 0, 10).map(textAction));
  const viewer = await Stream.open(before.url, { videoId: VIDEO });
  await viewer.untilMessages(10);
  const tool = new DatabaseSync(path, { readOnly: true });
  tool.prepare("vacuum into ?").run(backup);
  tool.close();
  chat.say(ids("a", 10, 30).map(textAction));
  const cursor = (await viewer.untilMessages(30)).at(-1)?.cursor ?? Number.NaN;
  const line = await Line.to(Number(new URL(before.url).port));
  t.after(() => line[Symbol.asyncDispose]());
  const edge = await startTestEdge(line.url);
  t.after(() => edge[Symbol.asyncDispose]());
  const atEdge = await Stream.open(edge.url, { videoId: VIDEO, lastEventId: 0 });
  await atEdge.untilMessages(30);
  await before.service.stop();
  await replace(path, backup);

  const log: string[] = [];
  const telemetry = new Telemetry(pino({ level: "warn" }, { write: (line) => void log.push(line) }));
  const after = await startRelay({
    upstream,
    telemetry,
    settings: { RELAY_STORE: `sqlite:${path}`, ...settings },
  });
  t.after(() => after[Symbol.asyncDispose]());
  line.leadsTo = Number(new URL(after.url).port);
  const next = upstream.chat(VIDEO, CHAT);
  next.say(ids("b", 0, 40).map(textAction));
  const witness = await Stream.open(after.url, { videoId: VIDEO, backfill: 500 });
  await witness.until(() => witness.ids.includes("b39"), "b39");
  const resumed = await Stream.open(after.url, { videoId: VIDEO, lastEventId: cursor, backfill: 5 });
  next.say(ids("b", 40, 45).map(textAction));
  for (const each of [witness, resumed]) await each.until(() => each.ids.includes("b44"), "b44");
  return { cursor, resumed, kept: witness.ids, edge, atEdge, log: log.map((text) => JSON.parse(text)) };
}

describe("a viewer with a cursor that the store has lost", () => {
  const losses: [what: string, kept: string[], loss: Loss][] = [
    [
      "by a RELAY_RESTORED=on backup",
      ids("a", 0, 10),
      { replace: restore, settings: { RELAY_RESTORED: "on" } },
    ],
    ["with the store's file", [], { replace: (path) => rm(path) }],
  ];
  for (const [what, history, loss] of losses) {
    it(`${what}, gets a backfill, shown in init.cursor, then misses nothing`, async (t) => {
      const { cursor, resumed, kept } = await resumedAfter(t, loss);
      assert.ok(resumed.init.cursor > cursor, "it stands among the cursors that it may hold");
      assert.deepEqual(resumed.ids, ids("b", 35, 45));
      // Nobody read the messages between the backup and its start.
      const gap = history.length > 0 ? [`gap:${kept.at(history.length)?.slice(4)}`] : [];
      assert.deepEqual(kept, [...history, ...gap, ...ids("b", 0, 45)]);
    });

    it(`${what}, gets the same at an edge, which closes its streams`, async (t) => {
      const { cursor, resumed, kept, edge, atEdge } = await resumedAfter(t, loss);
      assert.equal(await atEdge.ended(), undefined);
      assert.equal(atEdge.cursors.at(-1), cursor);
      const [back, all] = [
        await Stream.open(edge.url, { videoId: VIDEO, lastEventId: cursor, backfill: 5 }),
        await Stream.open(edge.url, { videoId: VIDEO, lastEventId: 0 }),
      ];
      for (const stream of [back, all]) await stream.until(() => stream.ids.includes("b44"), "b44");
      assert.equal(back.init.cursor, resumed.init.cursor + 5);
      assert.deepEqual([back.ids, all.ids], [ids("b", 40, 45), kept]);
    });
  }

  it("skips lost messages silently if the backup starts without RELAY_RESTORED, made for this", async (t) => {
    const { cursor, resumed } = await resumedAfter(t, { replace: restore });
    assert.equal(resumed.init.cursor, cursor);
    // The client has had the cursors of the gap and of b0 to b18.
    assert.deepEqual(resumed.ids, ids("b", 19, 45));
  });
});

it("a start with RELAY_RESTORED=on reports how many rooms it moved, and reminds to switch it off", async (t) => {
  const { log } = await resumedAfter(t, { replace: restore, settings: { RELAY_RESTORED: "on" } });
  const [line, ...others] = log.filter(({ msg }) => /RELAY_RESTORED/.test(msg));
  assert.deepEqual(others, []);
  assert.equal(line.rooms, 1);
  assert.match(line.msg, /switch it off/);
});

it("a stop ends a start with RELAY_RESTORED=on between two rooms; the next start moves all", async (t) => {
  const path = await temporaryFile(t);
  const rooms = ["aaaaaaaaaaa", "bbbbbbbbbbb", "ccccccccccc"];
  fill(path, rooms, 100_000);
  const wall = wallAt(Date.now());
  const store = await openFor(t, `sqlite:${path}`, wall);
  const stop = new AbortController();
  const moving = store.moveCursors(stop.signal);
  stop.abort("SIGTERM");
  await assert.rejects(moving, (reason) => reason === "SIGTERM");
  const bases = async () =>
    Promise.all(rooms.map(async (videoId) => (await store.getRoom(videoId))?.base ?? 0));
  const isMoved = (base: number) => base > 1000;
  assert.deepEqual((await bases()).map(isMoved), [true, true, false]);
  wall.nowMs += 5;
  assert.equal(await store.moveCursors(), 3);
  assert.ok((await bases()).every(isMoved));
  for (const videoId of rooms) {
    const { floor, head } = (await store.getRoom(videoId)) ?? assert.fail();
    const [first, last] = [await store.read(videoId, floor, 1), await store.read(videoId, head - 1, 1)];
    assert.deepEqual([first[0]?.cursor, last[0]?.cursor, head - floor], [floor + 1, head, 100_000]);
  }
});

/** Rooms with messages whose cursors begin above 1000. */
function fill(path: string, rooms: readonly string[], messages: number): void {
  const database = openDatabase(path);
  database.exec("begin");
  for (const [index, videoId] of rooms.entries()) {
    const room = `insert into room (key, video_id, epoch, base, floor, head, checkpoint, checkpoint_at)
      values (?, ?, 1, 1000, 1000, 1000 + ?, '{}', 1000)`;
    database.prepare(room).run(index + 1, videoId, messages);
    const message = `with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < ?2)
      insert into message (room, cursor, at, id, body, details) select ?1, 1000 + n, 1000, n, '{}', '{}' from numbers`;
    database.prepare(message).run(index + 1, messages);
  }
  database.exec("commit");
  database.close();
}
