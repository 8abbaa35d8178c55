/** Copies a store file while a service writes to it. */
import { existsSync, realpathSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { backup, DatabaseSync } from "node:sqlite";
import { StoreError } from "../port.ts";
import { APPLICATION_ID } from "./schema.ts";

/**
 * Copies all pages in one step: SQLite restarts a copy in several steps after each write between two of them.
 */
const ALL_PAGES = 2 ** 31 - 1;
/** The maximum wait for another program that has locked the file. */
const BUSY_TIMEOUT_MS = 10_000;

/**
 * Copies the store file `path` to `target`, complete up to the moment of the copy, and checks the copy before
 * it replaces an older `target`. Rejects with `StoreError`, whose message is one line; `target` is then
 * unchanged.
 */
export async function backupFile(path: string, target: string): Promise<void> {
  if (!existsSync(path)) throw refused(path, "does not exist: set RELAY_STORE or --store");
  if (existsSync(target) && realpathSync(target) === realpathSync(path))
    throw refused(path, "is the store itself: choose another file for the backup");
  const part = `${target}.${process.pid}.part`;
  try {
    await copy(path, part);
    await makeDurable(part);
    await rename(part, target);
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError("unavailable", `the backup ${target} cannot be made: ${reason}`, error);
  } finally {
    await rm(part, { force: true });
  }
}

async function copy(path: string, part: string): Promise<void> {
  const source = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    if (source.prepare("pragma application_id").get()?.application_id !== APPLICATION_ID)
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

async function makeDurable(path: string): Promise<void> {
  const file = await open(path, "r+");
  await file.sync().finally(() => file.close());
}

function refused(path: string, reason: string): StoreError {
  return new StoreError("unavailable", `store ${path} ${reason}`);
}
