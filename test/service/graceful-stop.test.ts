/** A stop: everything is durable, every stream ends cleanly, and after the restart viewers just continue. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { startSimulator } from "../../simulator/index.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { toEdgeConfig } from "../../src/cli/config.ts";
import { startEdge } from "../../src/cli/edge-service.ts";
import { readFlags } from "../../src/cli/flags.ts";
import { type StartParts, startService } from "../../src/cli/service.ts";
import { EDGE_SETTINGS } from "../../src/cli/setting-table.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { longActions } from "../chaos/long-messages.ts";
import { VirtualRelay } from "../harness/virtual-relay.ts";
import { Command, ROOT } from "../support/command.ts";
import { startRelay, testConfig } from "../support/relay.ts";
import { startProcess } from "../support/relay-process.ts";
import { temporaryFile } from "../support/store-subject.ts";
import { Stream, streamUrl } from "../support/stream.ts";
import { assertExact, Viewer } from "../support/viewers.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "-_0aZ9aaaaa";
const SCENARIO = { kinds: ["text" as const], timeoutMs: 20 };
const BOOTSTRAP_KINDS = ["sw.js", "sw.js_data", "popout", "watch", "next"];
const LIMIT = { timeout: 300_000 };

/** A stream as it comes over HTTP; `complete` says whether its final chunk came. */
async function openBare(
  base: string,
  videoId: string,
): Promise<{ response: IncomingMessage; text: Promise<string> }> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(streamUrl(base, { videoId }), { agent: false }, resolve).on("error", reject);
  });
  assert.equal(response.statusCode, 200);
  const text = response.setEncoding("utf8").reduce((all: string, part: string) => all + part, "");
  return { response, text };
}

it(
  "SIGTERM, SIGINT and SIGHUP end streams without an end frame; viewers resume without a gap",
  LIMIT,
  async (t) => {
    await using upstream = await startSimulator();
    const chat = upstream.chat(VIDEO, SCENARIO);
    await using relay = await startProcess(upstream, { RELAY_STORE: `sqlite:${await temporaryFile(t)}` });
    const viewers = await Promise.all(
      Array.from({ length: 5 }, () => Viewer.open(() => relay.url, { videoId: VIDEO, backfill: 500 })),
    );
    const base = viewers[0]?.history.start ?? Number.NaN;
    let speech = chat.speak(200);
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
      const bare = await openBare(relay.url, VIDEO);
      const due = base + chat.ledger.length + 20;
      await Promise.all(viewers.map((viewer) => viewer.reached(due)));
      // Before the signal: a viewer may otherwise come back, and be refused, before the process has ended.
      const ends = Promise.all(viewers.map((viewer) => viewer.ended()));
      relay.signal(signal);
      assert.deepEqual(await relay.exited, { code: 0, signal: null });
      await ends;
      assert.doesNotMatch(await bare.text, /^event: (end|error)$/m);
      assert.ok(bare.response.complete, "the chunked end did not come");
      speech.stop(); // A start that takes longer than the upstream keeps messages would rightly show a gap.
      chat.say(20);
      await relay.start();
      await Promise.all(viewers.map((viewer) => viewer.wake()));
      speech = chat.speak(200);
    }
    speech.stop();
    const ids = chat.ledger.map(({ id }) => id);
    for (const viewer of viewers) {
      await viewer.reached(base + ids.length);
      assertExact(viewer.history, base, ids);
      await viewer.leave();
    }
  },
);

it("a SIGUSR1 opens no debugger, in the first process and in a worker", LIMIT, async () => {
  const service = new Command(["--port", "0", "--store", "memory:", "--workers", "2"]);
  const { pid } = service.child;
  await service.printed(/listening on/);
  const workers = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
  assert.equal(workers.length, 1);
  for (const each of [pid ?? 0, ...workers]) process.kill(each, "SIGUSR1");
  service.child.kill("SIGTERM");
  const [code] = await service.exited;
  assert.equal(code, 0);
  assert.doesNotMatch(service.error, /Debugger/);
});

it("a SIGTERM to npx alone, which ends the shell between the two, stops the service", LIMIT, async (t) => {
  const line = `'${process.execPath}' '${join(ROOT, "bin/livechat-relay.js")}' --port 0 --store memory: & echo "pid $!"; wait`;
  const npx = new Command([line], { node: "sh", main: "-c", env: { npm_lifecycle_event: "npx" } });
  const pid = Number(await npx.printed(/pid (\d+)/));
  t.after(() => npx.out.includes('"stopped"') || process.kill(pid, "SIGKILL"));
  await npx.printed(/listening on/);
  npx.child.kill("SIGTERM");
  await npx.exited; // and whatever else writes to its output
  assert.match(npx.out, /"stopped"/);
});

function refusal(url: string): Promise<string | undefined> {
  const { port, hostname } = new URL(url);
  return new Promise((resolve) => {
    connect(Number(port), hostname)
      .once("connect", () => resolve("connected"))
      .once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}

describe("a stop", LIMIT, () => {
  it("turns off readiness and refuses new and waiting viewers while it waits for the running poll", async () => {
    await using relay = await startRelay();
    const { upstream, url, service } = relay;
    upstream.chat(VIDEO, SCENARIO);
    upstream.chat(OTHER, SCENARIO);
    await using viewer = await Stream.open(url, { videoId: VIDEO });
    const page = upstream.fault({ on: "popout", videoId: OTHER, times: 1, as: "silent" });
    const waiting = fetch(streamUrl(url, { videoId: OTHER }));
    await upstream.requested("popout", { videoId: OTHER, since: 0 });
    assert.equal(page.fired, 1);
    const slow = upstream.fault({ on: "get_live_chat", times: 1, as: "silent" });
    while (slow.fired === 0) await upstream.requested("get_live_chat", { videoId: VIDEO });

    const stopping = service.stop();
    const newcomer = fetch(streamUrl(url, { videoId: VIDEO }));
    const readiness = await fetch(`${url}/readyz`);
    assert.equal(readiness.status, 503);
    assert.match(await readiness.text(), /the service is stopping/);
    for (const answer of await Promise.all([waiting, newcomer])) {
      assert.equal(answer.status, 503);
      assert.ok(Number(answer.headers.get("retry-after")) >= 1);
      assert.equal(((await answer.json()) as { code: string }).code, "CAPACITY");
    }
    assert.ok(!viewer.over, "the stop did not wait");
    await stopping;
    assert.equal(await refusal(url), "ECONNREFUSED");
  });

  it("does not wait for a viewer that does not read", async (t) => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, SCENARIO);
    await using reader = await Stream.open(relay.url, { videoId: VIDEO });
    const { port, hostname } = new URL(relay.url);
    const deaf = connect(Number(port), hostname).pause();
    t.after(() => deaf.destroy());
    deaf.write(`GET /v1/stream?videoId=${VIDEO} HTTP/1.1\r\nHost: relay\r\n\r\n`);
    for (let said = 200; said <= 600; said += 200) {
      chat.say(longActions(said, 200));
      await reader.untilMessages(said);
    }
    await relay.service.stop();
  });

  it("takes less than five seconds with 300 viewers and an upstream that does not answer", async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
    const viewers = await Promise.all(Array.from({ length: 300 }, () => relay.visit({ videoId: VIDEO })));
    const last = chat.say(60).at(-1);
    await relay.advance(20_000);
    assert.ok(viewers.every(({ ids }) => ids.at(-1) === last));
    relay.network.silentUntil = Number.POSITIVE_INFINITY;
    await relay.advance(10_000);
    const from = relay.clock.monotonic();
    await relay.stop();
    const tookMs = relay.clock.monotonic() - from;
    assert.ok(
      tookMs >= 2000 && tookMs < 2400,
      `it took ${tookMs} ms: 2 s for the poll, a millisecond a viewer`,
    );
    assert.ok(viewers.every(({ sink, end }) => sink.closedBy === "end" && !end));
  });

  it("takes under five seconds with a disk that does not answer, and loses nothing viewers saw", async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
    const viewers = await Promise.all(Array.from({ length: 2000 }, () => relay.visit({ videoId: VIDEO })));
    const seen = chat.say(10);
    await relay.advance(20_000);
    assert.ok(viewers.every(({ ids }) => ids.at(-1) === seen.at(-1)));
    relay.disk.commit = { leastMs: 60_000, jitterMs: 0 };
    chat.say(1);
    await relay.advance(15_000);
    const from = relay.clock.monotonic();
    await relay.stop();
    const tookMs = relay.clock.monotonic() - from;
    assert.ok(tookMs > 4000 && tookMs < 5000, `it took ${tookMs} ms`);

    relay.disk.calm();
    relay.start();
    const reader = await relay.enter({ videoId: VIDEO, lastEventId: 0 });
    await reader.untilMessages(11);
    assert.deepEqual(reader.ids.slice(0, 10), seen);
  });

  it("keeps all messages that viewers saw, and stores those of the running poll", async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
    const viewer = await relay.enter({ videoId: VIDEO });
    const seen = chat.say(10);
    await viewer.untilMessages(10);

    const slow = relay.upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 1500 } });
    await relay.until(() => slow.fired > 0);
    const inHand = chat.say(5);
    await relay.stop();

    // Nobody can read the earlier messages again.
    chat.change({ page: 0 });
    chat.expireTokens();
    relay.start();
    const reader = await relay.enter({ videoId: VIDEO, lastEventId: 0 });
    await reader.untilMessages(15);
    assert.deepEqual(reader.ids, [...seen, ...inHand]);
  });
});

describe("a start that fails", () => {
  /** Starts something whose HTTP server cannot be made. Resolves to how many sleeps nobody has ended then. */
  async function sleepsLeft<C extends { http: object }>(
    start: (config: C, parts: StartParts) => Promise<unknown>,
    config: C,
  ): Promise<number> {
    let sleeping = 0;
    const sleep: Clock["sleep"] = (ms, signal) => {
      sleeping += 1;
      return systemClock.sleep(ms, signal).finally(() => {
        sleeping -= 1;
      });
    };
    const fail = () => {
      throw new Error("no server");
    };
    const http = Object.defineProperty({ ...config.http }, "compression", { get: fail, enumerable: true });
    const parts = { clock: { ...systemClock, sleep }, telemetry: new Telemetry(silentLog) };
    const starting = start({ ...config, http }, parts);
    await assert.rejects(starting, /no server/);
    await turn();
    return sleeping;
  }

  it("leaves nothing running, neither of a service nor of an edge", async () => {
    await using upstream = await startSimulator();
    assert.equal(await sleepsLeft(startService, testConfig(upstream)), 0);
    const values = readFlags(EDGE_SETTINGS, [], {
      RELAY_PORT: "0",
      RELAY_ORIGIN: "http://127.0.0.1:1",
    }).values;
    assert.equal(await sleepsLeft(startEdge, toEdgeConfig(values)), 0);
  });
});

describe("a start", () => {
  /** A viewer has seen three messages, the relay has stopped, and since then seven more were said. */
  async function afterStop() {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
    const viewer = await relay.enter({ videoId: VIDEO });
    chat.say(3);
    const lastEventId = (await viewer.untilMessages(3)).at(-1)?.cursor ?? 0;
    await relay.stop();
    const missed = chat.say(7);
    const stoppedAt = relay.clock.monotonic();
    const asked = (videoId: string) =>
      relay.upstream.requests
        .filter((request) => request.at >= stoppedAt && request.videoId === videoId)
        .map(({ kind }) => kind);
    return { relay, lastEventId, missed, asked };
  }

  it("polls recent rooms at once, without a bootstrap and without a viewer", async () => {
    const { relay, lastEventId, missed, asked } = await afterStop();
    relay.start();
    await relay.advance(1000);
    assert.deepEqual(asked(VIDEO), ["get_live_chat"]);
    const back = await relay.enter({ videoId: VIDEO, lastEventId });
    await back.untilMessages(7);
    assert.deepEqual(back.ids, missed);
  });

  it("continues thirty rooms by their tokens, without a page or a script", async () => {
    const relay = new VirtualRelay({ hasDisk: true, settings: { RELAY_GATE_SPACING_MS: "10" } });
    const videos = Array.from({ length: 30 }, (_, room) => `restarted${String(room).padStart(2, "0")}`);
    for (const videoId of videos) relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs: 8000 });
    await relay.when(Promise.all(videos.map((videoId) => relay.visit({ videoId }).entered)));
    await relay.stop();
    const since = relay.clock.monotonic();
    relay.start();
    await relay.advance(10_000);
    const asked = relay.upstream.requests.filter(({ at }) => at >= since);
    const { true: ofVideos = [], false: polls = [] } = Object.groupBy(
      asked,
      ({ kind }) => `${kind === "next"}`,
    );
    assert.deepEqual(new Set(polls.map(({ kind }) => kind)), new Set(["get_live_chat"]));
    assert.equal(new Set(polls.map(({ videoId }) => videoId)).size, 30);
    // No page has shown their titles before the stop: each room asks once, after its first polls.
    assert.equal(new Set(ofVideos.map(({ videoId }) => videoId)).size, ofVideos.length);
  });

  it("leaves rooms whose checkpoint is older than the grace time alone until a viewer comes", async () => {
    const { relay, lastEventId, missed, asked } = await afterStop();
    await relay.advance(relay.config.rooms.graceMs);
    relay.start();
    await relay.advance(60_000);
    assert.deepEqual(asked(VIDEO), []);
    const back = await relay.enter({ videoId: VIDEO, lastEventId });
    await back.untilMessages(7);
    assert.ok(BOOTSTRAP_KINDS.includes(asked(VIDEO)[0] ?? ""));
    assert.deepEqual(back.ids, missed);
  });
});
