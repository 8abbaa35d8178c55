/** What `serve` loads before anyone asks: each module stays in memory. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { startSimulator } from "../../src/simulator/index.ts";
import { freePorts, Service } from "../chaos/service.ts";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { testEnvironment } from "../support/relay.ts";

/** Reports at SIGUSR2 what the main thread has loaded from files. */
const REPORTING = `
import { registerHooks } from "node:module";
const loaded = [];
const load = (url, context, next) => (loaded.push(url), next(url, context));
registerHooks({ load });
process.on("SIGUSR2", () => process.stderr.write("LOADED " + loaded.join(" ") + "\\n"));
`;
/** Packages of the first call, of a token, and of another store. */
const LATER = ["undici", "jose", "pg"];

it("a service at rest has loaded at most 620 files, and none of a package that it needs later", {
  skip: process.env.RELAY_TEST_FILE !== undefined && "only a checkout has modules",
}, async () => {
  await using upstream = await startSimulator();
  const [port = 0] = await freePorts(1);
  const settings = {
    ...testEnvironment(upstream, { RELAY_STORE: "memory:" }),
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(REPORTING)}`,
  };
  await using relay = new Service({ projectDir: ROOT, port, settings });
  await relay.start();
  const reported = () => relay.lastLines.find((line) => line.startsWith("LOADED "));
  await eventually(true, () => {
    relay.signal("SIGUSR2");
    return reported() !== undefined;
  });
  const files = new Set((reported() ?? "").split(" ").filter((url) => url.startsWith("file:")));
  const packages = new Set(
    [...files].flatMap((url) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []),
  );
  assert.ok(packages.has("fastify"), "the report is of the service");
  assert.deepEqual(
    LATER.filter((name) => packages.has(name)),
    [],
  );
  // If it grows, look for an import that only one command, route or setting needs, and import it there.
  assert.ok(files.size <= 620, `${files.size} files`);
});
