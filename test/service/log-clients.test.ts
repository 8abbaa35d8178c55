/**
 * Clients that nobody here wrote read the log of a video: that of the protocol, an EventSource, `curl` and
 * Python. Connections are cut, the service is killed, and nginx caches.
 */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { stream } from "@durable-streams/client";
import { EventSource } from "eventsource";
import { chat } from "../../client/index.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { Line, portOf } from "../chaos/line.ts";
import { freePorts } from "../chaos/service.ts";
import { ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { readLog } from "../support/log.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { startProcess } from "../support/relay-process.ts";
import { listens, startNginxCache } from "../support/reverse-proxies.ts";
import { temporaryFile, temporaryFolder } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";
import { SECRET } from "../support/tokens.ts";

const run = promisify(execFile);
const VIDEO = "log-clients";
const NO_NGINX = spawnSync("nginx", ["-v"]).error ? "nginx is not installed" : false;
/** A cut connection has brought this many more bytes than the one before it. */
const BYTES_MORE = 151;

type Live = false | "long-poll" | "sse";

/**
 * The cursors that the protocol's client reads, to the end of the log or, if not `live`, up to now. After a
 * failure it goes on behind the last batch.
 */
async function readAll(url: string, live: Live): Promise<number[]> {
  const cursors: number[] = [];
  let offset = "-1";
  for (let isOver = false; !isOver; ) {
    let isCurrent = true;
    try {
      const backoffOptions = { initialDelay: 5, maxDelay: 50, multiplier: 2 };
      const response = await stream<{ cursor: number }>({ url, offset, live, json: true, backoffOptions });
      response.subscribeJson((batch) => {
        if (!isCurrent) return; // it comes late, and is read again
        cursors.push(...batch.items.map(({ cursor }) => cursor));
        offset = batch.offset;
      });
      await response.closed;
      await new Promise((resolve) => setTimeout(resolve, 20)); // the last batch is handed over after it
      // The head of an answer may be all that came of it.
      isOver = offset === response.offset && (response.streamClosed || (!live && response.upToDate));
      isCurrent = false;
    } catch {
      isCurrent = false;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  return cursors;
}

/** A way to the service that cuts each connection: the first after `first` bytes, others after more. */
async function cuttingWay(
  t: TestContext,
  to: string,
  first = 1,
): Promise<{ url: string; cuts: () => number }> {
  let cuts = 0;
  const server = createServer((client) => {
    let left = first + cuts++ * BYTES_MORE;
    const service = connect(Number(new URL(to).port), "127.0.0.1");
    client.pipe(service);
    service.on("data", (bytes: Buffer) => {
      client.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) client.destroySoon();
    });
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => other.destroySoon());
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${portOf(server)}`, cuts: () => cuts };
}

/** A relay with an open room, in which thirty messages were said. */
async function talking(t: TestContext, settings = {}) {
  const relay = await startRelay({ settings: { RELAY_MAX_VIEWERS_PER_ADDRESS: "0", ...settings } });
  t.after(() => relay[Symbol.asyncDispose]());
  const said = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 });
  said.say(30);
  const viewer = await Stream.open(relay.url, { videoId: VIDEO });
  t.after(() => viewer[Symbol.asyncDispose]());
  await viewer.untilMessages(30);
  return { relay, said, viewer };
}

/** All cursors of the log, which must follow each other. */
async function cursorsOf({ url }: Pick<TestRelay, "url">): Promise<number[]> {
  const { cursors } = await readLog(url, VIDEO);
  assert.deepEqual(
    cursors,
    cursors.map((_, n) => (cursors[0] ?? 0) + n),
  );
  return cursors;
}

describe("the protocol's own client", () => {
  it("reads a log up to now over connections that are cut after any number of bytes", async (t) => {
    const { relay } = await talking(t);
    const way = await cuttingWay(t, relay.url);
    assert.deepEqual(await readAll(`${way.url}/v1/log/${VIDEO}`, false), await cursorsOf(relay));
    assert.ok(way.cuts() > 20, `${way.cuts()}`);
  });

  for (const live of ["long-poll", "sse"] as const)
    it(`reads a log by ${live} to its end, over connections that are cut`, async (t) => {
      const { relay, said, viewer } = await talking(t);
      const way = await cuttingWay(t, relay.url);
      const reading = readAll(`${way.url}/v1/log/${VIDEO}`, live);
      await eventually(true, async () => way.cuts() > 20);
      said.say(10);
      await viewer.untilMessages(40);
      said.end("continuations-absent");
      assert.deepEqual(await reading, await cursorsOf(relay));
      assert.equal((await cursorsOf(relay)).length, 40);
    });
});

describe("nginx as a cache of logs", { skip: NO_NGINX }, () => {
  it("asks the service at most twice for a batch, however many readers poll", async (t) => {
    const { relay, said } = await talking(t);
    const line = await Line.to(Number(new URL(relay.url).port));
    t.after(() => line[Symbol.asyncDispose]());
    const [port = 0] = await freePorts(1);
    const nginx = await startNginxCache(await temporaryFolder(t), port, new URL(line.url).host);
    t.after(() => nginx.child.kill("SIGKILL"));
    await listens(nginx.way);
    const polls = () => line.requests.filter((head) => head.startsWith(`GET /v1/log/${VIDEO}`)).length;
    const [READERS, BATCHES] = [300, 5];
    let caughtUp = 0;
    const reader = async () => {
      const read: number[] = [];
      for (let [offset, cursor, isClosed] = ["-1", "", false]; !isClosed; ) {
        const query = { offset, live: "long-poll", ...(cursor && { cursor }) };
        const answer = await readLog(nginx.way.url, VIDEO, query);
        assert.ok(answer.status === 200 || answer.status === 204, answer.text);
        read.push(...answer.cursors);
        caughtUp += answer.cursors.length;
        offset = answer.next;
        cursor = answer.headers.get("stream-cursor") ?? "";
        isClosed = answer.isClosed;
      }
      return read;
    };
    const readers = Array.from({ length: READERS }, reader);
    await eventually(30 * READERS, async () => caughtUp);
    const before = polls();
    for (let batch = 1; batch <= BATCHES; batch++) {
      said.say(2);
      await eventually((30 + 2 * batch) * READERS, async () => caughtUp);
    }
    const asked = polls() - before;
    assert.ok(asked >= BATCHES && asked <= 2 * BATCHES, `${asked} requests for ${BATCHES} batches`);
    said.end("continuations-absent");
    const expected = await eventually(true, async () => (await readLog(relay.url, VIDEO)).isClosed).then(() =>
      cursorsOf(relay),
    );
    for (const read of await Promise.all(readers)) assert.deepEqual(read, expected);
  });

  it("loses nothing and repeats nothing over a kill of the service", async (t) => {
    const upstream = await startSimulator();
    t.after(() => upstream[Symbol.asyncDispose]());
    const said = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 });
    said.say(30);
    const service = await startProcess(upstream, { RELAY_STORE: `sqlite:${await temporaryFile(t)}` });
    t.after(() => service.close());
    const [port = 0] = await freePorts(1);
    const { url } = service;
    const nginx = await startNginxCache(await temporaryFolder(t), port, new URL(url).host);
    t.after(() => nginx.child.kill("SIGKILL"));
    await listens(nginx.way);
    const log = `${nginx.way.url}/v1/log/${VIDEO}`;
    const bySdk = Array.fromAsync(
      chat(url, { videoId: VIDEO, cursor: 0, transport: "log", backoff: { baseMs: 50, maxMs: 50 } }),
      ({ cursor }) => cursor,
    );
    const readers = [readAll(log, "long-poll"), readAll(log, "sse"), bySdk];
    const stored = async () => (await readLog(url, VIDEO)).cursors.length;
    await eventually(30, stored);
    for (const count of [40, 50]) {
      service.signal("SIGKILL");
      await service.exited;
      said.say(10);
      await service.start();
      await eventually(count, stored);
    }
    said.end("continuations-absent");
    await eventually(true, async () => (await readLog(url, VIDEO)).isClosed);
    const expected = await cursorsOf({ url });
    for (const read of await Promise.all(readers)) assert.deepEqual(read, expected);
  });
});

describe("a log", () => {
  it("is read by an EventSource, which comes back with its own offset", async (t) => {
    const { relay, said, viewer } = await talking(t, { RELAY_LOG_SSE_MS: "500" });
    const cursors: number[] = [];
    const closed = Promise.withResolvers<void>();
    let source: EventSource;
    const open = (offset: string) => {
      source = new EventSource(`${relay.url}/v1/log/${VIDEO}?live=sse&offset=${offset}`);
      let next = offset;
      source.addEventListener("data", ({ data }) =>
        cursors.push(...(JSON.parse(data) as { cursor: number }[]).map(({ cursor }) => cursor)),
      );
      source.addEventListener("control", ({ data }) => {
        const { streamNextOffset, streamClosed } = JSON.parse(data);
        next = streamNextOffset;
        if (streamClosed) closed.resolve();
      });
      source.addEventListener("error", () => {
        source.close();
        open(next);
      });
    };
    open("-1");
    t.after(() => source.close());
    await delay(800);
    said.say(10);
    await viewer.untilMessages(40);
    said.end("continuations-absent");
    await closed.promise;
    assert.deepEqual(cursors, await cursorsOf(relay));
  });

  /** The example of docs/log.md in a language, for the service at this URL, as `execFile` runs it. */
  const exampleIn = async (language: string, url: string): Promise<[program: string, args: string[]]> => {
    const page = await readFile(join(ROOT, "docs/log.md"), "utf8");
    const blocks = [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))];
    const [, script = assert.fail("no example")] =
      blocks.find(([, text = ""]) => text.includes("long-poll")) ?? [];
    const here = script.replaceAll("http://127.0.0.1:8080", url).replaceAll("demo-stream", VIDEO);
    return [language === "sh" ? "sh" : "python3", ["-c", here]];
  };
  const cursorsIn = (stdout: string, language: string) =>
    [...stdout.matchAll(language === "sh" ? /"cursor":(\d+)/g : /^(\d+) /gm)].map(([, cursor]) =>
      Number(cursor),
    );
  for (const [name, language] of Object.entries({
    "curl in a loop": "sh",
    "Python's standard library": "python",
  })) {
    it(`is read to its end by ${name}, as docs/log.md shows`, async (t) => {
      const { relay, said, viewer } = await talking(t);
      const example = await exampleIn(language, relay.url);
      const running = run(...example, { cwd: await temporaryFolder(t), timeout: 60_000 });
      await delay(300);
      said.say(10);
      await viewer.untilMessages(40);
      said.end("continuations-absent");
      const { stdout } = await running;
      assert.deepEqual(cursorsIn(stdout, language), await cursorsOf(relay));
    });

    it(`loses and repeats nothing in ${name} whose connections break`, async (t) => {
      const { relay, said } = await talking(t);
      said.end("continuations-absent");
      // A head that is cut looks whole to both.
      const { url, cuts } = await cuttingWay(t, relay.url, 1500);
      const [program, [option = "", script = ""]] = await exampleIn(language, url);
      const args = [option, script.replace("sleep 3", "sleep 0.01").replace("sleep(3)", "sleep(0.01)")];
      const { stdout } = await run(program, args, { cwd: await temporaryFolder(t), timeout: 60_000 });
      assert.ok(cuts() > 5, `${cuts()}`);
      assert.deepEqual(cursorsIn(stdout, language), await cursorsOf(relay));
    });

    it(`is given up by ${name} at a refusal, which it shows`, async (t) => {
      await using relay = await startRelay({ settings: { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET } });
      const [program, args] = await exampleIn(language, relay.url);
      const running = run(program, args, { cwd: await temporaryFolder(t), timeout: 60_000 });
      const { stderr }: { stderr: string } = await running.catch((ended) => ended);
      assert.match(stderr, /UNAUTHORIZED.*needs a token/);
    });
  }
});
