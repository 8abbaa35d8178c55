/**
 * Builds the SDK where a checkout is installed, so that `livechat-relay/client` can be imported there. Plain
 * JavaScript that fails no install: without the development packages there is nothing to build with, and
 * `npm run build` says why a build fails.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

// Before a package is made, `prepack` has built it.
const isPacked = ["pack", "publish"].includes(process.env.npm_command ?? "");
if (!isPacked && existsSync(new URL("../node_modules/typescript", import.meta.url))) {
  const { status } = spawnSync(process.execPath, [fileURLToPath(new URL("build.ts", import.meta.url))]);
  if (status !== 0)
    process.stderr.write("The SDK is not built: npm run build --workspace client says why.\n");
}
