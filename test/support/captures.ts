/**
 * Captured upstream bodies, which are beside the project and not part of it. Without them, their tests are
 * skipped.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";

const ROOT = new URL("../../../shared/recorded/", import.meta.url);

/** For a test's `skip`: the reason if there are no captures, else false. */
export const noCaptures: string | false = existsSync(ROOT) ? false : "no captures beside this checkout";

export function capturedText(name: string): string {
  return readFileSync(new URL(name, ROOT), "utf8");
}

export function capturedJson(name: string): unknown {
  return JSON.parse(capturedText(name));
}

/** The names of all in a folder, in order; none if there are no captures. */
export function capturedFiles(folder: string): string[] {
  if (noCaptures) return [];
  return readdirSync(new URL(folder, ROOT))
    .sort()
    .map((name) => `${folder}/${name}`);
}
