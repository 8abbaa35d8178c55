/**
 * What lies in deploy/, as far as a machine without Docker goes: proxies with a viewer behind them, alerts,
 * the unit.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { collectDefaultMetrics } from "prom-client";
import { freePorts } from "../chaos/service.ts";
import { chat } from "../client/index.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { ROOT } from "./support/command.ts";
import { startRelay } from "./support/relay.ts";
import { temporaryFolder } from "./support/store-subject.ts";
import { Changes } from "./support/viewers.ts";

const run = promisify(execFile);
const VIDEO = "dQw4w9WgXcQ";
const DEPLOY = join(ROOT, "deploy");

const skipWithout = (program: string) =>
  spawnSync(program, ["--version"]).error ? `${program} is not installed` : false;

/**
 * How each proxy is started on a port, from the example in deploy/, in front of the service at `upstream`.
 */
const PROXIES: Record<string, (folder: string, port: number, upstream: string) => Promise<ChildProcess>> = {
  nginx: async (folder, port, upstream) => {
    const example = await readFile(join(DEPLOY, "nginx.conf"), "utf8");
    const site = example
      .replace("listen 80;", `listen 127.0.0.1:${port};`)
      .replace("127.0.0.1:8080", upstream);
    const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const temp = paths.map((name) => `${name}_temp_path ${folder}/${name};`).join(" ");
    const main = `daemon off; pid ${folder}/pid; error_log stderr error; events {} http { access_log off; ${temp} ${site} }`;
    await writeFile(join(folder, "nginx.conf"), main);
    return spawn("nginx", ["-p", folder, "-c", join(folder, "nginx.conf")], { stdio: "ignore" });
  },
  caddy: (folder, port, upstream) => startCaddy("Caddyfile", folder, port, { RELAY_UPSTREAM: upstream }),
  // The other instances are down.
  "caddy --cluster": (folder, port, upstream) =>
    startCaddy("Caddyfile.cluster", folder, port, {
      RELAY_UPSTREAMS: `127.0.0.1:9 ${upstream} 127.0.0.1:13`,
    }),
};

async function startCaddy(file: string, folder: string, port: number, upstreams: NodeJS.ProcessEnv) {
  const example = await readFile(join(DEPLOY, file), "utf8");
  const lean = example.replace("{\n", "{\n\tadmin off\n").replace("grace_period 5s", "grace_period 200ms");
  await writeFile(join(folder, file), lean);
  return spawn("caddy", ["run", "--adapter", "caddyfile", "--config", join(folder, file)], {
    stdio: "ignore",
    env: { PATH: process.env.PATH, HOME: folder, RELAY_SITE: `http://127.0.0.1:${port}`, ...upstreams },
  });
}

async function listens(url: string): Promise<void> {
  for (const limit = AbortSignal.timeout(10_000); ; await delay(20)) {
    if (
      await fetch(`${url}/healthz`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      return;
    assert.ok(!limit.aborted, `${url} does not answer`);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

describe("a viewer behind", () => {
  for (const [name, start] of Object.entries(PROXIES)) {
    it(`${name} gets each message at once, and goes on over its restart`, {
      skip: skipWithout(name.split(" ", 1)[0] ?? ""),
    }, async (t) => {
      const folder = await temporaryFolder(t);
      const [port = 0] = await freePorts(1);
      const settings = { RELAY_TRUST_PROXY: "1", RELAY_KEEPALIVE_MS: "600000" };
      await using relay = await startRelay({ settings });
      const said = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20 });
      said.say(1);
      const url = `http://127.0.0.1:${port}`;
      let proxy = await start(folder, port, new URL(relay.url).host);
      t.after(() => proxy.kill("SIGKILL"));
      await listens(url);
      const changes = new Changes();
      const cursors: number[] = [];
      const room = chat(url, { videoId: VIDEO, backoff: { baseMs: 100, maxMs: 100 }, retry: () => 100 });
      room.on("message", ({ cursor }) => {
        cursors.push(cursor);
        changes.announce();
      });
      for (let count = 1; count <= 3; count++) {
        await changes.until(() => cursors.length === count, `message ${count}`); // nothing follows that could push it
        said.say(1);
      }
      await stop(proxy);
      said.say(5);
      proxy = await start(folder, port, new URL(relay.url).host);
      await changes.until(() => cursors.length === 9, "what was said meanwhile");
      room.close();
      assert.deepEqual(
        cursors,
        cursors.map((_, index) => (cursors[0] ?? 0) + index),
      );
      for (const path of ["/metrics", "/readyz", "/v1/rooms"])
        assert.equal((await fetch(url + path)).status, 404, path);
      await stop(proxy);
    });
  }
});

describe("deploy/alerts.yml", () => {
  const alerts = readFileSync(join(DEPLOY, "alerts.yml"), "utf8");
  const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
  const skip = skipWithout("promtool");

  it("asks for metrics that exist", () => {
    const { registry } = new Telemetry(silentLog);
    collectDefaultMetrics({ register: registry });
    const known = new Set(registry.getMetricsAsArray().map(({ name }) => name));
    const asked = [...alerts.matchAll(/\brelay_\w+/g)].map(([name]) => name.replace(/_bucket$/, ""));
    assert.ok(asked.length >= names.length - 1);
    for (const name of asked) assert.ok(known.has(name), name);
  });

  it("has only alerts that were seen to fire, and that docs/operations.md explains", { skip }, async () => {
    await run("promtool", ["check", "config", "prometheus.yml"], { cwd: DEPLOY });
    await run("promtool", ["test", "rules", "alerts.test.yml"], { cwd: DEPLOY });
    const tests = await readFile(join(DEPLOY, "alerts.test.yml"), "utf8");
    const page = await readFile(join(ROOT, "docs/operations.md"), "utf8");
    for (const name of names) {
      assert.match(
        tests,
        new RegExp(`name: ${name} fires\n[\\s\\S]*?alertname: ${name}\n +exp_alerts:\n +- `),
      );
      assert.ok(page.includes(`\`${name}\``), `${name} is not explained`);
    }
  });
});

const noSystemd = existsSync("/usr/bin/node") ? skipWithout("systemd-analyze") : "there is no /usr/bin/node";
for (const unit of ["livechat-relay.service", "livechat-relay@.service"])
  it(`deploy/${unit} is sound for systemd`, { skip: noSystemd }, async () => {
    const { stderr } = await run("systemd-analyze", ["verify", join(DEPLOY, unit.replace("@", "@8081"))]);
    assert.equal(stderr, "");
  });

it("both units confine the service alike", async () => {
  const confinement = async (unit: string) =>
    /CapabilityBoundingSet=[\s\S]*/.exec(await readFile(join(DEPLOY, unit), "utf8"))?.[0];
  assert.equal(await confinement("livechat-relay@.service"), await confinement("livechat-relay.service"));
});

it("instances share a port where they are told to", async () => {
  const [port = 0] = await freePorts(1);
  const shared = { RELAY_PORT: `${port}`, RELAY_REUSE_PORT: "on" };
  await using one = await startRelay({ settings: { ...shared, RELAY_ROOMS: "on" } });
  await using other = await startRelay({ settings: { ...shared, RELAY_ROOMS: "off" } });
  assert.equal(one.url, other.url);
  const answers = new Set<number>();
  for (let asked = 0; answers.size < 2 && asked < 100; asked++)
    answers.add((await fetch(`${one.url}/v1/rooms`, { headers: { connection: "close" } })).status);
  assert.deepEqual([...answers].sort(), [200, 404]);
  await assert.rejects(startRelay({ settings: { RELAY_PORT: `${port}` } }), /EADDRINUSE/);
});
