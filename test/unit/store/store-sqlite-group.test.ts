/** Group commits, counted in the file's own log: writes that wait together share one commit. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { type OperationReply, Rounds } from "../../../src/store/sqlite/group-commit.ts";
import { openDatabase } from "../../../src/store/sqlite/sqlite-schema.ts";
import { tablesOn } from "../../../src/store/sqlite/sqlite-tables.ts";
import { messages, own, readAll, stored } from "../../support/store-reading.ts";
import { BORN_MS, fileStore, isUnavailable, poisonFile, ROOM } from "../../support/store-subject.ts";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/**
 * Commits in a write-ahead log since its last restart, by SQLite's file format: a frame that ends one says
 * so.
 */
async function commits(path: string): Promise<number> {
  const log = await readFile(`${path}-wal`);
  const frameBytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  const salt = log.subarray(16, 24);
  let count = 0;
  for (let at = HEADER_BYTES; at + frameBytes <= log.length; at += frameBytes) {
    if (!log.subarray(at + 8, at + 16).equals(salt)) break; // left over from before the restart
    if (log.readUInt32BE(at + 4) > 0) count++;
  }
  return count;
}

test("an append that fails midway is undone alone, and the others of its group are kept", async (t) => {
  const { path, store } = await fileStore(t);
  const rooms = ["one", "two", "three"];
  const claims = await Promise.all(rooms.map((room) => own(store, room)));
  const tool = new DatabaseSync(path); // stays open, so that the log that is counted stays too
  t.after(() => tool.close());
  tool.exec(`create trigger no_poison before insert on message when new.id = 'poison'
    begin select raise(abort, 'poison'); end`);

  const batches = [["a"], ["b", "poison", "c"], ["d"]];
  const before = await commits(path);
  const appends = claims.map((claim, n) => store.append(claim, BORN_MS, messages(batches[n] ?? []), "moved"));
  const outcomes = await Promise.allSettled(appends);
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  assert.equal((await commits(path)) - before, 1);
  assert.deepEqual(await readAll(store, "one"), stored(BORN_MS, ["a"]));
  assert.deepEqual(await readAll(store, "two"), []);
  assert.equal(await store.getRoom("two"), undefined);
  assert.deepEqual(await readAll(store, "three"), stored(BORN_MS, ["d"]));
});

test("a failed commit fails its whole group, and keeps nothing of it", async (t) => {
  const { path, store } = await fileStore(t);
  const claims = await Promise.all(["one", "two"].map((room) => own(store, room)));
  poisonFile(path, "poison");
  const group = claims.map((claim, n) => store.append(claim, BORN_MS, messages([n ? "poison" : "a"]), ""));
  for (const { status, reason } of (await Promise.allSettled(group)) as PromiseRejectedResult[]) {
    assert.equal(status, "rejected");
    assert.ok(isUnavailable(reason), String(reason));
  }
  assert.deepEqual(await readAll(store, "one"), []);
});

test("waiting appends share one commit, and single ones have one each", async (t) => {
  const { path, store } = await fileStore(t);
  const rooms = [...Array(50).keys()].map((n) => `room-${n}`);
  const claims = await Promise.all(rooms.map((room) => own(store, room)));

  const before = await commits(path);
  await Promise.all(claims.map((claim) => store.append(claim, BORN_MS, messages(["a", "b"]), "")));
  assert.equal((await commits(path)) - before, 1);
  for (const claim of claims) await store.append(claim, BORN_MS + 2, messages(["c"]), "");
  assert.equal((await commits(path)) - before, 1 + claims.length);
  for (const room of rooms) assert.deepEqual(await readAll(store, room), stored(BORN_MS, ["a", "b", "c"]));
});

test("a check rewrites existing data, so that a full disk refuses it", async (t) => {
  const { path, store } = await fileStore(t);
  await own(store, "one");
  const before = await commits(path);
  await store.probeWrite(0);
  assert.equal((await commits(path)) - before, 1);
});

test("a bug in one operation fails it as a bug, not as an unavailable store, and the others are kept", async (t) => {
  const database = openDatabase(":memory:");
  t.after(() => database.close());
  const tables = tablesOn(database, () => {});
  const replies: OperationReply[] = [];
  const file = {
    path: "a.db",
    connect: () => ({ database, tables }),
    disconnect: () => {},
    answer: (all: readonly OperationReply[]) => void replies.push(...all),
  };
  const rounds = new Rounds(file);
  const bug = new SyntaxError("a bug");
  const fail = () => {
    throw bug;
  };
  Object.assign(tables, { getRoom: fail, prune: fail });
  rounds.accept([
    { id: 1, op: "getRoom", args: [0, ROOM] },
    { id: 2, op: "prune", args: [0, [], 0, 1] },
    { id: 3, op: "take", args: [1, ROOM, 0] },
  ]);
  rounds.play();
  assert.deepEqual(replies, [
    { id: 1, bug },
    { id: 2, bug },
    { id: 3, value: { epoch: 2, head: 1, room: undefined } },
  ]);
});
