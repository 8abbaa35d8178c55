/** What makes the connections to the upstream is loaded at the first call, which may come at a bad time. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { it } from "node:test";
import { HttpConnections } from "../../../../src/upstream/egress/connections.ts";

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

/** `NO_PROXY`, a host, and whether its calls go through the proxy. */
const EXCEPTIONS: [list: string, hostname: string, isProxied: boolean][] = [
  ["", "www.youtube.com", true],
  ["youtube.com", "www.youtube.com", false],
  ["a.test, .YouTube.com:443", "www.youtube.com", false],
  ["a.test www.youtube.com", "www.youtube.com", false],
  ["*.youtube.com", "www.youtube.com", false],
  ["*.youtube.com", "youtube.com", true],
  ["tube.com", "www.youtube.com", true],
  ["youtube.com:8080", "www.youtube.com", true],
  ["a.test,*", "www.youtube.com", false],
];

for (const [list, hostname, isProxied] of EXCEPTIONS) {
  it(`asks ${hostname} ${isProxied ? "through the proxy" : "itself"} with NO_PROXY="${list}"`, (t) => {
    const { https_proxy, HTTPS_PROXY, no_proxy, NO_PROXY } = process.env;
    t.after(() => setEnv({ https_proxy, HTTPS_PROXY, no_proxy, NO_PROXY }));
    setEnv({ https_proxy: undefined, no_proxy: undefined }); // which go before the others
    setEnv({ HTTPS_PROXY: "http://proxy.test:3128", NO_PROXY: list });
    const connections = new HttpConnections({
      name: "direct",
      key: "direct",
      isNamed: false,
      kind: "direct",
    });
    assert.equal(connections.proxyOf(hostname), isProxied ? "http://proxy.test:3128" : undefined);
  });
}

function setEnv(env: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

it("is loaded by a later call if the first one finds no free file", {
  skip: process.platform === "win32",
}, () => {
  const command = `ulimit -n 256; exec "$0" --input-type=module -e "$1"`;
  const { stdout } = spawnSync("sh", ["-c", command, process.execPath, SCRIPT], { encoding: "utf8" });
  assert.equal(stdout, "EMFILE loaded\n");
});
