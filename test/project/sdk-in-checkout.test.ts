/** The SDK in a checkout: `npm ci` builds it, as it runs the script `prepare` of each workspace. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import { ROOT } from "../support/command.ts";

const run = promisify(execFile);

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "checkout-"));
  for (const part of ["client", "src/protocol", "package.json", "tsconfig.json"]) {
    const filter = (path: string): boolean => path !== join(ROOT, "client/dist");
    await cp(join(ROOT, part), join(folder, part), { recursive: true, filter });
  }
});
after(() => rm(folder, { recursive: true, force: true }));

const prepare = () =>
  run("npm", ["run", "--if-present", "prepare", "--workspace", "client"], { cwd: folder });
const imported = () =>
  run(
    process.execPath,
    ["--input-type=module", "-e", 'console.log(typeof (await import("livechat-relay/client")).chat)'],
    { cwd: folder },
  );

it("fails no install that lacks the development packages", async () => {
  await prepare();
  await assert.rejects(imported(), /Cannot find module/);
});

it("can be imported as livechat-relay/client after npm ci", async () => {
  await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await prepare();
  assert.equal((await imported()).stdout, "function\n");
});
