/** RELAY_WORKERS: several processes on one port, which are one service to everybody outside. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { startSimulator } from "../src/simulator/index.ts";
import { ask, post, type SessionBody } from "./support/api.ts";
import { startTestEdge } from "./support/edge.ts";
import { eventually } from "./support/eventually.ts";
import { metric, startRelay } from "./support/relay.ts";
import { startProcess } from "./support/relay-process.ts";
import { Stream, type StreamOptions } from "./support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const CHAT = { kinds: ["text" as const], timeoutMs: 20 };
const TWO = { RELAY_WORKERS: "2", RELAY_LOG_LEVEL: "silent", RELAY_KEEPALIVE_MS: "200" } as const;
/** The kernel spreads connections by chance: with this many, each process has some. */
const CONNECTIONS = 24;

const isReady = async (url: string) => (await fetch(`${url}/readyz`)).status === 200;

/** The processes that a process has started. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

async function watch(t: TestContext, url: string, options: Partial<StreamOptions> = {}): Promise<Stream> {
  const stream = await Stream.open(url, { videoId: VIDEO, ...options });
  t.after(() => stream.close());
  return stream;
}

/** A metric of the whole service. */
async function total(url: string, name: string): Promise<number> {
  const lines = (await (await fetch(`${url}/metrics`)).text()).split("\n");
  return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length));
}

/** A signal ends all streams cleanly, and the first process with exit code 0. */
async function assertStopped(t: TestContext, relay: Awaited<ReturnType<typeof startProcess>>): Promise<void> {
  for (const name of ["0", "1"])
    assert.ok((await total(relay.url, `process_resident_memory_bytes{worker="${name}"}`)) > 0, name);
  const streams = await Promise.all(Array.from({ length: 8 }, () => watch(t, relay.url)));
  for (const stream of streams) await stream.untilMessages(5);
  process.kill(relay.pid ?? 0, "SIGTERM");
  for (const stream of streams)
    assert.deepEqual([await stream.ended(), stream.failure], [undefined, undefined]);
  assert.equal((await relay.exited).code, 0);
}

describe("several workers", { timeout: 60_000 }, () => {
  it("are one service, and one that dies is restarted", async (t) => {
    const before = childrenOf(process.pid);
    await using relay = await startRelay({ settings: TWO });
    const { url } = relay;
    const [worker = 0] = childrenOf(process.pid).filter((pid) => !before.includes(pid));
    await eventually(true, () => isReady(url));
    const chat = relay.upstream.chat(VIDEO, CHAT);
    chat.say(20);
    const streams = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => watch(t, url, { backfill: 500 })),
    );
    for (const stream of streams) await stream.untilMessages(20);
    chat.say(10);
    for (const stream of streams) await stream.untilMessages(30);
    const texts = new Set(streams.map(({ raw }) => raw.replaceAll(": keepalive\n\n", "")));
    assert.equal(texts.size, 1);
    // The first process has some of the viewers, and the worker's stream.
    const here = (await metric(relay, "relay_viewers")) ?? 0;
    assert.ok(here > 1 && here < CONNECTIONS, `${here} of ${CONNECTIONS} in the first process`);
    assert.equal(await total(url, "relay_viewers"), CONNECTIONS);
    assert.equal(await total(url, 'relay_rooms{state="polling"}'), 1);
    for (let call = 0; call < CONNECTIONS; call++) {
      const session = await post<SessionBody>(url, "/v1/sessions", { videoId: VIDEO });
      assert.deepEqual([session.status, session.body.videoId], [200, VIDEO]);
      const headers = { connection: "close" }; // the next call may reach another process
      const shown = await ask<{ state: string }>(url, `/v1/rooms/${VIDEO}`, { headers });
      assert.equal(shown.body.state, "polling");
      assert.equal((await ask(url, "/v1/nothing", { headers })).status, 404);
    }

    const killedAt = performance.now();
    process.kill(worker, "SIGKILL");
    await eventually(here - 1, () => streams.filter(({ over }) => !over).length);
    assert.equal(await isReady(url), false);
    chat.say(5);
    await eventually(true, () =>
      childrenOf(process.pid).some((pid) => pid !== worker && !before.includes(pid)),
    );
    const restartedMs = performance.now() - killedAt;
    assert.ok(restartedMs < 3000, `started again after ${restartedMs} ms`); // a second, on a machine that does nothing else
    for (const stream of streams.filter(({ over }) => over)) {
      const last = stream.cursors.at(-1) ?? 0;
      const back = await watch(t, url, { lastEventId: last });
      await back.untilMessages(5);
      assert.deepEqual([back.init.cursor, back.messages.length], [last, 5]);
    }
    await eventually(true, () => isReady(url));
    assert.equal(await total(url, "relay_viewers"), CONNECTIONS);
  });

  it("end with the first process, stopped or killed", async (t) => {
    await using upstream = await startSimulator();
    upstream.chat(VIDEO, CHAT).say(5);
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const relay = await startProcess(upstream, { ...TWO, RELAY_LOG_LEVEL: "info" });
      t.after(() => relay[Symbol.asyncDispose]());
      await eventually(true, () => isReady(relay.url));
      const workers = childrenOf(relay.pid ?? 0);
      assert.equal(workers.length, 1);
      if (signal === "SIGTERM") await assertStopped(t, relay);
      else process.kill(relay.pid ?? 0, signal);
      await eventually(false, () => workers.some(isAlive));
    }
  });

  it("of an edge are one viewer at its origin", async (t) => {
    await using origin = await startRelay({ settings: { RELAY_KEEPALIVE_MS: TWO.RELAY_KEEPALIVE_MS } });
    origin.upstream.chat(VIDEO, CHAT).say(5);
    await using edge = await startTestEdge(origin.url, TWO);
    await eventually(true, () => isReady(edge.url));
    const streams = await Promise.all(Array.from({ length: CONNECTIONS }, () => watch(t, edge.url)));
    for (const stream of streams) await stream.untilMessages(5);
    assert.equal(await metric(origin, "relay_viewers"), 1);
    assert.equal(await total(edge.url, "relay_viewers"), CONNECTIONS);
    assert.equal(await total(edge.url, "relay_origin_up"), 1);
  });
});
