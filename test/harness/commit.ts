/** The commit that is checked out, and its change: by them CI draws what it plays only some of. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";

/** Its hash, in hexadecimal digits. Throws outside of a clone, or without git. */
export function commitHash(): string {
  return git("rev-parse", "HEAD").trim();
}

/**
 * The paths that differ from the commit `CI_BASE`, by default the one before, committed or not; of a renamed
 * file both paths. None if a shallow clone does not have that commit. Throws as `commitHash` does.
 */
export function changedFiles(): string[] {
  const base = process.env.CI_BASE || "HEAD^";
  const isThere = git("rev-list", "--max-count=2", "HEAD").trim().includes("\n");
  if (!isThere) return [];
  const changed = git("diff", "--name-only", "--no-renames", "-z", base);
  const added = git("ls-files", "--others", "--exclude-standard", "-z");
  return `${changed}${added}`.split("\0").filter(Boolean);
}

function git(...words: string[]): string {
  return execFileSync("git", words, { cwd: join(import.meta.dirname, "../.."), encoding: "utf8" });
}
