/**
 * The commit of the sources that the program was built from, or that a checkout has. Git's files are read,
 * because git itself may be missing.
 */
import { readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGE_ROOT, VERSION } from "./own-files.ts";

/** The builder of the bundle puts the commit in its place. */
declare const BUILT_FROM: string | undefined;

/** No other commit of a project begins with the same characters. */
const SHORT = 12;
const HASH = /^[0-9a-f]{40,64}$/;

/** The hash of the commit; "" if it is not known. */
export function commit(): string {
  if (typeof BUILT_FROM === "string") return BUILT_FROM;
  return PACKAGE_ROOT ? commitOf(fileURLToPath(PACKAGE_ROOT)) : "";
}

/** The version, and the commit as far as people need it. */
export function versionLine(): string {
  const hash = commit();
  return `${VERSION}${hash && ` (${hash.slice(0, SHORT)})`}\n`;
}

/** The commit that is checked out in the folder; "" if there is none. */
export function commitOf(folder: string): string {
  try {
    return head(gitFolder(join(folder, ".git")));
  } catch {
    return "";
  }
}

/** A worktree has a file in place of the folder, which names it. */
function gitFolder(path: string): string {
  if (statSync(path).isDirectory()) return path;
  const [, named = ""] = /^gitdir: (.*)$/m.exec(readFileSync(path, "utf8")) ?? [];
  return resolve(path, "..", named);
}

function head(git: string): string {
  const text = readFileSync(join(git, "HEAD"), "utf8").trim();
  if (HASH.test(text)) return text;
  const reference = text.replace(/^ref: /, "");
  const common = join(git, textOf(join(git, "commondir")).trim());
  const packed = textOf(join(common, "packed-refs")).split("\n");
  const found =
    textOf(join(common, reference)) || packed.find((line) => line.endsWith(` ${reference}`)) || "";
  const [hash = ""] = found.trim().split(" ");
  return HASH.test(hash) ? hash : "";
}

/** "" if there is no such file. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
