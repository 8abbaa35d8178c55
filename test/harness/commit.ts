/** The commit that is checked out, and its change: by them CI draws what it plays only some of. */
import { execFileSync } from "node:child_process";

/** Its hash, in hexadecimal digits. Throws outside of a clone, or without git. */
export function commitHash(): string {
  return git("rev-parse", "HEAD").trim();
}

/**
 * The paths that have changed since the commit `CI_BASE`, by default the one before; none if a shallow clone
 * does not have it. Throws as `commitHash` does.
 */
export function changedFiles(): string[] {
  const base = process.env.CI_BASE || "HEAD^";
  const isThere = git("rev-list", "--max-count=2", "HEAD").trim().includes("\n");
  return isThere ? git("diff", "--name-only", base, "HEAD").split("\n").filter(Boolean) : [];
}

function git(...words: string[]): string {
  return execFileSync("git", words, { cwd: import.meta.dirname, encoding: "utf8" });
}
