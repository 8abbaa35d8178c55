/** nginx and Varnish as caches of logs: few requests, and the whole log over a kill of the service. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { chat } from "../../client/index.ts";
import { startSimulator } from "../../simulator/index.ts";
import { Line } from "../chaos/line.ts";
import { freePorts } from "../chaos/service.ts";
import { eventually } from "../support/eventually.ts";
import { readLog } from "../support/log.ts";
import { without } from "../support/needs.ts";
import { startProcess } from "../support/relay-process.ts";
import { listens, startNginxCache, startVarnishCache, unanswered } from "../support/reverse-proxies.ts";
import { temporaryFile, temporaryFolder } from "../support/store-subject.ts";
import { cursorsOf, readAll, talking, VIDEO } from "../support/talking-log.ts";

/** After this time without an answer, a client asks again, as the SDK does. */
const PATIENCE_MS = 45_000;
const CACHES = { nginx: startNginxCache, varnishd: startVarnishCache } as const;

/** The cache in front of a service, and the number of requests that this has got for the log. */
async function inFront(start: (typeof CACHES)[keyof typeof CACHES], t: TestContext, url: string) {
  const line = await Line.to(Number(new URL(url).port));
  t.after(() => line[Symbol.asyncDispose]());
  const [port = 0] = await freePorts(1);
  const cache = await start(await temporaryFolder(t), port, new URL(line.url).host);
  t.after(async () => {
    const gone = once(cache.child, "exit");
    cache.child.kill("SIGTERM");
    await gone;
  });
  await listens(cache.way);
  const polls = () => line.requests.filter((head) => head.startsWith(`GET /v1/log/${VIDEO}`)).length;
  return { cache, polls };
}

for (const program of ["nginx", "varnishd"] as const) {
  const cached = (t: TestContext, url: string) => inFront(CACHES[program], t, url);

  describe(`${program} as a cache of logs`, { skip: without(program) }, () => {
    it("asks the service at most twice for a batch, however many readers poll", async (t) => {
      const { relay, said } = await talking(t);
      const { cache, polls } = await cached(t, relay.url);
      const [READERS, BATCHES] = [300, 5];
      const over = new AbortController();
      t.after(() => over.abort());
      const positions = Array<number>(READERS).fill(0);
      const reader = async (_: unknown, at: number) => {
        const read: number[] = [];
        for (let [offset, cursor, isClosed] = ["-1", "", false]; !isClosed; ) {
          const query = { offset, live: "long-poll", ...(cursor && { cursor }) };
          const signal = AbortSignal.any([over.signal, AbortSignal.timeout(PATIENCE_MS)]);
          const answer = await readLog(cache.way.url, VIDEO, query, { signal }).catch((error: Error) => {
            assert.ok(error.name === "TimeoutError" || error.message === "fetch failed", error);
          });
          // On a busy machine, a cache may forget a reader that waits, or close an idle connection while
          // it is used again.
          if (!answer) continue;
          assert.ok(answer.status === 200 || answer.status === 204, answer.text);
          read.push(...answer.cursors);
          positions[at] = read.at(-1) ?? 0;
          offset = answer.next;
          cursor = answer.headers.get("stream-cursor") ?? "";
          isClosed = answer.isClosed;
        }
        return read;
      };
      const readers = Promise.all(Array.from({ length: READERS }, reader));
      const head = async () => (await cursorsOf(relay)).at(-1) ?? 0;
      /** Until all have read the log to this cursor, or one has failed. */
      const allAt = (end: number) =>
        Promise.race([readers, eventually(true, () => positions.every((position) => position >= end))]);
      await allAt(await head());
      const before = polls();
      for (let batch = 1; batch <= BATCHES; batch++) {
        const known = await head();
        said.say(2);
        await eventually(true, async () => (await head()) >= known + 2); // a busy machine may add a gap
        await allAt(await head());
      }
      const asked = polls() - before;
      // The first batch may have a request that waited before.
      assert.ok(asked >= BATCHES - 1 && asked <= 2 * BATCHES, `${asked} requests for ${BATCHES} batches`);
      said.end("continuations-absent");
      await eventually(true, async () => (await readLog(relay.url, VIDEO)).isClosed);
      const expected = await cursorsOf(relay);
      for (const read of await readers) assert.deepEqual(read, expected);
    });

    it("asks once for a page, however a reader writes its address", async (t) => {
      const { relay, said, viewer } = await talking(t);
      said.say(1000); // so that the first page is full, and kept for ever
      await viewer.untilMessages(1030);
      const { cache, polls } = await cached(t, relay.url);
      const ask = async (path: string, host = "log.example.org") => {
        const asked = request(cache.way.url + path, { agent: false, headers: { host } }).end();
        const [answer] = (await once(asked, "response")) as [IncomingMessage];
        return { status: answer.statusCode, text: await text(answer) };
      };
      const page = `/v1/log/${VIDEO}?offset=-1`;
      const { text: expected } = await ask(page);
      for (let n = 0; n < 10; n++) {
        assert.deepEqual(await ask(`${page}&cursor=${n}`), { status: 200, text: expected });
        assert.deepEqual(await ask(`/v1/log/${VIDEO}?cursor=${n}&offset=-1`), {
          status: 200,
          text: expected,
        });
        assert.deepEqual(await ask(page, `host${n}.example`), { status: 200, text: expected });
      }
      assert.equal(polls(), 1);
      for (const [other, status] of [
        [`/v1/log/${VIDEO}?offset=%2D1`, 400],
        [`/v1/log/${VIDEO}?%6Fffset=-1`, 400],
        [`/v1/log/${VIDEO}%3Fany`, 404],
        [`/v1/log/https:%2F%2Fyoutu.be%2F${VIDEO}?offset=-1`, 404],
      ] as const)
        assert.equal((await ask(other)).status, status, other);
      assert.equal(polls(), 1);
      const polled = async (cursor: string) =>
        readLog(cache.way.url, VIDEO, { offset: "-1", live: "long-poll", cursor });
      const [first, second] = [await polled("1"), await polled("99999999999")];
      assert.notEqual(first.headers.get("stream-cursor"), second.headers.get("stream-cursor"));
      assert.equal(polls(), 3);
    });

    it("lets nobody wait who asks for the end of a log", async (t) => {
      const { relay } = await talking(t);
      const { cache, polls } = await cached(t, relay.url);
      const asked = Array.from({ length: 100 }, () => readLog(cache.way.url, VIDEO, { offset: "now" }));
      const limit = setTimeout(() => assert.fail(`${polls()} of ${asked.length} asked`), PATIENCE_MS / 5);
      for (const { status, text } of await Promise.all(asked)) assert.deepEqual([status, text], [200, "[]"]);
      clearTimeout(limit);
      assert.equal(polls(), asked.length);
    });

    it("passes HEAD on, which opens no chat, and says where the log ends", async (t) => {
      const { relay } = await talking(t);
      const { cache } = await cached(t, relay.url);
      const head = (url: string, videoId: string) => readLog(url, videoId, {}, { method: "HEAD" });
      await readLog(cache.way.url, VIDEO); // a page that is kept
      assert.equal((await head(cache.way.url, VIDEO)).headers.get("cache-control"), "no-store");
      assert.equal((await head(cache.way.url, "not-stored1")).status, 404);
      assert.deepEqual((await head(cache.way.url, VIDEO)).next, (await readLog(relay.url, VIDEO)).next);
      assert.ok(!relay.upstream.requests.some(({ videoId }) => videoId === "not-stored1"));
    });

    it("loses nothing and repeats nothing over a kill of the service", async (t) => {
      const upstream = await startSimulator();
      t.after(() => upstream[Symbol.asyncDispose]());
      const said = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 });
      said.say(30);
      const service = await startProcess(upstream, { RELAY_STORE: `sqlite:${await temporaryFile(t)}` });
      t.after(() => service.close());
      const { url } = service;
      const { cache } = await cached(t, url);
      const log = `${cache.way.url}/v1/log/${VIDEO}`;
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
}

describe("nginx as a cache of logs", { skip: without("nginx") }, () => {
  it("asks the service once for more than 1,024 readers that wait at one place", async (t) => {
    const { relay, said } = await talking(t);
    const { cache, polls } = await inFront(startNginxCache, t, relay.url);
    const { next } = await readLog(relay.url, VIDEO);
    const waiting = Array.from({ length: 1100 }, () =>
      readLog(cache.way.url, VIDEO, { offset: next, live: "long-poll" }),
    );
    await eventually(waiting.length, () => unanswered(cache));
    said.say(1);
    for (const { cursors } of await Promise.all(waiting)) assert.equal(cursors.length, 1);
    assert.equal(polls(), 1);
  });
});

describe("varnishd as a cache of logs", { skip: without("varnishd") }, () => {
  it("lets each reader wait at the service once another one has waited there for nothing", async (t) => {
    const { relay } = await talking(t, { RELAY_LONG_POLL_MS: "10000" });
    const { cache, polls } = await inFront(startVarnishCache, t, relay.url);
    const { next } = await readLog(relay.url, VIDEO);
    let answered = 0;
    const waiting = Array.from({ length: 100 }, async () => {
      const { status } = await readLog(cache.way.url, VIDEO, { offset: next, live: "long-poll" });
      answered += 1;
      return status;
    });
    await eventually(waiting.length, polls);
    assert.equal(answered, 1);
    assert.deepEqual([...new Set(await Promise.all(waiting))], [204]);
  });
});
