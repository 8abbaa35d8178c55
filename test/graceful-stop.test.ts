/** A stop by signal: everything is durable, every stream ends cleanly, and after the restart viewers just go on. */
import assert from "node:assert/strict";
import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { longActions } from "../chaos/long-messages.ts";
import type { Service } from "../chaos/service.ts";
import type { SettingName } from "../src/cli/config.ts";
import { type Simulator, type SimulatorOptions, startSimulator } from "../src/simulator/index.ts";
import { startProcess } from "./support/relay-process.ts";
import { temporaryFile } from "./support/store-subject.ts";
import { Stream, streamUrl } from "./support/stream.ts";
import { assertExact, Viewer } from "./support/viewers.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "-_0aZ9aaaaa";
const SCENARIO = { kinds: ["text" as const], timeoutMs: 20 };
const BOOTSTRAP_KINDS = ["sw.js", "sw.js_data", "popout", "watch", "next"];
/** The longest that a stop may take. */
const STOP_LIMIT_MS = 5000;
/** A grace time that a test can wait for. */
const GRACE_MS = 500;
const LIMIT = { timeout: 60_000 };

type Settings = Partial<Record<SettingName, string>>;

/** An upstream, and a relay on a store that outlives it. */
async function setUp(t: TestContext, options: SimulatorOptions = {}) {
  const upstream = await startSimulator(options);
  t.after(() => upstream.close());
  const store = `sqlite:${await temporaryFile(t)}`;
  const start = async (settings: Settings = {}): Promise<Service> => {
    const relay = await startProcess(upstream, { RELAY_STORE: store, ...settings });
    t.after(() => relay.close());
    return relay;
  };
  return { upstream, start };
}

/** A stream as it comes over HTTP; `complete` tells whether its chunked end came. */
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

/** What the upstream was asked about a video since a time. */
function askedSince(upstream: Simulator, at: number, videoId: string) {
  return upstream.requests.filter((request) => request.at >= at && request.videoId === videoId);
}

async function stop(relay: Service, signal: NodeJS.Signals = "SIGTERM"): Promise<number> {
  const from = performance.now();
  relay.signal(signal);
  assert.deepEqual(await relay.exited, { code: 0, signal: null });
  return performance.now() - from;
}

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  describe(signal, LIMIT, () => {
    it("ends every stream cleanly, without an end frame, and viewers resume without a gap", async (t) => {
      const { upstream, start } = await setUp(t);
      const chat = upstream.chat(VIDEO, SCENARIO);
      const relay = await start();
      let url = relay.url;
      const viewers = await Promise.all(
        Array.from({ length: 5 }, () => Viewer.open(() => url, { videoId: VIDEO, backfill: 500 })),
      );
      const base = viewers[0]?.history.start ?? Number.NaN;
      const bare = await openBare(relay.url, VIDEO);
      const speech = chat.speak(200);
      await Promise.all(viewers.map((viewer) => viewer.reached(base + 40)));

      await stop(relay, signal);
      await Promise.all(viewers.map((viewer) => viewer.ended()));
      assert.doesNotMatch(await bare.text, /^event: (end|error)$/m);
      assert.ok(bare.response.complete, "the chunked end did not come");

      const next = await start();
      url = next.url;
      await Promise.all(viewers.map((viewer) => viewer.wake()));
      speech.stop();
      const ids = chat.ledger.map(({ id }) => id);
      for (const viewer of viewers) {
        await viewer.reached(base + ids.length);
        assertExact(viewer.history, base, ids);
        await viewer.leave();
      }
    });
  });
}

describe("a stop", LIMIT, () => {
  it("keeps all that viewers saw, and makes the poll in hand durable", async (t) => {
    const { upstream, start } = await setUp(t);
    const chat = upstream.chat(VIDEO, SCENARIO);
    const relay = await start();
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    const seen = chat.say(10);
    await viewer.untilMessages(10);

    const slow = upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 400 } });
    while (slow.fired === 0) await upstream.requested("get_live_chat", { videoId: VIDEO });
    const inHand = chat.say(5);
    await stop(relay);

    // Nobody can be told again what was said.
    chat.change({ page: 0 });
    chat.expireTokens();
    const next = await start();
    await using reader = await Stream.open(next.url, { videoId: VIDEO, lastEventId: 0 });
    await reader.untilMessages(15);
    assert.deepEqual(reader.ids, [...seen, ...inHand]);
  });

  it("turns readiness off, and newcomers and whoever waits for a room away, while it waits for the poll in hand", async (t) => {
    const { upstream, start } = await setUp(t);
    upstream.chat(VIDEO, SCENARIO);
    upstream.chat(OTHER, SCENARIO);
    const relay = await start();
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    const page = upstream.fault({ on: "popout", videoId: OTHER, times: 1, as: "silent" });
    const waiting = fetch(streamUrl(relay.url, { videoId: OTHER }));
    await upstream.requested("popout", { videoId: OTHER, since: 0 });
    assert.equal(page.fired, 1);
    const slow = upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 1000 } });
    while (slow.fired === 0) await upstream.requested("get_live_chat", { videoId: VIDEO });

    relay.signal("SIGTERM");
    await relay.logged("stopping");
    const newcomer = fetch(streamUrl(relay.url, { videoId: VIDEO }));
    for (const answer of await Promise.all([waiting, newcomer])) {
      assert.equal(answer.status, 503);
      assert.ok(Number(answer.headers.get("retry-after")) >= 1);
      assert.equal(((await answer.json()) as { code: string }).code, "CAPACITY");
    }
    const readiness = await fetch(`${relay.url}/readyz`);
    assert.equal(readiness.status, 503);
    assert.match(await readiness.text(), /the service is stopping/);
    assert.ok(relay.pid !== undefined && !viewer.over, "the stop did not wait");
    assert.deepEqual(await relay.exited, { code: 0, signal: null });
    assert.equal(await refusal(relay.url), "ECONNREFUSED");
  });

  it("takes five seconds at most, with 300 viewers and an upstream that does not answer", async (t) => {
    const { upstream, start } = await setUp(t);
    const chat = upstream.chat(VIDEO, SCENARIO);
    const relay = await start();
    const viewers = await Promise.all(Array.from({ length: 300 }, () => openBare(relay.url, VIDEO)));
    const last = chat.say(60).at(-1) ?? "";
    const silent = upstream.fault({ on: "get_live_chat", times: Number.POSITIVE_INFINITY, as: "silent" });
    while (silent.fired === 0) await upstream.requested("get_live_chat", { videoId: VIDEO });

    const tookMs = await stop(relay);
    assert.ok(tookMs < STOP_LIMIT_MS, `it took ${Math.round(tookMs)} ms`);
    const texts = await Promise.all(viewers.map(({ text }) => text));
    assert.ok(viewers.every(({ response }) => response.complete));
    assert.ok(!texts.some((text) => text.includes("event: end")));
    assert.equal(new Set(texts.map((text) => text.includes(last))).size, 1, "all were sent the same");
  });

  it("does not wait for a viewer that does not read", async (t) => {
    const { upstream, start } = await setUp(t);
    const chat = upstream.chat(VIDEO, SCENARIO);
    const relay = await start();
    await using reader = await Stream.open(relay.url, { videoId: VIDEO });
    const { port, hostname } = new URL(relay.url);
    const deaf = connect(Number(port), hostname).pause();
    t.after(() => deaf.destroy());
    deaf.write(`GET /v1/stream?videoId=${VIDEO} HTTP/1.1\r\nHost: relay\r\n\r\n`);
    for (let said = 200; said <= 2000; said += 200) {
      chat.say(longActions(said, 200));
      await reader.untilMessages(said);
    }
    const tookMs = await stop(relay);
    assert.ok(tookMs < STOP_LIMIT_MS, `it took ${Math.round(tookMs)} ms`);
  });
});

function refusal(url: string): Promise<string | undefined> {
  const { port, hostname } = new URL(url);
  return new Promise((resolve) => {
    connect(Number(port), hostname)
      .once("connect", () => resolve("connected"))
      .once("error", (error: NodeJS.ErrnoException) => resolve(error.code));
  });
}

describe("a start", LIMIT, () => {
  /** A viewer has seen three messages, the relay has stopped, and since then seven more were said. */
  async function afterStop(t: TestContext) {
    const { upstream, start } = await setUp(t);
    const chat = upstream.chat(VIDEO, SCENARIO);
    const relay = await start();
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    chat.say(3);
    const lastEventId = (await viewer.untilMessages(3)).at(-1)?.cursor ?? 0;
    await stop(relay);
    return { upstream, start, lastEventId, restartAt: performance.now(), missed: chat.say(7) };
  }

  it("polls fresh rooms at once, without a bootstrap and without a viewer", async (t) => {
    const { upstream, start, lastEventId, restartAt, missed } = await afterStop(t);
    const polled = upstream.requested("get_live_chat", { videoId: VIDEO, count: 3, finished: true });
    const next = await start();
    const calls = await polled;
    assert.deepEqual(new Set(calls.map(({ status }) => status)), new Set([200]));
    assert.deepEqual(
      upstream.requests.filter(({ at, kind }) => at >= restartAt && BOOTSTRAP_KINDS.includes(kind)),
      [],
    );
    await using back = await Stream.open(next.url, { videoId: VIDEO, lastEventId });
    await back.untilMessages(7);
    assert.deepEqual(back.ids, missed);
  });

  it("goes on with a hundred rooms by their tokens, without a page or a script", async (t) => {
    const { upstream, start } = await setUp(t);
    const videos = Array.from({ length: 100 }, (_, room) => `restarted${String(room).padStart(2, "0")}`);
    for (const video of videos) upstream.chat(video, { ...SCENARIO, timeoutMs: 1000 });
    const relay = await start();
    const streams = await Promise.all(videos.map((videoId) => Stream.open(relay.url, { videoId })));
    await Promise.all(streams.map((stream) => stream.close()));
    await stop(relay);
    const since = performance.now();
    await start();
    await Promise.all(videos.map((videoId) => upstream.requested("get_live_chat", { videoId, since })));
    const calls = upstream.requests.filter(({ at }) => at >= since);
    assert.deepEqual(new Set(calls.map(({ kind }) => kind)), new Set(["get_live_chat"]));
  });

  it("leaves rooms alone whose checkpoint is older than the grace time, until a viewer comes", async (t) => {
    const { upstream, start, lastEventId, restartAt, missed } = await afterStop(t);
    upstream.chat(OTHER, SCENARIO);
    await pause(GRACE_MS);
    const next = await start({ RELAY_GRACE_MS: String(GRACE_MS) });
    // Another room is bootstrapped and polled meanwhile.
    const polled = upstream.requested("get_live_chat", { videoId: OTHER, count: 5 });
    await using other = await Stream.open(next.url, { videoId: OTHER });
    await polled;
    assert.deepEqual(askedSince(upstream, restartAt, VIDEO), []);
    await using back = await Stream.open(next.url, { videoId: VIDEO, lastEventId });
    await back.untilMessages(7);
    assert.equal(askedSince(upstream, restartAt, VIDEO)[0]?.kind, "popout");
    assert.deepEqual(back.ids, missed);
    assert.ok(!other.over);
  });
});
