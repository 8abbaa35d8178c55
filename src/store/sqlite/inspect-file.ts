/**
 * Looks at a store file without changing it or its folder: no lock is held, no step of the schema is played.
 * A service may be using it meanwhile.
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { HALF_FILLED, StoreError } from "../store-error.ts";
import type { StoreSummary } from "../store-summary.ts";
import { isLocked } from "./file-lock.ts";
import { adviceOnDenied, cannotOpen, existingPart, unavailable } from "./sqlite-error.ts";
import { isHalf, SCHEMA_VERSION, schemaVersion } from "./sqlite-schema.ts";

/** Throws `StoreError` "unavailable" if no service could use the file. */
export function inspectFile(path: string): StoreSummary {
  const existing = existingPart(path);
  const advice = adviceOnDenied(path);
  if (advice !== undefined) throw new StoreError("unavailable", `store ${path} ${advice}`);
  const folder = existing === path ? dirname(path) : existing;
  try {
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unavailable(cannotOpen(error), path);
  }
  const { bavail, bsize } = statfsSync(existing);
  const common = { place: path, known: SCHEMA_VERSION, freeBytes: bavail * bsize };
  const file = statSync(path, { throwIfNoEntry: false });
  if (!file?.size)
    return { ...common, schema: undefined, rooms: 0, bytes: 0, isInUse: false, isForeign: false };
  try {
    using database = openUnchanged(path);
    const schema = schemaVersion(database, path);
    if (isHalf(database)) throw new StoreError("unavailable", `store ${path} ${HALF_FILLED}`);
    return {
      ...common,
      schema,
      rooms: Number(database.prepare("select count(*) as rooms from room").get()?.rooms),
      bytes: file.size + (statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0),
      isInUse: isLocked(path),
      isForeign: file.uid !== statSync(folder).uid,
    };
  } catch (error) {
    throw unavailable(error, path);
  }
}

/**
 * SQLite would make its log and its index beside a file at rest, owned by the user who looks. So only a file
 * that has both is opened with them.
 */
function openUnchanged(path: string): DatabaseSync {
  const isOpen = existsSync(`${path}-wal`) && existsSync(`${path}-shm`);
  const url = pathToFileURL(path);
  if (!isOpen) url.search = "immutable=1";
  return new DatabaseSync(url, { readOnly: true });
}
