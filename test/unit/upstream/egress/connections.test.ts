/** What makes the connections to the upstream is loaded at the first call, which may come at a bad time. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { it } from "node:test";

const CONNECTIONS = new URL("../../../../src/upstream/egress/connections.ts", import.meta.url);

/** Prints what became of opening the connections without a free file, and then with free files. */
const SCRIPT = `
  import { closeSync, openSync } from "node:fs";
  import { HttpConnections } from "${CONNECTIONS}";
  const connections = new HttpConnections({ name: "direct", key: "direct", isNamed: false, kind: "direct" });
  const open = () => connections.open().then(() => "loaded", ({ code }) => code);
  const held = [];
  try {
    for (;;) held.push(openSync("/dev/null"));
  } catch {}
  const first = await open();
  held.forEach((file) => closeSync(file));
  console.log(first, await open());`;

it("is loaded by a later call if the first one finds no free file", {
  skip: process.platform === "win32",
}, () => {
  const command = `ulimit -n 256; exec "$0" --input-type=module -e "$1"`;
  const { stdout } = spawnSync("sh", ["-c", command, process.execPath, SCRIPT], { encoding: "utf8" });
  assert.equal(stdout, "EMFILE loaded\n");
});
