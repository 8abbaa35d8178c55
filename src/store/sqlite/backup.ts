/** Copies a store file while a service writes to it. */
import { closeSync, existsSync, openSync, readSync, realpathSync, statSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { backup, DatabaseSync } from "node:sqlite";
import { fileTrouble, MISSING, missing } from "../../base/file-trouble.ts";
import { beginFile } from "../../base/whole-file.ts";
import { StoreError } from "../store-error.ts";
import { unavailable } from "./sqlite-error.ts";
import { APPLICATION_ID } from "./sqlite-schema.ts";

/** All pages are copied in one step. With several steps, each write between two of them restarts the copy. */
const ALL_PAGES = 2 ** 31 - 1;
/** The maximum wait for another program that has locked the file. */
const BUSY_TIMEOUT_MS = 10_000;

/** The header of a database file, https://www.sqlite.org/fileformat2.html, section 1.3. */
const HEADER_BYTES = 100;
const APPLICATION_ID_OFFSET = 68;

/** The endings of the store's file, and of those that SQLite and the service keep next to it. */
const COMPANIONS = ["", "-wal", "-shm", "-journal", "-lock"];

/**
 * Copies the store file `path` to `target`, complete up to the moment of the copy, and checks the copy before
 * it replaces an older `target`, whose permissions it keeps; a new one gets those of the store. Rejects with
 * `StoreError`, whose message is one line, also if `target` is a file of another kind; it is then unchanged.
 */
export async function backupFile(path: string, target: string): Promise<void> {
  const why = missing(path);
  if (why) throw refused(path, why === MISSING ? `${why}: set RELAY_STORE or --store` : why);
  try {
    assertBackup(path, target);
    await using file = await beginFile(target, statSync(path).mode);
    await using _companions = { [Symbol.asyncDispose]: () => removeCompanions(file.part) };
    await copy(path, file.part);
    await makeDurable(file.part);
    await file.finish();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError("unavailable", `the backup ${target} ${fileTrouble(target, "written", error)}`, {
      cause: error,
    });
  }
}

/** Throws `StoreError` if `target` is not a backup that may be replaced, and like `statSync`. */
function assertBackup(path: string, target: string): void {
  const found = statSync(target, { throwIfNoEntry: false });
  if (found && !found.isFile()) {
    const what = found.isDirectory()
      ? `is a directory: name a file in it, such as ${join(target, "relay.db")}`
      : "is not a file: name another place for the backup";
    throw new StoreError("unavailable", `${target} ${what}`);
  }
  if (COMPANIONS.some((ending) => realPath(target) === `${realpathSync(path)}${ending}`))
    throw new StoreError("unavailable", `${target} belongs to the store: name another file for the backup`);
  if (found && found.size > 0 && !isStore(target))
    throw new StoreError("unavailable", `${target} is not a backup of a store: name another file`);
}

/** Whether the file is a store, by its header alone: a damaged store is one, too. */
function isStore(path: string): boolean {
  const header = Buffer.alloc(HEADER_BYTES);
  const file = openSync(path, "r");
  try {
    readSync(file, header);
  } finally {
    closeSync(file);
  }
  return header.readUInt32BE(APPLICATION_ID_OFFSET) === APPLICATION_ID;
}

/** The file's place without links, whether it exists or not. */
function realPath(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : path;
}

async function copy(path: string, part: string): Promise<void> {
  const source = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    if (applicationOf(source, path) !== APPLICATION_ID)
      throw refused(path, "is not a store of livechat-relay");
    await backup(source, part, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  const made = new DatabaseSync(part);
  try {
    made.exec("pragma journal_mode = delete"); // a single file, without a write-ahead log
    const { quick_check: found } = made.prepare("pragma quick_check(1)").get() ?? {};
    if (found !== "ok") throw refused(path, `is damaged: ${found}`);
  } finally {
    made.close();
  }
}

/** Throws `StoreError` if the store, and not the copy, is at fault. */
function applicationOf(source: DatabaseSync, path: string): unknown {
  try {
    return source.prepare("pragma application_id").get()?.application_id;
  } catch (error) {
    throw unavailable(error, path);
  }
}

/** What SQLite leaves beside a file that it could not write to the end. */
async function removeCompanions(path: string): Promise<void> {
  for (const ending of ["-wal", "-shm", "-journal"]) await rm(`${path}${ending}`, { force: true });
}

async function makeDurable(path: string): Promise<void> {
  const file = await open(path, "r+");
  await file.sync().finally(() => file.close());
}

function refused(path: string, reason: string): StoreError {
  return new StoreError("unavailable", `store ${path} ${reason}`);
}
