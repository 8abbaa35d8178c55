/**
 * Plays tests, and names at the end what this machine lacks for those that were skipped.
 *
 *     npm test                        all that need `npm ci` alone
 *     npm test -- PATH...             named files and folders; with --watch again after each change
 *     npm run test:unit -- FOLDER...  folders of test/unit; also with --watch
 *     npm run test:all                also browsers, PostgreSQL, other programs and captures; with --whole, a
 *                                     skipped test fails the run
 *
 * With --documents, each plays only the files of it that read documents.
 *
 * The start of a process, its imports and its first calls cost more than most files' tests. So files share
 * processes; the results are counted over all.
 */
import { existsSync, globSync, mkdtempDisposableSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { remedies } from "./support/needs.ts";

/** The folders whose tests need more than `npm ci`. */
const NEEDY = ["test/browser", "test/captured", "test/cluster", "test/programs"];
/** Limit of a test or suite that has none of its own: one that never ends must not keep the run. */
const TIMEOUT_MS = 20 * 60_000;
/** Processes that play at once: some wait while others compute. */
const AT_ONCE = 6;

/**
 * Files with a process of their own: those that measure it, and the long ones, which start first so that no
 * core idles at the end.
 */
const ALONE = [
  "test/programs/package.test.ts",
  "test/programs/log-conformance.test.ts",
  "test/simulation/simulation.test.ts",
  "test/relay/origin/edge-line.test.ts",
  "test/relay/upstream/unreachable.test.ts",
  "test/relay/upstream/hostile-content.test.ts", // measures its memory
  "test/programs/exact-delivery.test.ts",
  "test/service/operations.test.ts",
  "test/simulation/neighbours.test.ts",
  "test/browser/page-access.test.ts",
  "test/cluster/cluster-database.test.ts",
  "test/cluster/cluster.test.ts",
  "test/browser/firefox.test.ts",
  "test/chaos/chaos-service.test.ts",
  "test/relay/http/http-fuzz.test.ts", // measures its memory
  "test/relay/http/unread-responses.test.ts", // measures its memory
  "test/unit/upstream/hostile-deadlines.test.ts", // measures its memory
  "test/unit/upstream/hostile-text.test.ts", // measures its memory
  "test/relay/upstream/hostile-upstream.test.ts", // measures its memory
  "test/relay/serving/counts.test.ts", // measures its memory
  "test/relay/http/what-stays.test.ts", // counts what it keeps
  "test/relay/rooms/crowds.test.ts", // V8 counts its steps
  "test/relay/serving/viewers.test.ts", // has a hook after each test of the process
];

const flag = { type: "boolean", default: false } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { all: flag, documents: flag, unit: flag, watch: flag, whole: flag },
});

const inFolder = (path: string): string[] =>
  globSync(`${path}/**/*.test.ts`, { exclude: ["**/node_modules/**"] }).sort();

/** The files of a path: of what it names, or with `--unit` of a folder of test/unit. */
function filesOf(path: string): string[] {
  const within = join("test/unit", path);
  const found = values.unit && existsSync(within) ? within : path;
  return statSync(found).isDirectory() ? inFolder(found) : [found];
}

function isNeedy(file: string): boolean {
  return NEEDY.some((folder) => file.startsWith(`${folder}/`));
}

function chosen(): string[] {
  if (positionals.length > 0) return positionals.flatMap(filesOf);
  if (values.unit) return inFolder("test/unit");
  return inFolder("test").filter((file) => values.all || !isNeedy(file));
}

/** Loads the parser of code only if it is needed. */
async function readersOfDocuments(paths: readonly string[]): Promise<string[]> {
  const { readsDocuments } = await import("./support/documents.ts");
  return paths.filter((path) => readsDocuments(path));
}

/** Writes files that each import up to `most` of these files, and returns their paths. */
function shared(name: string, files: readonly string[], most: number): string[] {
  const processes = Math.min(files.length, Math.max(AT_ONCE, Math.ceil(files.length / most)));
  return Array.from({ length: processes }, (_, i) => {
    const path = join(folder.path, `${name}-${i}.test.mjs`);
    const paths = ["test/support/whole.js", ...files.filter((_, at) => at % processes === i)];
    writeFileSync(path, paths.map((file) => `import "${pathToFileURL(resolve(file))}";\n`).join(""));
    return path;
  });
}

const files = values.documents ? await readersOfDocuments(chosen()) : chosen();
const together = Object.groupBy(
  files.filter((file) => !ALONE.includes(file)),
  (file) => (/^test\/(unit|relay)\//.test(file) ? "computing" : "waiting"),
);
using folder = mkdtempDisposableSync(join(tmpdir(), "relay-tests-"));
const options = {
  files: [
    ...shared(
      "alone",
      ALONE.filter((file) => files.includes(file)),
      1,
    ),
    // Those that start processes wait for them: they start before those that compute.
    ...shared("waiting", together.waiting ?? [], 6),
    ...shared("computing", together.computing ?? [], 20),
  ],
  concurrency: AT_ONCE,
  timeout: TIMEOUT_MS,
  watch: values.watch,
  // Which the types of Node.js do not know yet.
  ...(files.some(isNeedy) && { globalSetupPath: "test/support/global-setup.ts" }),
};
const played = run(options);
let skipped = 0;
const reasons = new Set<string>();
played.on("test:fail", () => {
  process.exitCode = 1;
});
played.on("test:pass", ({ skip }) => {
  if (skip === undefined) return;
  skipped += 1;
  if (typeof skip === "string" && skip !== "") reasons.add(skip);
});
await pipeline(played, new spec(), process.stdout, { end: false });
if (skipped > 0) {
  const lines = [`${skipped} tests or suites were SKIPPED. They need:`, ...remedies(reasons)];
  process.stdout.write(`${lines.join("\n  ")}\n`);
  if (values.whole) process.exitCode = 1;
}
