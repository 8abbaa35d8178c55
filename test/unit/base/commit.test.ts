/** The commit of a checkout, as git says it, however git keeps it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { commitOf } from "../../../src/base/commit.ts";
import { temporaryFolder } from "../../support/store-subject.ts";

test("the commit of a checkout is that of a branch, packed or not, of no branch, and of a worktree", async (t) => {
  const folder = await temporaryFolder(t);
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.org", ...args], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  assert.equal(commitOf(folder), "");
  git("init");
  assert.equal(commitOf(folder), "");
  writeFileSync(join(folder, "file"), "one");
  git("add", ".");
  git("commit", "-m", "one");
  const one = git("rev-parse", "HEAD");
  assert.equal(commitOf(folder), one);
  git("worktree", "add", "-b", "other", "beside");
  assert.equal(commitOf(join(folder, "beside")), one);
  git("pack-refs", "--all");
  assert.equal(commitOf(folder), one);
  assert.equal(commitOf(join(folder, "beside")), one);
  git("checkout", "--detach");
  assert.equal(commitOf(folder), one);
});
