/** `RELAY_METRICS_LISTEN`: the metrics at an address of their own, which is not the viewers'. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { startSimulator } from "../../simulator/index.ts";
import { freePorts } from "../chaos/service.ts";
import { outcome, Run } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { testEnvironment } from "../support/relay.ts";

const LISTENING = /listening on (http:\/\/127\.0\.0\.1:\d+)"/;
const METRICS = /metrics on (http:\/\/127\.0\.0\.1:\d+)\/metrics"/;

const statusesOf = (url: string, paths: readonly string[]) =>
  Promise.all(paths.map(async (path) => [path, (await fetch(`${url}${path}`)).status]));

/** A service that stops after the test. */
function started(t: TestContext, args: string[], env: NodeJS.ProcessEnv): Run {
  const service = new Run(args, { env });
  t.after(async () => {
    service.signal("SIGTERM");
    assert.equal(await service.exited, 0);
  });
  return service;
}

describe("with RELAY_METRICS_LISTEN", () => {
  for (const workers of ["1", "2"]) {
    it(`/metrics is there alone, /readyz and /healthz on both, ${workers} processes`, async (t) => {
      await using upstream = await startSimulator();
      const settings = {
        RELAY_METRICS_LISTEN: "127.0.0.1:0",
        RELAY_WORKERS: workers,
        RELAY_LOG_LEVEL: "silent",
      } as const;
      const serve = started(t, [], testEnvironment(upstream, settings));
      const [url, own] = [await serve.printed(LISTENING), await serve.printed(METRICS)];
      assert.notEqual(url, own);
      const paths = ["/metrics", "/healthz", "/v1/rooms", "/"];
      assert.deepEqual(Object.fromEntries(await statusesOf(url, paths)), {
        "/metrics": 404,
        "/healthz": 200,
        "/v1/rooms": 200,
        "/": 200,
      });
      assert.deepEqual(Object.fromEntries(await statusesOf(own, paths)), {
        "/metrics": 200,
        "/healthz": 200,
        "/v1/rooms": 404,
        "/": 404,
      });
      const ready = '{"ready":true,"reasons":[]}';
      for (const at of [url, own]) await eventually(ready, async () => (await fetch(`${at}/readyz`)).text());
      const answer = await fetch(`${own}/metrics`);
      assert.match(answer.headers.get("content-type") ?? "", /^text\/plain/);
      assert.match(await answer.text(), /^relay_build_info\{/m);
    });
  }

  it("an edge has them there, too", async (t) => {
    await using upstream = await startSimulator();
    const origin = started(t, [], testEnvironment(upstream));
    const env = { RELAY_ORIGIN: await origin.printed(LISTENING), RELAY_METRICS_LISTEN: "127.0.0.1:0" };
    const edge = started(t, ["edge", "--port", "0"], env);
    const [url, own] = [await edge.printed(LISTENING), await edge.printed(METRICS)];
    assert.equal((await fetch(`${url}/metrics`)).status, 404);
    assert.equal((await fetch(`${own}/metrics`)).status, 200);
  });

  it("a port that is taken stops the start, in one line that names the setting", async (t) => {
    const taken = createServer().listen(0, "127.0.0.1");
    t.after(() => taken.close());
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { code, error } = await outcome([
      ...["--port", "0", "--store", "memory:", "--metrics-listen", `127.0.0.1:${port}`],
    ]);
    assert.equal(code, 1);
    assert.match(
      error,
      /^livechat-relay: cannot listen on 127\.0\.0\.1 port \d+ \(EADDRINUSE\): [^\n]+ --metrics-listen or RELAY_METRICS_LISTEN[^\n]*\n$/,
    );
  });

  it("the service's own address stops the start, and a check says so before it", async () => {
    const [port] = await freePorts(1);
    const own = ["--host", "127.0.0.1", "--port", `${port}`, "--metrics-listen", `127.0.0.1:${port}`];
    for (const command of [[], ["serve", "--check"]]) {
      const { code, out, error } = await outcome([...command, ...own, "--store", "memory:"]);
      assert.equal(code, 1, out);
      assert.match(`${out}${error}`, /cannot listen on 127\.0\.0\.1 port \d+ [^\n]+ --metrics-listen or /);
    }
  });

  for (const text of ["9090", "localhost", "127.0.0.1:65536", "::1:9090", "http://127.0.0.1:9090"]) {
    it(`${text} is refused`, async () => {
      const { code, error } = await outcome(["--metrics-listen", text]);
      assert.equal(code, 2);
      assert.match(
        error,
        /: --metrics-listen: must be an address and a port such as 127\.0\.0\.1:9090, not "/,
      );
    });
  }
});
