/**
 * Packs the service and the SDK, each into a file that `npm install` takes, and writes their checksums beside
 * them. Builds from nothing: a file that an earlier build has left would be packed, too.
 *
 *     npm run release [-- FOLDER]
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const folder = resolve(process.argv[2] ?? join(ROOT, "tools/release/packages"));

const npm = (...args: string[]): string => execFileSync("npm", args, { cwd: ROOT, encoding: "utf8" });

rmSync(join(ROOT, "dist"), { recursive: true, force: true });
npm("run", "build");
mkdirSync(folder, { recursive: true });
const pack = ["pack", "--json", "--ignore-scripts", "--workspaces", "--include-workspace-root"];
const packed: { filename: string }[] = JSON.parse(npm(...pack, "--pack-destination", folder));
const sums = packed.map(({ filename }) => {
  const sum = createHash("sha256")
    .update(readFileSync(join(folder, filename)))
    .digest("hex");
  return `${sum}  ${filename}\n`;
});
writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
console.log(`${sums.join("")}in ${folder}`);
