/** The commit that is checked out: what CI plays another choice of for each change is drawn by it. */
import { execFileSync } from "node:child_process";

/** Its hash, in hexadecimal digits. Throws outside of a clone, or without git. */
export function commitHash(): string {
  return execFileSync("git", ["rev-parse", "HEAD"], { cwd: import.meta.dirname, encoding: "utf8" }).trim();
}
