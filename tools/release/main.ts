/**
 * Makes a release: the packages of the service and of the SDK, which `npm install` takes, the service as one
 * executable file, a list of the packages inside (an SBOM, in CycloneDX's form), and the checksums of all.
 * Builds from nothing: a file that an earlier build has left would be packed, too.
 *
 *     npm run release [-- FOLDER] [--platforms all|linux-x64,linux-arm64,win32-x64,darwin-arm64]
 *
 * Without `--platforms`, the executable is built for this machine only. The others need the registry, which
 * has Node for them.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "./bundle.ts";
import { billOfMaterials, buildExecutables, PLATFORMS, type Platform, THIS_PLATFORM } from "./executables.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { platforms: { type: "string", default: THIS_PLATFORM } },
});
const folder = resolve(positionals[0] ?? join(ROOT, "tools/release/packages"));
const known = Object.keys(PLATFORMS) as Platform[];
const named = values.platforms === "all" ? known : values.platforms.split(",");
const platforms = known.filter((platform) => named.includes(platform));
if (platforms.length < named.length)
  console.log(`No executable for ${named.filter((name) => !known.includes(name as Platform)).join(", ")}.`);

const npm = (...args: string[]): string => execFileSync("npm", args, { cwd: ROOT, encoding: "utf8" });

npm("run", "build");
mkdirSync(folder, { recursive: true });
const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
const [sdk] = JSON.parse(npm(...pack, "--workspaces"));
const packed: { filename: string }[] = [packService(), sdk];
writeFileSync(join(folder, "sbom.cdx.json"), billOfMaterials());
const executables = await buildExecutables(platforms, folder);
const sums = [...packed.map(({ filename }) => filename), ...executables, "sbom.cdx.json"].map((filename) => {
  const sum = createHash("sha256")
    .update(readFileSync(join(folder, filename)))
    .digest("hex");
  return `${sum}  ${filename}\n`;
});
writeFileSync(join(folder, "SHA256SUMS"), sums.join(""));
console.log(`${sums.join("")}in ${folder}`);

/** Packs the service without its dependencies: the bundle has them, and npm would install them beside it. */
function packService(): { filename: string } {
  using staged = mkdtempDisposableSync(join(tmpdir(), "service-"));
  const listed: { files: { path: string }[] }[] = JSON.parse(npm(...pack, "--dry-run"));
  for (const { path } of listed.flatMap(({ files }) => files))
    cpSync(join(ROOT, path), join(staged.path, path));
  const {
    dependencies: _,
    workspaces: __,
    ...manifest
  } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  writeFileSync(join(staged.path, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const [done] = JSON.parse(npm(...pack, staged.path));
  return done;
}
