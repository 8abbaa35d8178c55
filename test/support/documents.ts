/**
 * The list of documents, and of the tests that read one: `.ci/run` plays only these if documents alone have
 * changed. Started as a program, it prints the kind of change since the commit `CI_BASE`, which has passed:
 * `documents`, or `everything`. Without that commit nobody knows whether the code before the last commit has
 * ever passed, so it is `everything`.
 */
import { existsSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseSync } from "oxc-parser";
import { changedFiles } from "../harness/commit.ts";

const ROOT = join(import.meta.dirname, "../..");

/** The files that are written for people, and that no program runs. All others count as code. */
const DOCUMENTS =
  /^([A-Z]+\.md|docs\/\w+\.md|docs\/pictures\/[\w-]+\.png|(client|tools\/bench)\/README\.md)$/;

/** How code names documents: a file of Markdown, or their folder. */
const NAMED = /\.md\b|\bdocs\b/;

/** Whether the files of a change, by their paths from the root, are documents alone. */
export function areDocuments(files: readonly string[]): boolean {
  return files.length > 0 && files.every((file) => DOCUMENTS.test(file));
}

/**
 * Whether a test reads documents: its code names one, or the code of a helper does. A comment does not count.
 * `file`: absolute, or from the root.
 */
export function readsDocuments(file: string, seen = new Set<string>()): boolean {
  const path = resolve(ROOT, file);
  if (seen.has(path)) return false;
  seen.add(path);
  const code = codeOf(path);
  return NAMED.test(code) || helpersIn(code, path).some((helper) => readsDocuments(helper, seen));
}

const codes = new Map<string, string>();

/** The text of a file without its comments. */
function codeOf(path: string): string {
  return codes.getOrInsertComputed(path, () => {
    const source = readFileSync(path, "utf8");
    const { comments } = parseSync(path, source);
    const starts = [0, ...comments.map(({ end }) => end)];
    return starts.map((start, at) => source.slice(start, comments[at]?.start)).join("");
  });
}

/** The files of test/ that code names: those that it imports, and those that it starts as programs. */
function helpersIn(code: string, path: string): string[] {
  const named = Array.from(code.matchAll(/["'`]((?:\.{1,2}|test)\/[\w./-]+\.[jt]s)\b/g), ([, name = ""]) =>
    resolve(name.startsWith(".") ? join(path, "..") : ROOT, name),
  );
  return named.filter((name) => relative(ROOT, name).startsWith("test/") && existsSync(name));
}

if (import.meta.main) {
  const isOfDocuments = Boolean(process.env.CI_BASE) && areDocuments(changedFiles());
  process.stdout.write(isOfDocuments ? "documents\n" : "everything\n");
}
