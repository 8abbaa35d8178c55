/**
 * Bundles the service and its packages: for the npm package into `dist/`, split so that a command loads what
 * it needs; and for the one executable file into a script for each of its threads. Beside the scripts are the
 * built pages and the licences of everything inside.
 *
 *     npm run build                                 fills `dist/`
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Metafile } from "esbuild";
import { commitOf } from "../../src/base/commit.ts";
import { pageFiles } from "../../src/http/page-files.ts";

export const ROOT = join(import.meta.dirname, "../..");
const THREAD = "src/store/sqlite/sqlite-worker.ts";

const COMMON = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: "node",
  target: "node24",
  entryNames: "[name]",
  chunkNames: "[name]-[hash]",
  charset: "ascii", // a script with other characters takes twice the memory
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none", // `licenses.txt` has all licences
  metafile: true,
  external: ["pg-native"], // an option of pg that nobody installs
  define: { BUILT_FROM: JSON.stringify(commitOf(ROOT)) },
  logLevel: "warning",
  logOverride: { "ignored-bare-import": "silent", "empty-import-meta": "silent" },
} as const satisfies BuildOptions;

/** Packages in CommonJS call `require`, which a module does not have. */
const REQUIRE = `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);`;

/** Writes the split bundle of the npm package. */
export async function bundlePackage(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const { metafile } = await build({
    ...COMMON,
    entryPoints: ["src/cli/main.ts", "src/cli/workers/worker.ts", THREAD],
    splitting: true,
    format: "esm",
    banner: { js: REQUIRE },
    outdir: folder,
  });
  addFiles(folder, metafile);
}

/** Writes the scripts of the one file: in CommonJS, which finds Node's modules without a file system. */
export async function bundleOneFile(folder: string): Promise<void> {
  const { metafile } = await build({
    ...COMMON,
    entryPoints: ["src/cli/one-file.ts", THREAD],
    format: "cjs",
    outdir: folder,
  });
  addFiles(folder, metafile);
}

function addFiles(folder: string, metafile: Metafile): void {
  for (const [path, read] of pageFiles()) {
    const file = join(folder, "pages", path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, read());
  }
  writeFileSync(join(folder, "licenses.txt"), licences(Object.keys(metafile.inputs)));
}

/** The licences of the service and of all packages that these files come from. */
function licences(files: readonly string[]): string {
  const folders = new Set(files.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []));
  const parts = ["", ...[...folders].sort(), "web/chat"].map((folder) => {
    const at = join(ROOT, folder);
    const manifest = join(at, "package.json");
    const { name, version, license } = existsSync(manifest)
      ? JSON.parse(readFileSync(manifest, "utf8"))
      : { name: "the icons of the pages", version: "", license: "" };
    const texts = readdirSync(at).filter((file) => /^(licen[cs]e|copying|notice)\b|\.license$/i.test(file));
    const text = texts
      .sort()
      .map((file) => readFileSync(join(at, file), "utf8").trim())
      .join("\n\n");
    return `${`${name} ${version}: ${license}`.trim()}\n\n${text}\n`;
  });
  return parts.join(`\n${"-".repeat(80)}\n\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundlePackage(join(ROOT, "dist"));
