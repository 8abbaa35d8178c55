/** The line of an edge to an origin that does what a test has written down. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { merged } from "../../../client/index.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { OriginHttpConnections } from "../../../src/origin/http-connections.ts";
import { Origin } from "../../../src/origin/origin.ts";
import { type Answer, AnsweringServer, refuses } from "../../support/answering-server.ts";
import { ask } from "../../support/api.ts";
import { startTestEdge } from "../../support/edge.ts";
import { eventually } from "../../support/eventually.ts";
import { LeapingClock } from "../../support/leaping-clock.ts";
import { metric } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
/** The origin's cursors. */
const [BASE, HEAD] = [1000, 1010];

/** More than an edge waits for a page. The time is real: undici, which has that limit, takes no clock. */
const SEARCH_MS = 12_000;

type Line = (send: (...lines: string[]) => void, lastEventId: string | undefined) => unknown;

const init = (cursor: number) =>
  `{"event":"init","videoId":"${VIDEO}","chatType":"liveChatRenderer","cursor":${cursor}}`;
const fields = (cursor: number) =>
  `"type":"chat","id":"m${cursor}","message":"x","details":{"n":${cursor}.0}`;
const message = (cursor: number) => `{"event":"message","cursor":${cursor},${fields(cursor)}}`;
const end = (reason: string) => `{"event":"end","reason":"${reason}"}`;

/** An origin whose streams follow these lines, one after the other. */
async function setUp(t: TestContext, lines: readonly Line[], healthz: Answer = alive) {
  let opened = 0;
  const streams: (string | undefined)[] = [];
  const origin = await AnsweringServer.start((response, call) => {
    const { pathname, searchParams } = new URL(call.path, "http://origin");
    if (pathname.endsWith("/healthz")) return healthz(response, call);
    if (pathname === "/v1/messages") return page(searchParams)(response, call);
    if (pathname.startsWith("/v1/log/")) return refuses(404, "")(response, call);
    streams.push(call.lastEventId);
    response.writeHead(200, { "content-type": "application/x-ndjson" }).flushHeaders();
    const send = (...text: string[]) => response.write(text.map((line) => `${line}\n`).join(""));
    const over = lines[Math.min(opened++, lines.length - 1)]?.(send, call.lastEventId);
    if (over === "over") response.end();
  });
  t.after(() => origin[Symbol.asyncDispose]());
  const startEdge = async (...how: DropFirst<Parameters<typeof startTestEdge>>) => {
    const edge = await startTestEdge(origin.url, ...how);
    t.after(() => edge[Symbol.asyncDispose]());
    return edge;
  };
  const watch = async ({ url }: { url: string }, lastEventId?: number) => {
    const stream = await Stream.open(url, { videoId: VIDEO, ...(lastEventId && { lastEventId }) });
    t.after(() => stream.close());
    return stream;
  };
  return { origin, streams, startEdge, watch };
}

type DropFirst<T extends unknown[]> = T extends [unknown, ...infer Rest] ? Rest : never;

const alive: Answer = (response) => response.end('{"status":"alive"}');

/** A page of the history, which has everything after `BASE` up to `HEAD`. */
function page(query: URLSearchParams): Answer {
  const [after, before] = [Number(query.get("after") ?? BASE), Number(query.get("before") ?? HEAD + 1)];
  const limit = Number(query.get("limit"));
  const all = Array.from({ length: HEAD - BASE }, (_, index) => BASE + index + 1);
  const found = all.filter((cursor) => cursor > after && cursor < before);
  const shown = query.has("before") ? found.slice(-limit) : found.slice(0, limit);
  const lines = shown.map((cursor) => `{"cursor":${cursor},${fields(cursor)}}`);
  if (query.get("format") === "ndjson")
    return (response) => response.end(lines.map((line) => `${line}\n`).join(""));
  return refuses(200, `{"base":${BASE},"floor":${BASE},"head":${HEAD},"messages":[${lines}]}`);
}

describe("an edge's stream from its origin", { timeout: 300_000 }, () => {
  it("keeps the bytes of a message unchanged", async (t) => {
    const { startEdge, watch } = await setUp(t, [(send) => send(init(HEAD), message(HEAD + 1))]);
    const edge = await startEdge();
    const stream = await watch(edge);
    await stream.untilMessages(11);
    assert.ok(
      stream.raw.includes(`id: 1011\nevent: message\ndata: {"type":"chat","id":"m1011","message":"x"}\n\n`),
    );
    const detailed = await Stream.open(edge.url, { videoId: VIDEO, backfill: 1, details: true });
    t.after(() => detailed.close());
    await detailed.untilMessages(1);
    assert.ok(detailed.raw.includes(`data: {${fields(HEAD + 1)}}\n\n`), "1011.0 is no other number");
  });

  it("reconnects from the last cursor after three keepalive intervals of silence", async (t) => {
    const clock = new LeapingClock();
    const { origin, streams, startEdge, watch } = await setUp(t, [
      (send) => send(init(HEAD), message(HEAD + 1)),
      (send, lastEventId) => send(init(Number(lastEventId)), message(HEAD + 2)),
    ]);
    const edge = await startEdge({}, clock);
    const stream = await watch(edge);
    await stream.untilMessages(11);
    for (let interval = 0; interval < 3; interval++) {
      assert.equal(streams.length, 1);
      clock.leap(15_000);
      await new Promise(setImmediate);
    }
    clock.leap(1000); // the wait before the next try
    await stream.untilMessages(12);
    assert.deepEqual(streams, [undefined, "1011"]);
    assert.ok(origin.calls.length > 0);
  });

  it("asks the origin about a cursor ahead of its own messages", async (t) => {
    let say: (...lines: string[]) => void = () => {};
    const { startEdge, watch } = await setUp(t, [
      (send) => {
        say = send;
        send(init(HEAD - 4));
      },
    ]);
    const edge = await startEdge();
    const first = await watch(edge);
    await first.untilMessages(6);
    const [ahead, beyond] = [await watch(edge, HEAD - 1), await watch(edge, HEAD + 5)];
    await ahead.until(() => ahead.frames.length > 0);
    await beyond.until(() => beyond.frames.length > 0);
    assert.equal(ahead.init.cursor, HEAD - 1);
    assert.notEqual(beyond.init.cursor, HEAD + 5);
    say(...[-3, -2, -1, 0, 1].map((place) => message(HEAD + place)));
    await ahead.untilMessages(2);
    assert.deepEqual(ahead.cursors, [HEAD, HEAD + 1]);
  });

  it("closes viewers' streams without an end frame if the origin released the room", async (t) => {
    const { startEdge, watch } = await setUp(t, [(send) => send(init(HEAD), end("room released"))]);
    const stream = await watch(await startEdge());
    assert.equal(await stream.ended(), undefined);
  });

  it("closes viewers' streams without an end frame if the origin no longer has the next messages", async (t) => {
    const { streams, startEdge, watch } = await setUp(t, [
      (send) => {
        send(init(HEAD), message(HEAD + 1));
        return "over";
      },
      (send) => send(init(HEAD + 50)),
    ]);
    const stream = await watch(await startEdge());
    assert.equal(await stream.ended(), undefined);
    assert.deepEqual(streams, [undefined, "1011"]);
  });

  it("continues one of several chats that cannot be opened again at once, and reports no error", async (t) => {
    const clock = new LeapingClock();
    const { streams, startEdge } = await setUp(t, [
      (send) => send(init(HEAD), end("room released")),
      () => "over",
      (send) => send(init(HEAD), message(HEAD + 1)),
    ]);
    const edge = await startEdge({}, clock);
    const room = merged(edge.url, { videoIds: [VIDEO], backfill: 0 });
    const errors: string[] = [];
    room.on("error", ({ code }) => errors.push(code));
    const received: number[] = [];
    room.on("message", ({ cursor }) => received.push(cursor));
    t.after(() => room.close());
    const goesOn = () => {
      if (streams.length === 2) clock.leap(1000); // the wait before the third try
      return received.includes(HEAD + 1) || room.state === "closed";
    };
    await eventually(true, goesOn);
    assert.deepEqual([received, errors, room.state], [[HEAD + 1], [], "open"]);
  });

  it("passes on the failure of a room", async (t) => {
    const failure = '{"event":"error","code":"UPSTREAM_ERROR","message":"it failed"}';
    const { startEdge, watch } = await setUp(t, [(send) => send(init(HEAD), failure)]);
    const last = await (await watch(await startEdge())).ended();
    assert.deepEqual([last?.event, last?.data], ["error", { code: "UPSTREAM_ERROR", message: "it failed" }]);
  });

  it("breaks at a line that is not a message or too long, and shows nothing of it", async (t) => {
    const bad = [
      '{"event":"message","cursor":1011}',
      message(HEAD + 1).replace('"x"', `"${"x".repeat(5e6)}"`),
    ];
    const { streams, startEdge, watch } = await setUp(t, [
      ...bad.map((line) => (send: (line: string) => void, from = `${HEAD}`) => {
        send(init(Number(from)));
        send(line);
      }),
      (send, lastEventId) => send(init(Number(lastEventId)), message(HEAD + 1)),
    ]);
    const stream = await watch(await startEdge());
    await stream.untilMessages(11);
    assert.deepEqual(streams, [undefined, "1010", "1010"]);
  });

  it("refuses viewers of a room whose origin skips messages", async (t) => {
    const { startEdge, watch } = await setUp(t, [(send) => send(init(HEAD), message(HEAD + 2))]);
    const stream = await watch(await startEdge());
    assert.equal(await stream.ended(), undefined);
    assert.ok(!stream.cursors.includes(HEAD + 2));
  });
});

describe("the origin's health", { timeout: 300_000 }, () => {
  const readiness = async ({ url }: { url: string }) => (await fetch(`${url}/readyz`)).status;

  it("decides the edge's readiness, even without viewers", async (t) => {
    let answer: Answer = alive;
    const clock = new LeapingClock();
    const { origin, startEdge } = await setUp(t, [], (...call) => answer(...call));
    const edge = await startEdge({}, clock);
    assert.equal(await readiness(edge), 200);
    answer = refuses(502, "no relay behind this proxy");
    const asked = origin.calls.length;
    clock.leap(5000);
    await origin.changes.until(() => origin.calls.length > asked, "the health check");
    assert.equal(await readiness(edge), 200);
    clock.leap(5000);
    await eventually(503, () => readiness(edge));
    assert.equal(await metric(edge, "relay_origin_up"), 0);
    answer = alive;
    clock.leap(5000);
    await eventually(200, () => readiness(edge));
  });

  it("refuses a viewer that waits for a room once the origin has been silent for ten seconds", async (t) => {
    let answer: Answer = alive;
    const clock = new LeapingClock();
    const { origin, streams, startEdge } = await setUp(t, [], (...call) => answer(...call));
    const edge = await startEdge({}, clock);
    const refused = ask<{ code: string }>(edge.url, `/v1/stream?videoId=${VIDEO}`);
    await origin.changes.until(() => streams.length > 0, "the stream");
    answer = refuses(502, "no relay behind this proxy");
    const since = clock.monotonic();
    await clock.leapUntil(refused);
    assert.ok(clock.monotonic() - since < 40_000, "before the request itself would have been given up");
    const { status, body, headers } = await refused;
    assert.deepEqual([status, body.code], [503, "CAPACITY"]);
    assert.ok(headers.has("retry-after"));
  });

  it("is bad from the start if the origin is away, and the edge starts nevertheless", async () => {
    await using edge = await startTestEdge("http://127.0.0.1:9");
    assert.equal(await readiness(edge), 503);
    assert.equal((await fetch(`${edge.url}/healthz`)).status, 200);
    const { status, body } = await ask<{ code: string }>(edge.url, `/v1/stream?videoId=${VIDEO}`);
    assert.deepEqual([status, body.code], [503, "CAPACITY"]);
  });

  it("decides whether deleted messages are blanked, in rooms that are open, too", async (t) => {
    const clock = new LeapingClock();
    let say: (...lines: string[]) => void = () => {};
    const health = { status: "alive", deleted: "keep" };
    const line: Line = (send) => {
      say = send;
      send(init(HEAD));
    };
    const told: Answer = (response) => response.end(JSON.stringify(health));
    const { startEdge, watch } = await setUp(t, [line], told);
    const edge = await startEdge({}, clock);
    const first = await watch(edge);
    await first.untilMessages(HEAD - BASE);
    health.deleted = "blank";
    clock.leap(5000);
    const isTold = async () => (await ask<{ deleted?: string }>(edge.url, "/healthz")).body.deleted;
    await eventually("blank", isTold);
    const deleted = `"type":"deleted","id":"deleted:m${HEAD}","message":""`;
    say(`{"event":"message","cursor":${HEAD + 1},${deleted},"details":{"target":{"messageId":"m${HEAD}"}}}`);
    await first.untilMessages(HEAD + 1 - BASE);
    const later = await watch(edge);
    const texts = (await later.untilMessages(HEAD + 1 - BASE)).map(({ message }) => message.message);
    assert.deepEqual(texts.slice(-3), ["x", "", ""]);
  });

  it("stops the start if something other than a relay answers", async (t) => {
    for (const answer of [refuses(200, "<html>"), refuses(404, "{}"), refuses(200, '{"status":"ok"}')]) {
      const { startEdge } = await setUp(t, [], answer);
      await assert.rejects(
        startEdge(),
        /^Error: --origin: http:\S+ answers, but is not a livechat-relay: check the URL$/,
      );
    }
  });

  it("is requested under the path of the origin's URL", async (t) => {
    const { origin } = await setUp(t, []);
    await using _ = await startTestEdge(`${origin.url}/relay/`);
    assert.equal(origin.calls[0]?.path, "/relay/healthz");
  });
});

describe("the address of the viewer who opens a room", { timeout: 300_000 }, () => {
  for (const isWorker of [true, false]) {
    it(`is ${isWorker ? "told to the first process by a worker" : "not told to the origin by an edge"}`, async (t) => {
      const { origin, startEdge } = await setUp(t, [(send) => send(init(HEAD))]);
      const edge = await startEdge({ RELAY_TRUST_PROXY: "1" }, undefined, isWorker);
      const headers = { "x-forwarded-for": "192.0.2.7" };
      const { body } = await fetch(`${edge.url}/v1/stream?videoId=${VIDEO}`, { headers });
      t.after(() => body?.cancel());
      const line = origin.calls.find(({ path }) => path.startsWith("/v1/stream"));
      assert.equal(line?.headers["x-forwarded-for"], isWorker ? "192.0.2.7" : undefined);
    });
  }
});

describe("an edge's request for a page", { timeout: 300_000 }, () => {
  it("ends when nobody waits for it, also while it asks whether a page is still valid", async (t) => {
    let asked = 0;
    await using server = await AnsweringServer.start((response) => {
      asked += 1;
      if (asked === 1) response.writeHead(200, { etag: '"a"', "cache-control": "no-cache" }).end("a page");
    });
    const origin = new OriginHttpConnections(server.url);
    t.after(() => origin.close());
    const request = { path: "/v1/messages", headers: {} };
    const { body } = await origin.page(request, new AbortController().signal);
    assert.equal(await text(body), "a page");
    const waiting = new AbortController();
    const again = origin.page(request, waiting.signal);
    await eventually(2, () => asked);
    waiting.abort(new Error("nobody waits"));
    await assert.rejects(again, /nobody waits/);
  });
});

describe("an edge's question whether its origin is alive", { timeout: 300_000 }, () => {
  it("uses a new connection after a failure, because a kept one may be dead unnoticed", async (t) => {
    const ports = new Set<number | undefined>();
    const server = createServer((request, response) => {
      ports.add(request.socket.remotePort);
      response.end('{"status":"alive"}');
    }).listen(0, "127.0.0.1");
    t.after(() => server[Symbol.asyncDispose]());
    await once(server, "listening");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const connections = new OriginHttpConnections(url);
    t.after(() => connections.close());
    const origin = new Origin(url, connections, systemClock, 1000);
    for (let asked = 0; asked < 3; asked++) assert.equal(await origin.isRelay(), true);
    const kept = ports.size;
    for (let asked = 0; asked < 3; asked++) assert.equal(await origin.isRelay(undefined, true), true);
    assert.equal(ports.size, kept + 3);
  });
});

describe("a download through an edge", { timeout: 300_000 }, () => {
  it("continues, although the origin finds nothing for longer than a page may take", async (t) => {
    const found: Answer = (response) => void setTimeout(() => response.end("found\n"), SEARCH_MS);
    await using origin = await AnsweringServer.start((response, call) => {
      if (call.path === "/healthz") return alive(response, call);
      response.writeHead(200, { "content-disposition": "attachment", "content-type": "text/plain" });
      if (call.path.includes("types=chat")) response.write("a message\n");
      return found(response, call);
    });
    const edge = await startTestEdge(origin.url);
    t.after(() => edge[Symbol.asyncDispose]());
    const bodies = ["chat", "raid"].map(async (types) => {
      const query = `videoId=${VIDEO}&limit=all&format=text&types=${types}`;
      return (await fetch(`${edge.url}/v1/messages?${query}`)).text();
    });
    assert.deepEqual(await Promise.all(bodies), ["a message\nfound\n", "found\n"]);
  });
});
