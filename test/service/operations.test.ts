/**
 * What an operator sees: health, readiness, metrics and log, over one run in which everything happens that
 * can.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { pino } from "pino";
import { startSimulator } from "../../simulator/index.ts";
import { ENDED } from "../../src/protocol/chat.ts";
import { runSizeLimit } from "../../src/store/size-limit.ts";
import { memoryStore } from "../../src/store/sqlite/inline-thread.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { longActions } from "../chaos/long-messages.ts";
import { ask, askRaw, assertRefused, pollOf, post, secretsOf, session } from "../support/api.ts";
import { movedRoom, UNREADABLE_VIDEO, unreadableRoom } from "../support/earlier-relays.ts";
import { eventually } from "../support/eventually.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { PLACES } from "../support/opening.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { own, saying } from "../support/store-reading.ts";
import { observe } from "../support/store-subject.ts";
import { Stream, streamUrl } from "../support/stream.ts";

const VIDEO = "a-whole-run";
const SLOW_VIDEO = "slow-viewer";
const TOP_VIDEO = "in-top-chat";
const FAILING_VIDEO = "failing-one";
const WALLED_VIDEO = "walled-room";
const MAX_OF_ADDRESS = 10;
const MAX_CONNECTIONS = 100;
/** A viewer's address: that of its connection, and that which the proxy in front names. */
const CONNECTION_ADDRESS = "127.0.0.77";
const VIEWER_ADDRESS = "203.0.113.177";
const MADE_UP_TOKEN = "made-up-token-of-a-caller";
const MADE_UP_KEY = "AIzaSyMadeUpKeyOfACaller";

/** A run of the relay with its log and the highest value that each metric was seen with. */
class Run {
  readonly relay: TestRelay;
  readonly log: string[];
  readonly #highest = new Map<string, number>();

  constructor(relay: TestRelay, log: string[]) {
    this.relay = relay;
    this.log = log;
  }

  /** Collects the metrics; gives the value of one, its labels summed up, of a histogram the count. */
  async value(name: string): Promise<number> {
    const now = valuesIn(await (await fetch(`${this.relay.url}/metrics`)).text());
    for (const [metric, value] of now) {
      this.#highest.set(metric, Math.max(value, this.#highest.get(metric) ?? 0));
    }
    return now.get(name) ?? 0;
  }

  highest(name: string): number {
    return this.#highest.get(name) ?? 0;
  }

  /** Resolves once the condition on a metric holds. */
  async until(name: string, holds: (value: number) => boolean): Promise<void> {
    await eventually(`${name} holds`, async () => {
      const value = await this.value(name);
      return holds(value) ? `${name} holds` : `${name} is ${value}`;
    });
  }
}

function valuesIn(text: string): Map<string, number> {
  const values = new Map<string, number>();
  for (const [, name = "", value] of text.matchAll(/^(\w+)(?:\{.*\})? (\S+)$/gm)) {
    const metric = name.replace(/_count$/, "");
    values.set(metric, (values.get(metric) ?? 0) + (Number(value) || 0)); // NaN: not known yet
  }
  return values;
}

/** A stream that names an address of its own, and is never read to its end. */
function openFromElsewhere(base: string): Promise<IncomingMessage> {
  const options = { localAddress: CONNECTION_ADDRESS, headers: { "x-forwarded-for": VIEWER_ADDRESS } };
  return new Promise((resolve, reject) => {
    get(streamUrl(base, { videoId: VIDEO }), options, resolve).on("error", reject);
  });
}

/** Callers of all endpoints, well and badly behaved ones. */
async function callers(run: Run): Promise<void> {
  const { relay } = run;
  const opened = await session(relay.url, { videoId: VIDEO });
  await post(relay.url, "/v1/poll", pollOf(opened));
  await post(relay.url, "/v1/poll", pollOf(opened));
  await post(relay.url, "/v1/poll", { ...pollOf(opened), token: MADE_UP_TOKEN, apiKey: MADE_UP_KEY });
  await post(relay.url, "/v1/poll", { ...pollOf(opened), token: MADE_UP_TOKEN, client: "?" });
  await post(relay.url, "/v1/probe", { videoId: VIDEO });
  await ask(relay.url, `/v1/nothing?key=${MADE_UP_KEY}&token=${MADE_UP_TOKEN}`);
  await askRaw(relay.url, `GET /${MADE_UP_TOKEN} HTTP/9\r\n\r\n`);
  const viewer = await openFromElsewhere(relay.url);
  assert.equal(viewer.statusCode, 200);
  viewer.destroy();
}

/** A video that shows a consent form in place of its chat. */
async function walled({ relay }: Run): Promise<void> {
  relay.upstream.chat(WALLED_VIDEO);
  const form = relay.upstream.fault({ on: PLACES, videoId: WALLED_VIDEO, times: 3, as: "consent" });
  assert.equal((await ask(relay.url, `/v1/stream?videoId=${WALLED_VIDEO}`)).status, 404);
  assert.equal(form.fired, 3);
}

/** A chat whose page offers all messages by a token that is then refused. */
async function inTopChat(run: Run): Promise<void> {
  const { upstream, url } = run.relay;
  upstream.chat(TOP_VIDEO, { foundOn: "watch" }).say(10);
  upstream.fault({ on: "get_live_chat", videoId: TOP_VIDEO, times: 1, as: { delayMs: 0 } });
  upstream.fault({ on: "get_live_chat", videoId: TOP_VIDEO, times: 1, as: "invalid-argument" });
  await using _ = await Stream.open(url, { videoId: TOP_VIDEO });
  await run.until("relay_rooms_in_top_chat", (count) => count === 1);
}

/** A connection that may carry several chats, until its client leaves; and one with too many chats. */
async function severalChats(run: Run): Promise<void> {
  const many = Array.from({ length: MAX_OF_ADDRESS + 1 }, (_, i) => `one-of-a-${String(i).padStart(2, "0")}`);
  const refused = await ask<{ code: string }>(run.relay.url, `/v1/merged?videoIds=${many}`);
  assert.equal(refused.body.code, "CAPACITY");
  const leaving = new AbortController();
  await fetch(`${run.relay.url}/v1/merged?videoIds=${VIDEO}`, { signal: leaving.signal });
  await run.until("relay_multiplexed_connections", (count) => count === 1);
  leaving.abort();
  await run.until("relay_multiplexed_connections", (count) => count === 0);
}

/** More connections than there may be. */
async function flood({ relay }: Run): Promise<void> {
  relay.telemetry.service.limits({ files: 1000, connections: MAX_CONNECTIONS, viewers: 90 });
  const port = Number(new URL(relay.url).port);
  const sockets = Array.from({ length: MAX_CONNECTIONS + 1 }, () => connect(port, "127.0.0.1"));
  await Promise.any(sockets.map((socket) => once(socket.resume(), "end")));
  for (const socket of sockets) socket.destroy();
  await Promise.all(sockets.map((socket) => socket.closed || once(socket, "close")));
}

/** Trouble at the upstream: failed polls, an expired token, throttling, a room that fails for good. */
async function troubles(run: Run): Promise<void> {
  const { upstream, url } = run.relay;
  upstream.fault({ on: "get_live_chat", videoId: VIDEO, times: 1, as: { status: 500 } });
  await run.until("relay_failed_polls_total", (count) => count >= 1);
  upstream.fault({ on: "get_live_chat", videoId: VIDEO, times: 1, as: "invalid-argument" });
  await upstream.requested("popout", { videoId: VIDEO });
  upstream.fault({ on: "get_live_chat", videoId: VIDEO, times: 1, as: "quota" });
  await run.until("relay_gate_cooldown_seconds", (seconds) => seconds > 0);
  await run.until("relay_gate_queue", (calls) => calls > 0);
  await run.until("relay_gate_cooldown_seconds", (seconds) => seconds === 0);
  const failingChat = upstream.chat(FAILING_VIDEO, { kinds: ["text"] });
  failingChat.say(1);
  await using failing = await Stream.open(url, { videoId: FAILING_VIDEO });
  upstream.fault({ on: "get_live_chat", videoId: FAILING_VIDEO, times: 3, as: "html" });
  assert.equal((await failing.ended())?.event, "error");
  failingChat.say(100);
  await using again = await Stream.open(url, { videoId: FAILING_VIDEO });
  await run.until("relay_gaps_total", (count) => count > 0);
  await again.untilMessages(50);
}

/** A viewer that takes nothing of more than its socket can hold. */
async function slowViewer(run: Run): Promise<void> {
  const { upstream, url } = run.relay;
  const chat = upstream.chat(SLOW_VIDEO, { timeoutMs: 5, page: 0 });
  await using witness = await Stream.open(url, { videoId: SLOW_VIDEO, backfill: 0 });
  chat.say(longActions(0, 500));
  await witness.untilMessages(500);
  const slow = connect(Number(new URL(url).port), "127.0.0.1").pause();
  slow.write(`GET /v1/stream?videoId=${SLOW_VIDEO}&backfill=500 HTTP/1.1\r\nHost: a\r\n\r\n`);
  await run.until("relay_viewers_dropped_total", (count) => count === 1);
  slow.destroy();
}

/** Another program that locks the store's file: writes fail until it unlocks the file. */
async function failingStore(run: Run, path: string): Promise<void> {
  const { url, upstream } = run.relay;
  const other = new DatabaseSync(path, { timeout: 5000 }); // the relay may be writing just now
  other.exec("begin immediate");
  await run.until("relay_store_failures_total", (count) => count > 0);
  upstream.chat("no-place-in").say(1);
  const asked = ["/readyz", "/healthz", "/v1/stream?videoId=no-place-in"].map((path) => ask(url, path));
  const [ready, alive, stream] = await Promise.all(asked);
  assert.ok(ready && alive && stream);
  const [reason] = (ready.body as { reasons: string[] }).reasons; // a busy machine adds another one
  assert.deepEqual([ready.status, reason], [503, "the store does not work: it is locked"]);
  assert.equal(alive.status, 200);
  assertRefused(stream, 503, "STORE_UNAVAILABLE", upstream);
  other.exec("rollback");
  other.close();
  // Each room finds out for itself, within seconds.
  await eventually('{"ready":true,"reasons":[]}', async () =>
    JSON.stringify((await ask(url, "/readyz")).body),
  );
}

/** A store that is larger than it may be: its only chat is too young to be deleted at first. */
async function fullStore(run: Run): Promise<void> {
  const { telemetry } = run.relay;
  const clock = new FakeClock();
  const store = observe(memoryStore(clock), clock, telemetry);
  const hold = await own(store, "stored-long");
  await store.append(hold, hold.head, [saying("a", "a", {})], "");
  await store.finish(hold, ENDED);
  const stop = new AbortController();
  const over = runSizeLimit(store, 1, () => [], clock, telemetry, stop.signal);
  await run.until("relay_store_full", (full) => full === 1);
  await clock.advance(11 * 60_000);
  await run.until("relay_store_displaced_total", (count) => count === 1);
  stop.abort();
  await over;
}

async function wholeRun(folder: string): Promise<Run> {
  const log: string[] = [];
  const telemetry = new Telemetry(pino({ level: "trace" }, { write: (line) => void log.push(line) }));
  const path = join(folder, "relay.db");
  const settings = {
    RELAY_STORE: `sqlite:${path}`,
    RELAY_COOLDOWN_MS: "1500",
    RELAY_MAX_FAILURES: "3",
    RELAY_TRUST_PROXY: "1",
    RELAY_RECORD: "@somebody",
    RELAY_MAX_VIEWERS_PER_ADDRESS: `${MAX_OF_ADDRESS}`,
  };
  const unreadable = unreadableRoom(telemetry, join(folder, "unreadable.db"));
  await Promise.all([unreadable, movedRoom(telemetry, VIDEO)]);
  await using upstream = await startSimulator();
  upstream.channel("@somebody");
  await using relay = await startRelay({
    upstream,
    telemetry,
    answers: { bytes: 1e9, stallMs: 200 },
    maxConnections: MAX_CONNECTIONS,
    settings,
  });
  const run = new Run(relay, log);
  const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5, works: [{}] });
  chat.say(200);
  await using stream = await Stream.open(relay.url, { videoId: VIDEO });
  await stream.untilMessages(10);
  chat.say([{ brandNewAction: { id: "a" } }]);
  await run.until("relay_dropped_actions_total", (count) => count > 0);
  await callers(run);
  await walled(run);
  await inTopChat(run);
  await severalChats(run);
  await flood(run);
  await troubles(run);
  await slowViewer(run);
  const speech = chat.speak(50); // something to be stored at any time
  await failingStore(run, path);
  speech.stop();
  chat.end("reload-only");
  assert.equal((await stream.ended())?.event, "end");
  await run.value("relay_rooms");
  await fullStore(run);
  return run;
}

describe("over a run with every kind of event", () => {
  let folder = "";
  let run: Run;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "relay-run-"));
    run = await wholeRun(folder);
  });
  after(() => rm(folder, { recursive: true }));

  it("every declared metric changes, except the count of bugs, and has a description", () => {
    for (const { name, help } of run.relay.telemetry.registry.getMetricsAsArray()) {
      if (name === "relay_task_faults_total") assert.equal(run.highest(name), 0);
      else assert.ok(run.highest(name) > 0, `${name} has not moved`);
      assert.match(help, /^[A-Z].{10,}/, name);
      assert.match(name, /^relay_[a-z_]+$/);
    }
  });

  it("the log reports each event with its video", () => {
    const told = run.log.map((line) => JSON.parse(line));
    const events: [RegExp, string?][] = [
      [/^room moved to another egress$/, VIDEO],
      [/^room opened$/, VIDEO],
      [/^room re-bootstrapped$/, VIDEO],
      [/^room ended$/, VIDEO],
      [/^room not opened$/, WALLED_VIDEO],
      [/^checkpoint unreadable/, UNREADABLE_VIDEO],
      [/^totals unreadable/, UNREADABLE_VIDEO],
      [/^stored message unreadable/, UNREADABLE_VIDEO],
      [/only Top chat is read/, TOP_VIDEO],
      [/^room failed$/, FAILING_VIDEO],
      [/^poll failed$/, VIDEO],
      [/^messages may be missing/, FAILING_VIDEO],
      [/^viewer dropped/, SLOW_VIDEO],
      [/^throttled by the upstream/],
      [/^the store failed/],
      [/^an upstream action was not relayed$/],
    ];
    for (const [words, videoId] of events) {
      const found = told.filter(({ msg }) => words.test(msg));
      assert.ok(found.length > 0, `${words}`);
      if (videoId)
        assert.ok(
          found.some((line) => line.videoId === videoId),
          `${words} of ${videoId}`,
        );
    }
    const failed = told.find(({ msg }) => msg === "room failed");
    assert.equal(failed.code, "UPSTREAM_ERROR");
    assert.match(failed.why, /JSON object .*3 times in a row/);
    assert.deepEqual(
      told.filter(({ msg }) => msg === "a request failed"),
      [],
    );
  });

  it("the log and the metrics never contain a token, a key, or a viewer's address", async () => {
    const text = run.log.join("") + (await run.relay.telemetry.registry.metrics());
    const callersOwn = [MADE_UP_TOKEN, MADE_UP_KEY, CONNECTION_ADDRESS, VIEWER_ADDRESS];
    const secrets = [...secretsOf(run.relay.upstream), ...callersOwn];
    assert.ok(secrets.length > 50);
    for (const secret of secrets) assert.ok(!text.includes(secret), `it contains ${secret}`);
  });
});

describe("/healthz and /readyz", () => {
  it("are 200 while the service is healthy", async () => {
    await using relay = await startRelay();
    const alive = await ask(relay.url, "/healthz");
    assert.deepEqual([alive.status, alive.body], [200, { status: "alive" }]);
    await eventually('200 {"ready":true,"reasons":[]}', async () => {
      const { status, body } = await ask(relay.url, "/readyz");
      return `${status} ${JSON.stringify(body)}`; // a busy machine is late, and unready, for some seconds
    });
  });

  it("show a late event loop to everybody who asks", async () => {
    await using relay = await startRelay();
    // The first pause begins the measurement.
    for (const ms of [30, 1500]) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
      await ask(relay.url, "/healthz");
    }
    for (const prober of ["first", "second"]) {
      const { status, body } = await ask<{ reasons: string[] }>(relay.url, "/readyz");
      assert.equal(status, 503, prober);
      assert.match(body.reasons.join(), /^the event loop is \d{4} ms late$/);
    }
  });

  it("are 503 and 200 for a request that arrives while the service stops", async () => {
    await using relay = await startRelay({ settings: { RELAY_GATE_SPACING_MS: "0" } });
    relay.upstream.chat(VIDEO, { timeoutMs: 5 }).say(1);
    await using stream = await Stream.open(relay.url, { videoId: VIDEO });
    await stream.untilMessages(1);
    relay.upstream.fault({ on: "get_live_chat", times: 1, as: { delayMs: 3000 } });
    await relay.upstream.requested("get_live_chat"); // a poll in hand, which the stop waits for
    const socket = connect(Number(new URL(relay.url).port), "127.0.0.1");
    socket.write("GET /readyz HTTP/1.1\r\nHost: a\r\n");
    await ask(relay.url, "/healthz"); // by now the half request has been seen
    const stopped = relay.service.stop();
    socket.write("Connection: close\r\n\r\n");
    const answer = String(Buffer.concat(await socket.toArray()));
    assert.match(answer, /^HTTP\/1\.1 503 /);
    const body = answer
      .split("\r\n\r\n")
      .at(-1)
      ?.replace(/,"the event loop is \d+ ms late"/, "");
    assert.equal(body, '{"ready":false,"reasons":["the service is stopping"]}');
    await stopped;
  });
});
