/**
 * Builds the package's `dist/`: ES modules and CommonJS, each with its own types, because a compiler does not
 * let CommonJS use the types of an ES module. Both trees mirror the project: the SDK takes the table of kinds
 * from `src/protocol/`.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const CLIENT = import.meta.dirname;
const DIST = join(CLIENT, "dist");

const FORMATS = {
  esm: { type: "module", flags: [] },
  cjs: {
    type: "commonjs",
    flags: ["--module", "commonjs", "--moduleResolution", "bundler", "--verbatimModuleSyntax", "false"],
  },
};

rmSync(DIST, { recursive: true, force: true });
for (const [name, { type, flags }] of Object.entries(FORMATS)) {
  const folder = join(DIST, name);
  const tsc = join(CLIENT, "../node_modules/.bin/tsc");
  execFileSync(tsc, ["--project", CLIENT, "--outDir", folder, ...flags], { stdio: "inherit" });
  mkdirSync(folder, { recursive: true });
  // Bundlers ask the nearest package.json for side effects, not that of the package.
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ type, sideEffects: false })}\n`);
}
