/**
 * The files of deploy/, as far as a machine without Docker can try them: proxies with a viewer behind them,
 * alerts, the unit.
 */
import assert from "node:assert/strict";
import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { connect } from "node:http2";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { chat } from "../../client/index.ts";
import { freePorts } from "../chaos/service.ts";
import { ROOT } from "../support/command.ts";
import { linksIn, type Page } from "../support/history.ts";
import { type Need, without } from "../support/needs.ts";
import { startRelay } from "../support/relay.ts";
import { listens, type RunningProxy, startCaddy, startNginx, type Way } from "../support/reverse-proxies.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { Changes } from "../support/viewers.ts";

const run = promisify(execFile);
const VIDEO = "dQw4w9WgXcQ";
const DEPLOY = join(ROOT, "deploy");
const UNITS = ["livechat-relay.service", "livechat-relay@.service", "livechat-edge.service"];
/** What a proxy answers with 404, though the service has it. */
const PRIVATE = ["/metrics", "/readyz", "/v1/rooms", "/v1/probe", "/v1/recordings", "/v1/recordings/@demo"];
const ADMIN = { RELAY_ADMIN_TOKEN: "a-token-of-many-letters" };

/**
 * How each proxy is started on a port, from the example in deploy/, in front of the service at `upstream`.
 */
const PROXIES: Record<string, (folder: string, port: number, upstream: string) => Promise<RunningProxy>> = {
  nginx: (folder, port, upstream) => startNginx(folder, port, [upstream]),
  caddy: (folder, port, upstream) => startCaddy("Caddyfile", folder, port, { RELAY_UPSTREAM: upstream }),
  // The other instances are down.
  "caddy --cluster": (folder, port, upstream) =>
    startCaddy("Caddyfile.cluster", folder, port, {
      RELAY_UPSTREAMS: `127.0.0.1:9 ${upstream} 127.0.0.1:13`,
    }),
};

/** How each is started with an `example` added to the site. */
const BELOW_A_PATH: Record<
  string,
  (folder: string, port: number, upstream: string, example: string) => Promise<RunningProxy>
> = {
  nginx: (folder, port, upstream, example) => startNginx(folder, port, [upstream], example),
  caddy: (folder, port, upstream, example) =>
    startCaddy(
      "Caddyfile",
      folder,
      port,
      { RELAY_UPSTREAM: upstream },
      example.replace("127.0.0.1:8080", upstream),
    ),
};

/** `base`: the URL of the service behind the proxy. */
async function assertPrivate(base: string, { fetch }: Way): Promise<void> {
  for (const path of PRIVATE) {
    const method = path === "/v1/probe" ? "POST" : "GET";
    assert.equal((await fetch(base + path, { method })).status, 404, path);
  }
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

describe("a viewer behind", () => {
  for (const [name, start] of Object.entries(PROXIES)) {
    it(`${name} gets each message at once, and continues after it restarts`, {
      skip: without(name.split(" ", 1)[0] as Need),
    }, async (t) => {
      const folder = await temporaryFolder(t);
      const [port = 0] = await freePorts(1);
      const settings = { RELAY_TRUST_PROXY: "1", RELAY_KEEPALIVE_MS: "600000", ...ADMIN };
      await using relay = await startRelay({ settings });
      const said = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20 });
      said.say(1);
      let proxy = await start(folder, port, new URL(relay.url).host);
      t.after(() => proxy.child.kill("SIGKILL"));
      const { way } = proxy;
      await listens(way);
      const changes = new Changes();
      const cursors: number[] = [];
      const backoff = { baseMs: 100, maxMs: 100 };
      const room = chat(way.url, { videoId: VIDEO, backoff, retry: () => 100, fetch: way.fetch });
      room.on("message", ({ cursor }) => {
        cursors.push(cursor);
        changes.announce();
      });
      for (let count = 1; count <= 3; count++) {
        // Nothing follows that could push the message.
        await changes.until(() => cursors.length === count, `message ${count}`);
        said.say(1);
      }
      await stop(proxy.child);
      said.say(5);
      proxy = await start(folder, port, new URL(relay.url).host);
      await changes.until(() => cursors.length === 9, "what was said meanwhile");
      room.close();
      assert.deepEqual(
        cursors,
        cursors.map((_, index) => (cursors[0] ?? 0) + index),
      );
      await assertPrivate(way.url, way);
      await stop(proxy.child);
    });
  }
});

describe("nginx", { skip: without("nginx", "openssl") }, () => {
  it("carries many streams on one connection of a browser, and redirects http to https", async (t) => {
    const folder = await temporaryFolder(t);
    const [port = 0] = await freePorts(1);
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
    const { child, way, plainUrl } = await startNginx(folder, port, [new URL(relay.url).host]);
    t.after(() => child.kill("SIGKILL"));
    await listens(way);
    const session = connect(way.url, { ca: await readFile(join(folder, "certificate.pem")) });
    t.after(() => session.destroy());
    const opened = Array.from({ length: 20 }, async () => {
      const stream = session.request({ ":path": `/v1/stream?videoId=${VIDEO}` });
      let text = "";
      for await (const chunk of stream.setEncoding("utf8")) {
        text += chunk;
        if (/^id: \d+$/m.test(text)) return true;
      }
      return false;
    });
    assert.deepEqual(
      await Promise.all(opened),
      opened.map(() => true),
    );
    const plain = await fetch(`${plainUrl}/overlay?videoId=x`, { redirect: "manual" });
    assert.deepEqual(
      [plain.status, plain.headers.get("location")],
      [301, "https://127.0.0.1/overlay?videoId=x"],
    );
  });

  it("answers while two instances restart one after the other", async (t) => {
    const folder = await temporaryFolder(t);
    const [port = 0, ...ports] = await freePorts(3);
    const instances = ports.map(() => createServer((_, response) => response.end()));
    const restart = async (index: number, whileDown = async () => {}) => {
      const instance = instances[index] ?? assert.fail("no such instance");
      instance.close();
      instance.closeAllConnections();
      await whileDown();
      await once(instance.listen(ports[index], "127.0.0.1"), "listening");
    };
    t.after(() => instances.map((instance) => instance.close().closeAllConnections()));
    await restart(0);
    await restart(1);
    const hosts = ports.map((each) => `127.0.0.1:${each}`);
    const { child, way } = await startNginx(folder, port, hosts);
    t.after(() => child.kill("SIGKILL"));
    await listens(way);
    const answers: number[] = [];
    const ask = async () => {
      for (let asked = 0; asked < 4; asked++) answers.push((await way.fetch(way.url)).status);
    };
    await restart(0, ask);
    await restart(1, ask);
    assert.deepEqual(
      answers,
      answers.map(() => 200),
    );
  });
});

for (const [name, start] of Object.entries(BELOW_A_PATH)) {
  it(`${name} serves everything below a path, as docs/deployment.md shows`, {
    skip: without(name as Need),
  }, async (t) => {
    const page = await readFile(join(ROOT, "docs/deployment.md"), "utf8");
    const block = new RegExp(`^\`\`\`${name}\\n(.*?)^\`\`\`$`, "ms");
    const [, example = assert.fail("no example")] = block.exec(page) ?? [];
    const folder = await temporaryFolder(t);
    const [port = 0] = await freePorts(1);
    await using relay = await startRelay({ settings: ADMIN });
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
    const { child, way } = await start(folder, port, new URL(relay.url).host, example);
    t.after(() => child.kill("SIGKILL"));
    await listens(way);
    const base = `${way.url}/chat`;
    const ids: string[] = [];
    for await (const { id } of chat(base, { videoId: VIDEO, fetch: way.fetch }))
      if (ids.push(id) === 3) break;
    await assertPrivate(base, way);
    const first = await way.fetch(`${base}/v1/messages?videoId=${VIDEO}&after=0&limit=2`);
    const { next = assert.fail("no link") } = linksIn(first.headers);
    const url = new URL(next, first.url);
    assert.equal(url.pathname, "/chat/v1/messages");
    const second = (await (await way.fetch(url)).json()) as Page;
    assert.deepEqual(
      second.messages.map(({ id }) => id),
      ids.slice(2),
    );
    const described = await way.fetch(`${base}/v1/openapi.json`);
    const { servers } = (await described.json()) as { servers: { url: string }[] };
    assert.equal(new URL(`${servers[0]?.url}`, described.url).pathname, "/chat/");
    // Whatever a page loads is relative to it.
    for (const path of ["/", "/overlay"]) {
      const html = await (await way.fetch(base + path)).text();
      const files = [...html.matchAll(/(?:src|href)="([^"#?]+)"/g)].map(([, file = ""]) => file);
      assert.ok(files.length >= 2, html);
      for (const file of files) {
        const url = new URL(file, base + path);
        assert.ok(url.pathname.startsWith("/chat/"), file);
        assert.equal((await way.fetch(url)).status, 200, file);
      }
    }
  });
}

describe("deploy/alerts.yml", () => {
  const alerts = readFileSync(join(DEPLOY, "alerts.yml"), "utf8");
  const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);
  const skip = without("promtool");

  it("has only alerts that were seen to fire and that docs/operations.md explains", { skip }, async () => {
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

for (const unit of UNITS)
  it(`deploy/${unit} is valid for systemd`, {
    skip: without("systemd-analyze", "/usr/bin/node"),
  }, async () => {
    const { stderr } = await run("systemd-analyze", ["verify", join(DEPLOY, unit.replace("@", "@8081"))]);
    assert.equal(stderr, "");
  });
