/** What the embedded store refuses to open, in which words, and that it leaves such files alone. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import {
  copyFile,
  link,
  mkdir,
  open,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { pino } from "pino";
import { systemClock } from "../../src/base/clock.ts";
import { assertRestored, openStore, StoreOpenError } from "../../src/store/open.ts";
import { FILE_DEFAULTS, openDatabase, SCHEMA_VERSION, STEPS } from "../../src/store/sqlite/sqlite-schema.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { StoreProcess } from "../support/store-process.ts";
import { messages, own, readAll, stored } from "../support/store-reading.ts";
import {
  BORN_MS,
  fileStore,
  filledFile,
  openFor,
  ROOM,
  temporaryFile,
  temporaryFolder,
  wallAt,
} from "../support/store-subject.ts";

async function refusal(url: string): Promise<string> {
  const error = await openStore(url, systemClock, new Telemetry(silentLog)).then(
    (store) => store.close(),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof StoreOpenError, `it opened, or failed with ${error}`);
  assert.ok(!error.message.includes("\n"), error.message);
  return error.message;
}

async function overwrite(path: string, from: number): Promise<void> {
  const { size } = await stat(path);
  const file = await open(path, "r+");
  await file.write(randomBytes(size - from), 0, size - from, from);
  await file.close();
}

function execute(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

test("a store of an unknown kind is refused, without its password", async () => {
  assert.match(
    await refusal("mysql://user:secret@host/x"),
    /"mysql:".*use sqlite:<path>, memory: or postgres:/,
  );
  assert.doesNotMatch(await refusal("mysql://user:secret@host/x"), /secret/);
  assert.match(await refusal("sqlite:"), /use sqlite:<path>, memory: or postgres:/);
  assert.match(await refusal(""), /use sqlite:<path>, memory: or postgres:/);
  assert.match(await refusal("sqlite::memory:"), /use memory:/);
});

test("the files of a store are its user's alone", async (t) => {
  const { path, store } = await fileStore(t);
  await own(store, ROOM);
  for (const ending of ["", "-wal", "-shm", "-lock"]) {
    const { mode } = await stat(`${path}${ending}`);
    assert.equal((mode & 0o777).toString(8), "600", ending);
  }
});

test("an empty file does not count as restored; the log names it if a new store is made in it", async (t) => {
  const path = await temporaryFile(t);
  await writeFile(path, "");
  assert.throws(() => assertRestored(`sqlite:${path}`), {
    name: "StoreOpenError",
    message: `RELAY_RESTORED: the file to restore is empty: put the backup at ${path}, then start again`,
  });
  const log: string[] = [];
  const telemetry = new Telemetry(pino({ level: "warn" }, { write: (line) => void log.push(line) }));
  await (await openStore(`sqlite:${path}`, systemClock, telemetry)).close();
  assert.match(
    log.join(""),
    /"path":".*relay\.db","msg":"the store's file was empty: made a new store in it"/,
  );
});

test("a missing folder is created, but none above it, and a place that cannot be a folder is refused", async (t) => {
  const folder = await temporaryFolder(t);
  const store = await openFor(t, `sqlite:${join(folder, "a", "relay.db")}`);
  await store.probeWrite(0);
  const deep = join(folder, "b", "c", "relay.db");
  assert.equal(
    await refusal(`sqlite:${deep}`),
    `store ${deep}: the folder ${join(folder, "b")} does not exist: create it, or name another file`,
  );
  assert.ok(!existsSync(join(folder, "b")));
  const file = join(folder, "file");
  await writeFile(file, "text");
  const path = join(file, "below", "relay.db");
  const message = await refusal(`sqlite:${path}`);
  assert.ok(message.includes(path) && message.includes("folder cannot be made"), message);
});

const UNUSABLE: Record<string, { says: RegExp; make: (path: string) => Promise<void> }> = {
  "a folder in place of the file": {
    says: /is a folder: name a file in it/,
    make: async (path) => void (await mkdir(path)),
  },
  "a folder in place of the lock": {
    says: /-lock cannot be opened: choose a file/,
    make: async (path) => void (await mkdir(`${path}-lock`)),
  },
  "a text file": {
    says: /is not an SQLite database: move it away/,
    make: (path) => writeFile(path, "just some text\n".repeat(1000)),
  },
  "another program's database": {
    says: /is a database of another program/,
    make: async (path) => execute(path, "create table theirs (x); insert into theirs values (1)"),
  },
  "another program's database with a version of its own": {
    says: /is a database of another program/,
    make: async (path) => execute(path, "pragma user_version = 1"),
  },
};

for (const [what, { says, make }] of Object.entries(UNUSABLE)) {
  test(`${what} is refused and left alone`, async (t) => {
    const path = await temporaryFile(t);
    await make(path);
    const before = await readFile(path).catch(() => undefined);
    const message = await refusal(`sqlite:${path}`);
    assert.match(message, says);
    assert.ok(message.includes(path), message);
    assert.deepEqual(await readFile(path).catch(() => undefined), before);
  });
}

test("a file of a newer schema is refused and left alone", async (t) => {
  const path = await filledFile(t);
  execute(path, "pragma user_version = 99");
  const before = await readFile(path);
  assert.match(
    await refusal(`sqlite:${path}`),
    /has schema 99, this program knows \d+: start a newer program/,
  );
  assert.deepEqual(await readFile(path), before);
});

test("a file of a schema that no step upgrades is refused and left alone, with what to do", async (t) => {
  const path = await filledFile(t);
  execute(path, `pragma user_version = ${SCHEMA_VERSION - STEPS.length}`);
  const before = await readFile(path);
  assert.match(
    await refusal(`sqlite:${path}`),
    /has schema 7, this program upgrades none before 8: export its chats with the version that wrote it, or name another file$/,
  );
  assert.deepEqual(await readFile(path), before);
});

/** Opens the file as a later program would. Returns its schema and the steps that it played. */
function openLater(path: string, steps: readonly string[]): { schema: unknown; played: number[] } {
  const played: number[] = [];
  const upgrade = (toSchema: number, step: () => void) => {
    step();
    played.push(toSchema);
  };
  using database = openDatabase(path, FILE_DEFAULTS, "refused", upgrade, steps);
  return { schema: database.prepare("pragma user_version").get()?.user_version, played };
}

const LATER = [
  ...STEPS,
  "alter table room add column invented text;",
  "alter table room drop column invented;",
];

test("a file is upgraded by the steps it lacks, then refused by a program without those steps", async (t) => {
  const path = await filledFile(t);
  assert.deepEqual(openLater(path, STEPS), { schema: 8, played: [] });
  assert.deepEqual(openLater(path, LATER.slice(0, 2)), { schema: 9, played: [9] });
  assert.deepEqual(openLater(path, LATER), { schema: 10, played: [10] });
  assert.deepEqual(openLater(path, LATER), { schema: 10, played: [] });
  assert.match(await refusal(`sqlite:${path}`), /has schema 10, this program knows 8: start a newer program/);
  execute(path, `pragma user_version = ${SCHEMA_VERSION}`);
  const store = await openFor(t, `sqlite:${path}`);
  assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, [...Array(400).keys()]));
});

test("a new file is made with all steps, which do not count as an upgrade", async (t) => {
  const path = await temporaryFile(t);
  assert.deepEqual(openLater(path, LATER), { schema: 10, played: [] });
});

test("a step that fails leaves the file at the schema before", async (t) => {
  const path = await filledFile(t);
  assert.throws(() => openLater(path, [...STEPS, "alter table room add column invented text; nonsense"]));
  assert.deepEqual(openLater(path, LATER.slice(0, 2)), { schema: 9, played: [9] });
});

test("a damaged file is refused, with advice", async (t) => {
  const path = await filledFile(t);
  const copy = `${path}-copy`;
  await copyFile(path, copy);
  await overwrite(copy, 4096);
  assert.match(await refusal(`sqlite:${copy}`), /is damaged: restore a backup/);
  await copyFile(path, copy);
  await truncate(copy, 8192);
  assert.match(await refusal(`sqlite:${copy}`), /is damaged: restore a backup/);
});

test("a second process on the same file is refused, until the first is killed", async (t) => {
  const path = await temporaryFile(t);
  const first = new StoreProcess(t, path, [ROOM]);
  assert.ok(await first.line("added"));
  assert.match(await refusal(`sqlite:${path}`), /is in use by another process: stop that one/);
  const second = new StoreProcess(t, path, [ROOM]);
  assert.match((await second.line("refused")) ?? "", /is in use by another process/);

  await first.kill();
  await first.drain();
  await first.assertKeptBy(await openFor(t, `sqlite:${path}`));
});

test("a file under two names has one lock, also within a process", async (t) => {
  const path = await filledFile(t);
  const link = `${path}-link`;
  await symlink(path, link);
  await openFor(t, `sqlite:${link}`);
  assert.match(await refusal(`sqlite:${path}`), /is in use by another process/);
});

test("a second name of the file in its folder has the lock of the first, whichever is opened first", async (t) => {
  for (const isLinkedBefore of [true, false]) {
    const path = await filledFile(t);
    const other = `${path}-other`;
    if (isLinkedBefore) await link(path, other);
    const store = await openFor(t, `sqlite:${path}`);
    if (!isLinkedBefore) await link(path, other);
    assert.match(await refusal(`sqlite:${other}`), /is in use by another process/);
    await store.close();
    await (await openFor(t, `sqlite:${other}`)).close();
  }
});

test("a file with a second name in another folder is refused, as nobody knows who uses that", async (t) => {
  const path = await filledFile(t);
  const other = await temporaryFile(t);
  await link(path, other);
  for (const name of [path, other])
    assert.match(await refusal(`sqlite:${name}`), /has another name in another folder \(a hard link\)/);
  await rm(other);
  await openFor(t, `sqlite:${path}`);
});

test("other programs can read the file while it is open", async (t) => {
  const path = await filledFile(t);
  const store = await openFor(t, `sqlite:${path}`, wallAt(BORN_MS));
  const claim = await own(store, ROOM);
  await store.append(claim, BORN_MS + 400, messages(["one more"]), "");
  const tool = new DatabaseSync(path, { readOnly: true });
  t.after(() => tool.close());
  assert.equal(tool.prepare("select count(*) as n from message").get()?.n, 401);
});

test("a closed store is a single file", async (t) => {
  const path = await filledFile(t);
  assert.equal(await stat(`${path}-wal`).catch(() => undefined), undefined);
  const alone = join(await temporaryFolder(t), "copy.db");
  await copyFile(path, alone);
  const store = await openFor(t, `sqlite:${alone}`);
  assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, [...Array(400).keys()]));
});
