/**
 * `backup` while the service writes. Each copy, put in the store's place, is intact and complete up to its
 * moment. `BACKUPS=60` takes 60 copies, one per second.
 */
import assert from "node:assert/strict";
import { chmod, copyFile, readdir, readFile, readlink, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import { outcome, outcomeOfProcess } from "../support/command.ts";
import { startRelay } from "../support/relay.ts";
import { temporaryFile, temporaryFolder } from "../support/store-subject.ts";
import { assertConsecutive, Stream } from "../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const COUNT = Number(process.env.BACKUPS ?? 3);
const PER_SECOND = 400;

describe("livechat-relay backup", () => {
  it(`takes ${COUNT} copies under load into one file, each intact and complete up to its moment`, async (t) => {
    const folder = await temporaryFolder(t);
    const store = `sqlite:${join(folder, "relay.db")}`;
    const target = join(folder, "backup.db");
    await using relay = await startRelay({ settings: { RELAY_STORE: store } });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 10, forget: true, holdsMs: 5000 });
    chat.speak(PER_SECOND);
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.untilMessages(50);
    for (let count = 0; count < COUNT; count++) {
      const seen = viewer.messages.length;
      const { code, error } = await outcomeOfProcess(["backup", target, "--store", store]);
      assert.equal(code, 0, error);
      assert.match(error, /^livechat-relay: .*backup\.db: \d+ bytes\n$/);
      assertSound(target, viewer, seen);
      if (count % 10 === 0)
        await assertRestores(
          target,
          join(folder, "restored.db"),
          viewer.messages.slice(0, seen).slice(-2000),
        );
      const next = COUNT > 3 ? PER_SECOND : 1; // of many backups one a second
      await viewer.untilMessages(viewer.messages.length + next);
    }
    assert.equal(viewer.over, false);
    assert.deepEqual(
      (await readdir(folder)).filter((name) => name.startsWith("backup")),
      ["backup.db"],
    );
  });

  const wrong: [string, (path: string) => string[], RegExp, code: number][] = [
    [
      "a store in memory",
      (path) => [path, "--store", "memory:"],
      /RELAY_STORE: only a sqlite: store has a file/,
      2,
    ],
    [
      "a database",
      (path) => [path, "--store", "postgres://db.example/relay"],
      /for PostgreSQL, use pg_dump/,
      2,
    ],
    ["a store that is not there", (path) => [path, "--store", `sqlite:${path}x`], /does not exist/, 1],
    [
      "a database of another program",
      (path) => [`${path}y`, "--store", `sqlite:${path}`],
      /not a store of livechat-relay/,
      1,
    ],
    [
      "a store that is not a database",
      (path) => [`${path}y`, "--store", `sqlite:${import.meta.filename}`],
      /: store \S+ is not an SQLite database: move it away, or name another file \(/,
      1,
    ],
    ["no file", () => [], /<file> is missing/, 2],
  ];
  for (const [what, args, line, expected] of wrong) {
    it(`refuses ${what} in one line, and leaves the old copy alone`, async (t) => {
      const path = await temporaryFile(t);
      const foreign = new DatabaseSync(path);
      foreign.exec("create table mine (x)");
      foreign.close();
      const before = await readFile(path);
      const { code, error } = await outcome(["backup", ...args(path)]);
      assert.equal(code, expected);
      assert.match(error, /^livechat-relay: [^\n]+\n$/);
      assert.match(error, line);
      assert.deepEqual(await readFile(path), before);
      assert.equal((await readdir(dirname(path))).length, 1);
    });
  }

  it("refuses the store's own files, whatever their name, and places that cannot hold a file", async (t) => {
    const path = await temporaryFile(t);
    await using _relay = await startRelay({ settings: { RELAY_STORE: `sqlite:${path}` } });
    const folder = dirname(path);
    await symlink(folder, join(folder, "link"));
    await symlink(path, join(folder, "linked.db"));
    await writeFile(join(folder, "notes.txt"), "kept".repeat(100));
    const own = [
      "relay.db",
      "linked.db",
      "relay.db-wal",
      "relay.db-shm",
      "relay.db-lock",
      "link/relay.db-wal",
    ];
    const refusals: [string, RegExp][] = [
      ...own.map((name): [string, RegExp] => [join(folder, name), /belongs to the store: name another file/]),
      [join(folder, "notes.txt"), /notes\.txt is not a backup of a store: name another file$/],
      [folder, /is a directory: name a file in it, such as \/\S+\/relay\.db$/],
      ["/dev/null", /^livechat-relay: \/dev\/null is not a file: name another place/],
      ["/proc/backup.db", /the backup \/proc\/backup\.db cannot be written: /],
      [
        join(folder, "no", "x.db"),
        /the folder \S+\/no does not exist: create it, or name another \(ENOENT\)$/,
      ],
    ];
    for (const [target, line] of refusals) {
      const before = await readFile(`${path}-wal`);
      const { code, error } = await outcome(["backup", target, "--store", `sqlite:${path}`]);
      assert.equal(code, target === join(folder, "no", "x.db") ? 2 : 1, target);
      assert.match(error, /^livechat-relay: [^\n]+\n$/);
      assert.match(error.trimEnd(), line);
      assert.deepEqual(await readFile(`${path}-wal`), before);
    }
  });

  it("gives a new copy the store's permissions, and keeps those of an older copy and its link", async (t) => {
    const path = await temporaryFile(t);
    const relay = await startRelay({ settings: { RELAY_STORE: `sqlite:${path}` } });
    await relay[Symbol.asyncDispose]();
    await chmod(path, 0o600);
    const [copy, link] = [join(dirname(path), "copy.db"), join(dirname(path), "link.db")];
    const args = ["--store", `sqlite:${path}`];
    assert.equal((await outcome(["backup", copy, ...args])).code, 0);
    assert.equal((await stat(copy)).mode & 0o777, 0o600);
    await chmod(copy, 0o640);
    await symlink(copy, link);
    assert.equal((await outcome(["backup", link, ...args])).code, 0);
    assert.equal((await stat(copy)).mode & 0o777, 0o640);
    assert.equal(await readlink(link), copy);
  });
});

/** The copy holds all that a viewer had seen when it was begun, and cursors without a gap. */
function assertSound(path: string, viewer: Stream, seen: number): void {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    assert.equal(database.prepare("pragma integrity_check").get()?.integrity_check, "ok");
    const room = database.prepare("select floor, head from room").get() ?? {};
    const rows = database.prepare("select cursor from message order by cursor").all();
    assertConsecutive(
      rows.map(({ cursor }) => Number(cursor)),
      Number(room.floor),
    );
    assert.equal(rows.length, Number(room.head) - Number(room.floor));
    assert.ok(Number(room.head) >= (viewer.cursors[seen - 1] ?? Number.POSITIVE_INFINITY));
  } finally {
    database.close();
  }
}

/** A service that is started on it gives out the same messages. */
async function assertRestores(copy: string, path: string, messages: Stream["messages"]): Promise<void> {
  await copyFile(copy, path);
  await using relay = await startRelay({
    settings: { RELAY_STORE: `sqlite:${path}`, RELAY_GRACE_MS: "60000" },
  });
  relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 10 }).say(1);
  const [first] = messages;
  await using reader = await Stream.open(relay.url, {
    videoId: VIDEO,
    lastEventId: (first?.cursor ?? 0) - 1,
  });
  const given = await reader.untilMessages(messages.length);
  assert.deepEqual(given.slice(0, messages.length), messages);
}
