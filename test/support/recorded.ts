/**
 * Recorded upstream bodies, which are beside the project and not part of it. Without them, their tests are
 * skipped.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";

const ROOT = new URL("../../../shared/recorded/", import.meta.url);

/** For a test's `skip`: the reason if there are no recordings, else false. */
export const noRecordings: string | false = existsSync(ROOT) ? false : "no recordings beside this checkout";

export function recordedText(name: string): string {
  return readFileSync(new URL(name, ROOT), "utf8");
}

export function recordedJson(name: string): unknown {
  return JSON.parse(recordedText(name));
}

/** The names of all in a folder, in order; none if there are no recordings. */
export function recordedFiles(folder: string): string[] {
  if (noRecordings) return [];
  return readdirSync(new URL(folder, ROOT))
    .sort()
    .map((name) => `${folder}/${name}`);
}
