/** RELAY_WORKERS: several processes on one port, which are one service to everybody outside. */
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { pino } from "pino";
import { startSimulator } from "../../simulator/index.ts";
import { toEdgeConfig } from "../../src/cli/config.ts";
import { readFlags } from "../../src/cli/flags.ts";
import { EDGE_SETTINGS } from "../../src/cli/setting-table.ts";
import type { ToWorker } from "../../src/cli/workers/worker-messages.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { ask, askRaw, post, type SessionBody } from "../support/api.ts";
import { startTestEdge } from "../support/edge.ts";
import { eventually } from "../support/eventually.ts";
import { readEvents, readLog } from "../support/log.ts";
import { metric, startRelay } from "../support/relay.ts";
import { startProcess } from "../support/relay-process.ts";
import { Stream, type StreamOptions } from "../support/stream.ts";
import { bearer, SECRET, signed } from "../support/tokens.ts";

const VIDEO = "dQw4w9WgXcQ";
const CHAT = { kinds: ["text" as const], timeoutMs: 20 };
const TWO = { RELAY_WORKERS: "2", RELAY_LOG_LEVEL: "silent", RELAY_KEEPALIVE_MS: "200" } as const;
/** The kernel spreads connections by chance: with this many, each process has some. */
const CONNECTIONS = 24;

/** The call after one like this may reach another process: none goes to a process that has died since. */
const ANOTHER_CALL = { headers: { connection: "close" } };

const isReady = async (url: string) => (await fetch(`${url}/readyz`, ANOTHER_CALL)).status === 200;

/** The loopback ports at which this process listens. */
function listenersOf(pid: number): number[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? [];
      } catch {
        return []; // closed meanwhile
      }
    }),
  );
  const lines = readFileSync("/proc/net/tcp", "utf8")
    .split("\n")
    .map((line) => line.trim().split(/ +/));
  const listening = lines.filter(
    ([, , , state, , , , , , inode = ""]) => state === "0A" && inodes.has(inode),
  );
  return listening.map(([, local = ""]) => Number.parseInt(local.split(":")[1] ?? "", 16));
}

/** Where this process listens for the workers of the relay at `url`; `others`: ports of something else. */
async function privateAddress(url: string, others: ReadonlySet<number>): Promise<string> {
  const addresses = [...new Set(listenersOf(process.pid)).difference(others)].map(
    (port) => `http://127.0.0.1:${port}`,
  );
  const found: string[] = [];
  for (const address of addresses)
    if (address !== url && /alive/.test(await (await fetch(`${address}/healthz`)).text()))
      found.push(address);
  assert.equal(found.length, 1, "the first process has one address for its workers");
  return found[0] ?? "";
}

/** The processes that a process has started. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);

/** Gives the processes that this one starts from now on, and that still run. */
function startedFromNow(): () => number[] {
  const before = childrenOf(process.pid);
  return () => childrenOf(process.pid).filter((pid) => !before.includes(pid));
}

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

/** Two workers, a chat of 30 messages, and viewers at both who have all of them. */
async function together(t: TestContext) {
  const started = startedFromNow();
  const relay = await startRelay({ settings: TWO });
  t.after(() => relay[Symbol.asyncDispose]());
  await eventually(true, () => isReady(relay.url));
  const chat = relay.upstream.chat(VIDEO, CHAT);
  chat.say(20);
  const streams: Stream[] = [];
  // One after another: of many at once, one process may take all.
  while (streams.length < CONNECTIONS) streams.push(await watch(t, relay.url, { backfill: 500 }));
  for (const stream of streams) await stream.untilMessages(20);
  chat.say(10);
  for (const stream of streams) await stream.untilMessages(30);
  return {
    relay,
    chat,
    streams,
    started,
  };
}

/** The numbers of messages by type, as any process shows them. */
async function typesShown(url: string): Promise<Record<string, number>> {
  type Shown = { totals: { types: Record<string, number> } };
  return (await ask<Shown>(url, `/v1/rooms/${VIDEO}`, ANOTHER_CALL)).body.totals.types;
}

/** A metric of the whole service. */
async function total(url: string, name: string): Promise<number> {
  const lines = (await (await fetch(`${url}/metrics`, ANOTHER_CALL)).text()).split("\n");
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

describe("several workers", { timeout: 600_000 }, () => {
  it("each check tokens, and the first process checks the requests that the others send on", async () => {
    const settings = { ...TWO, RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET };
    const others = new Set(listenersOf(process.pid)); // of tests that share this process
    await using relay = await startRelay({ settings });
    const { url } = relay;
    await eventually(true, () => isReady(url));
    relay.upstream.chat(VIDEO, CHAT).say(5);
    const token = await signed({ relay: ["watch"] });
    const paths = [
      `/v1/stream?videoId=${VIDEO}`,
      `/v1/messages?videoId=${VIDEO}`,
      `/v1/log/${VIDEO}?offset=-1`,
    ];
    const statusOf = async (path: string, headers: Record<string, string> = {}) => {
      const response = await fetch(url + path, { headers: { ...headers, connection: "close" } });
      const { status } = response;
      await response.body?.cancel();
      return status;
    };
    for (let call = 0; call < CONNECTIONS / 2; call++) {
      for (const path of paths) {
        assert.equal(await statusOf(path), 401, path);
        assert.equal(await statusOf(path, bearer(await signed({ relay: ["rooms"] }))), 403, path);
        assert.equal(await statusOf(path, bearer(token)), 200, path);
        assert.equal(await statusOf(`${path}&access_token=${token}`), 200, path);
      }
    }
    const address = await privateAddress(url, others);
    for (const path of paths) assert.equal((await fetch(address + path)).status, 401, path);
  });

  it("are the only clients that the first process's address for workers serves", async () => {
    const others = new Set(listenersOf(process.pid));
    await using relay = await startRelay({ settings: { ...TWO, RELAY_MAX_VIEWERS_PER_ADDRESS: "2" } });
    await eventually(true, () => isReady(relay.url));
    const address = await privateAddress(relay.url, others);
    for (const path of [
      "/v1/rooms",
      `/v1/stream?videoId=${VIDEO}`,
      `/v1/log/${VIDEO}`,
      "/metrics",
      "/",
      "/v1/no",
    ])
      for (const headers of [{}, { "x-relay-worker": "" }, { "x-relay-worker": "x".repeat(43) }]) {
        const { status } = await fetch(address + path, { headers });
        assert.equal(status, 401, path);
      }
    for (let call = 0; call < CONNECTIONS; call++)
      assert.equal((await fetch(`${relay.url}/v1/rooms`, { headers: { connection: "close" } })).status, 200);
  });

  it("serve one chat together", async (t) => {
    const { relay, streams } = await together(t);
    const { url } = relay;
    const texts = new Set(streams.map(({ raw }) => raw.replaceAll(": keepalive\n\n", "")));
    assert.equal(texts.size, 1);
    // The first process has some of the viewers, and the worker's stream.
    const here = (await metric(relay, "relay_viewers")) ?? 0;
    assert.ok(here > 1 && here < CONNECTIONS, `${here} of ${CONNECTIONS} in the first process`);
    assert.equal(await total(url, "relay_viewers"), CONNECTIONS);
    assert.equal(await total(url, 'relay_rooms{state="polling"}'), 1);
  });

  it("answer every route alike", async (t) => {
    const { url } = (await together(t)).relay;
    for (let call = 0; call < CONNECTIONS; call++) {
      const session = await post<SessionBody>(url, "/v1/sessions", { videoId: VIDEO });
      assert.deepEqual([session.status, session.body.videoId], [200, VIDEO]);
      const shown = await ask<{ state: string }>(url, `/v1/rooms/${VIDEO}`, ANOTHER_CALL);
      assert.equal(shown.body.state, "polling");
      assert.equal((await ask(url, "/v1/nothing", ANOTHER_CALL)).status, 404);
      const absolute = "GET http://relay.example/v1/sessions HTTP/1.1\r\nConnection: close\r\n\r\n";
      assert.equal((await askRaw(url, absolute)).status, 405);
    }
  });

  it("are replaced if they die, and their viewers come back to the rest", async (t) => {
    const { relay, chat, streams, started } = await together(t);
    const { url } = relay;
    const here = (await metric(relay, "relay_viewers")) ?? 0;
    assert.ok(here > 1 && here < CONNECTIONS, `${here} of ${CONNECTIONS} in the first process`);
    const [worker = 0] = started();
    const asked = Promise.allSettled(Array.from({ length: CONNECTIONS }, () => typesShown(url)));
    process.kill(worker, "SIGKILL");
    await eventually(false, () => isAlive(worker));
    assert.equal(await isReady(url), false); // soon another one is there
    const answered = (await asked).flatMap((asking) => (asking.status === "fulfilled" ? [asking.value] : []));
    assert.ok(answered.length > 0, "the first process answers nobody");
    for (const types of answered) assert.deepEqual(types, { chat: 30 });
    await eventually(here - 1, () => streams.filter(({ over }) => !over).length);
    chat.say(5);
    for (const stream of streams.filter(({ over }) => over)) {
      const last = stream.cursors.at(-1) ?? 0;
      const back = await watch(t, url, { lastEventId: last });
      await back.untilMessages(5);
      assert.deepEqual([back.init.cursor, back.messages.length], [last, 5]);
    }
    await eventually(true, () => isReady(url));
    assert.deepEqual(await typesShown(url), { chat: 35 });
    assert.equal(await total(url, "relay_viewers"), CONNECTIONS);
  });

  it("are started again after growing waits if they die before they listen", async () => {
    const log: { msg: string; why?: string; retryMs?: number }[] = [];
    const telemetry = new Telemetry(pino({}, { write: (line) => log.push(JSON.parse(line)) }));
    const started = startedFromNow();
    await using relay = await startRelay({ settings: TWO, telemetry });
    await eventually(true, () => isReady(relay.url));
    for (let last = 0, death = 0; death < 3; death++) {
      await eventually(true, () => started().some((pid) => pid !== last));
      [last = 0] = started();
      process.kill(last, "SIGKILL");
    }
    const deaths = () => log.filter(({ msg }) => /a worker died/.test(msg));
    await eventually(3, () => deaths().length);
    assert.deepEqual(
      deaths().map(({ why, retryMs }) => [why, retryMs]),
      [
        ["SIGKILL", 250],
        ["SIGKILL", 500],
        ["SIGKILL", 1000],
      ],
    );
    await eventually(true, () => isReady(relay.url));
  });

  it("report summed counters that never fall, even if a worker hangs, dies or restarts", async (t) => {
    const started = startedFromNow();
    await using relay = await startRelay({ settings: TWO });
    const { url } = relay;
    const [worker = 0] = started();
    t.after(() => isAlive(worker) && process.kill(worker, "SIGKILL"));
    await eventually(true, () => isReady(url));
    relay.upstream.chat(VIDEO, CHAT).say(20);
    const streams = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => watch(t, url, { backfill: 500 })),
    );
    for (const stream of streams) await stream.untilMessages(20);
    /** The kernel may give a connection to the process that does not answer. */
    const scraped = async (): Promise<string> => {
      const answer = await fetch(`${url}/metrics`, {
        headers: { connection: "close" },
        signal: AbortSignal.timeout(3000),
      }).catch(() => undefined);
      return answer === undefined ? await scraped() : await answer.text();
    };
    const measured = async () => {
      const text = await scraped();
      return ["relay_sent_bytes_total", "relay_publish_delay_seconds_count"].map((name) =>
        Number(new RegExp(`^${name} (.+)$`, "m").exec(text)?.[1]),
      );
    };
    let last = await measured();
    const here = (await metric(relay, "relay_sent_bytes_total")) ?? 0;
    assert.ok((last[0] ?? 0) > here, "the worker sent nothing");
    const assertGrown = async (when: string) => {
      const next = await measured();
      const isGrown = next.every((count, index) => count >= (last[index] ?? 0));
      assert.ok(isGrown, `${when}: ${last} then ${next}`);
      last = next;
    };
    process.kill(worker, "SIGSTOP");
    await assertGrown("it does not answer");
    process.kill(worker, "SIGKILL");
    await eventually(false, () => isAlive(worker));
    await assertGrown("it is dead");
    await eventually(true, () => isReady(url));
    await assertGrown("another one is there");
  });

  it("are started again until the system can start them", async (t) => {
    const started = startedFromNow();
    const log: { msg: string; why?: string }[] = [];
    const telemetry = new Telemetry(pino({}, { write: (line) => log.push(JSON.parse(line)) }));
    await using relay = await startRelay({ settings: TWO, telemetry });
    await eventually(true, () => isReady(relay.url));
    const { execPath } = process;
    const restore = () => {
      process.execPath = execPath;
    };
    t.after(restore);
    process.execPath = "/nowhere/node";
    const [worker = 0] = started();
    process.kill(worker, "SIGKILL");
    const reasons = () => log.flatMap(({ msg, why }) => (/a worker died/.test(msg) ? [why] : []));
    await eventually("SIGKILL, spawn /nowhere/node ENOENT", () => reasons().slice(0, 2).join(", "));
    restore();
    await eventually(true, () => isReady(relay.url));
  });

  it("exit if they cannot start, and say why in one line", async (t) => {
    await using other = await startRelay();
    const { port, hostname } = new URL(other.url);
    const given = { RELAY_HOST: hostname, RELAY_PORT: port, RELAY_ORIGIN: other.url };
    const config = toEdgeConfig(readFlags(EDGE_SETTINGS, [], given).values);
    const worker = fork(new URL("../../src/cli/workers/worker.ts", import.meta.url), {
      serialization: "advanced",
      silent: true,
    });
    t.after(() => worker.kill());
    const said = once(worker, "message");
    const printed = worker.stderr?.setEncoding("utf8").reduce((all, part) => all + part, "");
    worker.send({ kind: "start", name: "1", config } satisfies ToWorker);
    const [message] = await said;
    assert.equal(message.kind, "refused");
    assert.match(
      message.why,
      new RegExp(`^cannot listen on ${hostname} port ${port} \\(EADDRINUSE\\): [^\n]+$`),
    );
    const [code] = await once(worker, "exit");
    assert.deepEqual([code, await printed], [1, ""]);
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

  it("serve logs, each for its own readers, whom it counts by address", async (t) => {
    const settings = { ...TWO, RELAY_MAX_VIEWERS_PER_ADDRESS: "2", RELAY_LOG_SSE_MS: "1000" };
    await using relay = await startRelay({ settings });
    const { url } = relay;
    await eventually(true, () => isReady(url));
    const chat = relay.upstream.chat(VIDEO, CHAT);
    const ids = chat.say(5);
    await using viewer = await watch(t, url);
    await viewer.untilMessages(5);
    const pages = await Promise.all(Array.from({ length: CONNECTIONS }, () => readLog(url, VIDEO)));
    assert.equal(pages[0]?.cursors.length, ids.length);
    const [{ text, next } = assert.fail()] = pages;
    for (const page of pages) assert.deepEqual([page.status, page.text, page.next], [200, text, next]);
    const polls = Array.from({ length: CONNECTIONS }, () =>
      readLog(url, VIDEO, { offset: next, live: "long-poll" }),
    );
    await eventually(true, async () => {
      const open = await Promise.all(polls.map((poll) => Promise.race([poll, undefined])));
      return open.filter((answer) => answer !== undefined).length >= CONNECTIONS - 4;
    });
    chat.say(1);
    const answers = await Promise.all(polls);
    assert.ok(answers.every(({ status }) => status === 200 || status === 503));
    const got = answers.filter(({ status }) => status === 200);
    assert.ok(got.length >= 1 && got.length <= 4, `${got.length} of ${CONNECTIONS} waited`);
    for (const { cursors } of got) assert.equal(cursors.length, 1);
    const { events } = await readEvents(url, VIDEO, "-1");
    assert.equal(events.flatMap(({ event, data }) => (event === "data" ? data : [])).length, 6);
  });

  it("divide the limit of viewers, which the streams of the workers leave alone", async (t) => {
    await using upstream = await startSimulator();
    upstream.chat(VIDEO, CHAT).say(5);
    const relay = await startProcess(upstream, { ...TWO, RELAY_MAX_VIEWERS: "8" });
    t.after(() => relay[Symbol.asyncDispose]());
    await eventually(true, () => isReady(relay.url));
    const leave = new AbortController();
    t.after(() => leave.abort());
    const answers = await Promise.all(
      Array.from({ length: 2 * CONNECTIONS }, () =>
        fetch(`${relay.url}/v1/stream?videoId=${VIDEO}`, { signal: leave.signal }),
      ),
    );
    const refused = answers.filter(({ status }) => status === 503);
    assert.equal(refused.length, 2 * CONNECTIONS - 8);
    for (const { headers } of refused) assert.ok(Number(headers.get("retry-after")) >= 1);
    assert.equal(await total(relay.url, "relay_viewers"), 8);
  });

  it("count the viewers of a token's subject together, without the viewers of a dead worker", async (t) => {
    const started = startedFromNow();
    const settings = { ...TWO, RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET };
    await using relay = await startRelay({ settings });
    const { url } = relay;
    await eventually(true, () => isReady(url));
    relay.upstream.chat(VIDEO, CHAT).say(5);
    const token = await signed({ relay: ["watch"], sub: "one", viewers: CONNECTIONS });
    const headers = { ...bearer(token), connection: "close" }; // a kept one may be to the worker that dies
    const open = (signal: AbortSignal) => fetch(`${url}/v1/stream?videoId=${VIDEO}`, { headers, signal });
    const openMany = async (leave: AbortController) => {
      t.after(() => leave.abort());
      const answers = await Promise.all(Array.from({ length: 2 * CONNECTIONS }, () => open(leave.signal)));
      return answers.filter(({ status }) => status === 200);
    };
    const leave = new AbortController();
    const first: Response[] = []; // one after another: of many at once, the first process may serve all
    while (first.length < CONNECTIONS) first.push(await open(leave.signal));
    assert.deepEqual(new Set(first.map(({ status }) => status)), new Set([200]));
    assert.equal((await openMany(leave)).length, 0);
    let over = 0;
    const ended = () => {
      over += 1;
    };
    for (const { body } of first) body?.pipeTo(new WritableStream()).then(ended, ended);
    const [worker = 0] = started();
    process.kill(worker, "SIGKILL");
    await eventually(false, () => isAlive(worker));
    await eventually(true, () => over > 0);
    await eventually(true, () => isReady(url));
    assert.ok(over < CONNECTIONS, `${over} of ${CONNECTIONS} in the worker`);
    assert.equal((await openMany(leave)).length, over);
    leave.abort();
    await eventually(CONNECTIONS, async () => {
      const attempt = new AbortController();
      const { length } = await openMany(attempt);
      attempt.abort();
      return length;
    });
  });

  it("of an edge each check rights to a channel, as the first process knows it from the origin", async (t) => {
    await using origin = await startRelay();
    origin.upstream.channel("@mine").broadcast(VIDEO, { chat: CHAT }).chat.say(5);
    await using edge = await startTestEdge(origin.url, { ...TWO, RELAY_PUBLIC: "watch:@mine" });
    await eventually(true, () => isReady(edge.url));
    const streams = await Promise.all(Array.from({ length: CONNECTIONS }, () => watch(t, edge.url)));
    for (const stream of streams) await stream.untilMessages(5);
  });

  it("of an edge are one viewer at its origin, and each continues the streams of the others", async (t) => {
    await using origin = await startRelay({ settings: { RELAY_KEEPALIVE_MS: TWO.RELAY_KEEPALIVE_MS } });
    origin.upstream.chat(VIDEO, CHAT).say(5);
    await using edge = await startTestEdge(origin.url, TWO);
    await eventually(true, () => isReady(edge.url));
    const streams = await Promise.all(Array.from({ length: CONNECTIONS }, () => watch(t, edge.url)));
    for (const stream of streams) await stream.untilMessages(5);
    assert.equal(await metric(origin, "relay_viewers"), 1);
    assert.equal(await total(edge.url, "relay_viewers"), CONNECTIONS);
    assert.equal(await total(edge.url, "relay_origin_up"), 1);
    for (const stream of streams) {
      // It may come to another process.
      const lastEventId = stream.cursors[2] ?? 0;
      const back = await watch(t, edge.url, { lastEventId });
      assert.deepEqual((await back.untilMessages(2)).slice(0, 2), stream.messages.slice(3));
      assert.equal(back.init.cursor, lastEventId);
    }
  });
});
