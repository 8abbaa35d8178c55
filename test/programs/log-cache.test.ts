/** nginx as a cache of logs: few requests for many readers, and the whole log over a kill of the service. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { chat } from "../../client/index.ts";
import { startSimulator } from "../../src/simulator/index.ts";
import { Line } from "../chaos/line.ts";
import { freePorts } from "../chaos/service.ts";
import { eventually } from "../support/eventually.ts";
import { readLog } from "../support/log.ts";
import { without } from "../support/needs.ts";
import { startProcess } from "../support/relay-process.ts";
import { listens, startNginxCache, unanswered } from "../support/reverse-proxies.ts";
import { temporaryFile, temporaryFolder } from "../support/store-subject.ts";
import { cursorsOf, readAll, talking, VIDEO } from "../support/talking-log.ts";

/** nginx in front of a service, and the number of requests that this has got for the log. */
async function cached(t: TestContext, url: string) {
  const line = await Line.to(Number(new URL(url).port));
  t.after(() => line[Symbol.asyncDispose]());
  const [port = 0] = await freePorts(1);
  const nginx = await startNginxCache(await temporaryFolder(t), port, new URL(line.url).host);
  t.after(() => nginx.child.kill("SIGKILL"));
  await listens(nginx.way);
  const polls = () => line.requests.filter((head) => head.startsWith(`GET /v1/log/${VIDEO}`)).length;
  return { nginx, polls };
}

describe("nginx as a cache of logs", { skip: without("nginx") }, () => {
  it("asks the service at most twice for a batch, however many readers poll", async (t) => {
    const { relay, said } = await talking(t);
    const { nginx, polls } = await cached(t, relay.url);
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

  it("asks the service once for more than 1,024 readers that wait at one place", async (t) => {
    const { relay, said } = await talking(t);
    const { nginx, polls } = await cached(t, relay.url);
    const { next } = await readLog(relay.url, VIDEO);
    const waiting = Array.from({ length: 1100 }, () =>
      readLog(nginx.way.url, VIDEO, { offset: next, live: "long-poll" }),
    );
    await eventually(waiting.length, () => unanswered(nginx));
    said.say(1);
    for (const { cursors } of await Promise.all(waiting)) assert.equal(cursors.length, 1);
    assert.equal(polls(), 1);
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
