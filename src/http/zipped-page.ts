/** Compresses pages of messages with gzip: one at a time, so that the cores stay free for live streams. */
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Semaphore } from "../base/semaphore.ts";

/** Higher levels take much longer to save little. */
export const GZIP = { level: 3 };
const zip = promisify(gzip);
const turns = new Semaphore(1);

/** The page in gzip. Rejects with the signal's reason if that aborts before its turn. */
export function zippedPage(page: Buffer | string, signal: AbortSignal): Promise<Buffer> {
  return turns.run(() => zip(page, GZIP), signal);
}
