/**
 * The executable file for Windows under Wine, where that is installed: it takes much space, and Wine 8 does
 * not run this Node.js.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { buildExecutables } from "../../tools/release/executables.ts";
import { ROOT } from "../support/command.ts";
import { temporaryFolder } from "../support/store-subject.ts";

const BUILT = join(ROOT, "tools/release/packages");
const NAME = "livechat-relay-windows-x64.exe";
/** Why Node.js ends before it runs any script: Wine 8 cannot reserve memory as V8 wants it. */
const NO_MEMORY = /Fatal process out of memory: SegmentedTable::InitializeTable \(subspace allocation\)/;

if (existsSync("/usr/bin/wine"))
  it("the Windows executable prints its version under Wine, unless Node.js cannot start there", async (t) => {
    const folder = await temporaryFolder(t);
    const isBuilt = existsSync(join(BUILT, NAME));
    if (!isBuilt) await buildExecutables(["win32-x64"], folder);
    const file = join(isBuilt ? BUILT : folder, NAME);
    const env = {
      ...process.env,
      WINEPREFIX: join(folder, "wine"),
      WINEDEBUG: "-all",
      WINEDLLOVERRIDES: "mscoree,mshtml=", // nothing is installed for them
      NODE_SKIP_PLATFORM_CHECK: "1", // Wine claims to be Windows 7
    };
    const { status, stdout, stderr } = spawnSync("wine", [file, "--version"], { env, encoding: "utf8" });
    spawnSync("wineserver", ["--wait"], { env }); // its processes write into the folder
    const [why] = NO_MEMORY.exec(stderr) ?? [];
    if (why) t.diagnostic(`Node.js does not start under this Wine: ${why}`);
    else {
      assert.equal(status, 0, stderr);
      assert.match(stdout, /^\d+\.\d+\.\d+ \([0-9a-f]{12}\)\s*$/);
    }
  });
