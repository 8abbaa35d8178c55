/**
 * Plays all tests, `npm test`, or the files and folders that are named. The start of a process, its imports
 * and its first calls cost more than most files' tests. So files share processes; the results are counted
 * over all.
 */
import { globSync, mkdtempDisposableSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { pathToFileURL } from "node:url";

/** Processes that play at once: some wait while others compute. */
const AT_ONCE = 4;
/** Processes that the other files share. */
const SHARED = 16;

/** Files with a process of their own: the long ones, which start first so that no core idles at the end. */
const ALONE = [
  "test/service/package.test.ts",
  "test/service/log-conformance.test.ts",
  "test/simulation/simulation.test.ts",
  "test/unit/upstream/hostile-content.test.ts", // measures its memory
  "test/service/exact-delivery.test.ts",
  "test/service/operations.test.ts",
  "test/simulation/neighbours.test.ts",
  "test/browser/page-access.test.ts",
  "test/cluster/cluster-database.test.ts",
  "test/cluster/cluster.test.ts",
  "test/browser/firefox.test.ts",
  "test/chaos/chaos-service.test.ts",
  "test/chaos/chaos-clients.test.ts", // asserts that it leaves no timer behind
  "test/unit/http/http-fuzz.test.ts", // measures its memory
  "test/unit/http/untaken-answers.test.ts", // measures its memory
  "test/unit/upstream/hostile-deadlines.test.ts", // measures its memory
  "test/unit/upstream/hostile-text.test.ts", // measures its memory
  "test/unit/upstream/hostile-upstream.test.ts", // measures its memory
  "test/unit/serving/viewers.test.ts", // has a hook after each test of the process
];

const named = process.argv.slice(2);
const files = (named.length > 0 ? named : ["test"]).flatMap((path) =>
  statSync(path).isDirectory()
    ? globSync(`${path}/**/*.test.ts`, { exclude: ["**/node_modules/**"] }).sort()
    : path,
);
const together = files.filter((file) => !ALONE.includes(file));

using folder = mkdtempDisposableSync(join(tmpdir(), "relay-tests-"));
const shared = Array.from({ length: Math.min(SHARED, together.length) }, (_, i) => {
  const path = join(folder.path, `together-${i}.test.mjs`);
  const paths = ["test/support/whole.js", ...together.filter((_, at) => at % SHARED === i)];
  writeFileSync(path, paths.map((file) => `import "${pathToFileURL(resolve(file))}";\n`).join(""));
  return path;
});
const options = {
  files: [...ALONE.filter((file) => files.includes(file)), ...shared],
  concurrency: AT_ONCE,
  globalSetupPath: "test/support/global-setup.ts", // which the types of Node.js do not know yet
};
const played = run(options);
played.on("test:fail", () => {
  process.exitCode = 1;
});
await pipeline(played, new spec(), process.stdout, { end: false });
