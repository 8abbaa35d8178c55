/**
 * Hundreds of mutated requests at every endpoint, the same ones each time: none is answered with a failure
 * of the service, none leads anywhere but to the upstream's own paths, and a viewer beside them notices
 * nothing.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { ERRORS, type ErrorCode } from "../../../src/protocol/errors.ts";
import { anyText, sign, urlPath } from "../../support/any-text.ts";
import { eventually } from "../../support/eventually.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "fuzzed-chat";
const WITNESSED = "witnessed-1";
/** In requests, replaced by the address of the host that must never be called. */
const TRAP = "trap.invalid";
/** Half of the requests come before memory is measured for the first time. */
const HALVES = [1, 2];
const MOST_GROWTH_BYTES = 8 * 1024 * 1024;

const ALLOWED = [
  /^GET \/sw\.js(_data)?$/,
  /^GET \/(live_chat\?is_popout=1&v=|watch\?v=)[\w-]{11}&hl=en$/,
  /^POST \/youtubei\/v1\/(next|live_chat\/get_live_chat(_replay)?)\?(key=[\w-]{10,100}&)?prettyPrint=false$/,
];
/** The fields of each success. */
const SUCCESS: Record<string, string[]> = {
  "/v1/sessions": "videoId chatType client host endpoint apiKey webVersion token timeoutMs messages".split(
    " ",
  ),
  "/v1/poll": ["token", "timeoutMs", "messages"],
  "/v1/probe": ["videoId", "rows"],
};

let relay: TestRelay;
let witness: Stream;
let witnessed: Chat;
let checked = 0;
const trap = createServer();
const trapped: string[] = [];

before(async () => {
  relay = await startRelay({
    settings: { RELAY_GATE_SPACING_MS: "0", RELAY_GATE_CONCURRENCY: "50", RELAY_POLL_MIN_MS: "50" },
    simulator: { keepRequests: 1000 },
  });
  relay.upstream.chat(VIDEO, { works: [{}] }).say(2);
  witnessed = relay.upstream.chat(WITNESSED, { kinds: ["text"], forget: true, holdsMs: 1000, page: 0 });
  witness = await Stream.open(relay.url, { videoId: WITNESSED });
  trap.on("connection", (socket) => {
    trapped.push(String(socket.remotePort));
    socket.destroy();
  });
  trap.listen(0, "127.0.0.1");
  await once(trap, "listening");
});
after(async () => {
  await witness.close();
  trap.close();
  await relay[Symbol.asyncDispose]();
});

/** Places that look like the upstream and are not, each with an id that would be good. */
const LOOK_ALIKES = [
  `https://www.youtube.com@${TRAP}/watch?v=${VIDEO}`,
  `https://www.youtube.com:443@${TRAP}/watch?v=${VIDEO}`,
  `https://${TRAP}/watch?v=${VIDEO}`,
  `https://${TRAP}#www.youtube.com/watch?v=${VIDEO}`,
  `https://${TRAP}\\@www.youtube.com/watch?v=${VIDEO}`,
  `https://[::ffff:127.0.0.1]/watch?v=${VIDEO}`,
  `https://www.youtube.com.${TRAP}/watch?v=${VIDEO}`,
  `https://www%2Eyoutube%2Ecom@${TRAP}/watch?v=${VIDEO}`,
  `https://www.youtube.com/redirect?q=http%3A%2F%2F${TRAP}%2Fwatch%3Fv%3D${VIDEO}`,
  "https://www.youtube.com/watch?v=..%2F..%2Fsw.js",
  `https://www.youtube.com/watch?v=${VIDEO}%26x=http://${TRAP}`,
  `https://ｗｗｗ.youtube.com/watch?v=${VIDEO}`,
  `${VIDEO}/../../sw.js`,
  `${VIDEO}&v=another-one`,
  `${VIDEO}\r\nHost: ${TRAP}`,
  `//${TRAP}/${VIDEO}`,
  `file:///etc/passwd?v=${VIDEO}`,
];

/** Sends a request in which the trap has its true address. */
function send(path: string, init: RequestInit = {}): Promise<Response> {
  const address = `127.0.0.1:${(trap.address() as AddressInfo).port}`;
  const body = typeof init.body === "string" ? { body: init.body.replaceAll(TRAP, address) } : {};
  return fetch(relay.url + path.replaceAll(TRAP, address), { ...init, ...body });
}

const good = fc.constantFrom(VIDEO, `https://youtu.be/${VIDEO}`, "not-a-chat_");
const anyValue = fc.oneof(
  anyText,
  fc.string({ unit: sign, maxLength: 30 }),
  fc.stringMatching(/^[\w-]{9,13}$/),
);
/** Mostly valid values: a request with everything wrong is refused for its first fault. */
const mostly = <T, U>(right: fc.Arbitrary<T>, ...wrong: fc.Arbitrary<U>[]) =>
  fc.oneof({ weight: 6 * wrong.length, arbitrary: right }, ...wrong);
const videoId = fc.oneof(good, fc.constantFrom(...LOOK_ALIKES), anyValue);
const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom<unknown>(
    "x".repeat(70_000),
    1e308,
    -0,
    "__proto__",
    { toString: 1, valueOf: 1 },
    { length: -1 },
  ),
);

const POLL = {
  token: "made-up-token",
  client: "WEB",
  endpoint: "get_live_chat",
  apiKey: "AIzaSyMadeUpMadeUp",
  webVersion: "2.20260101.00.00",
};

/**
 * A request to one of the JSON endpoints: a good body, some of whose fields are replaced, dropped or added.
 */
const jsonRequest = (() => {
  const flag = mostly(fc.constantFrom(true, false, undefined), anyJson);
  const endpoint = fc.constantFrom<unknown>("get_live_chat", "get_live_chat_replay");
  const poll = fc.record({
    token: mostly(fc.constant(POLL.token), anyValue, anyJson),
    client: mostly(fc.constantFrom("WEB", "TVHTML5", "MWEB (music)", "?"), anyJson),
    endpoint: mostly(endpoint, fc.constant("../get_live_chat"), anyJson),
    apiKey: mostly(fc.constant(POLL.apiKey), anyValue, fc.constant(`${POLL.apiKey}&x=y`)),
    webVersion: fc.oneof(fc.constant(POLL.webVersion), anyJson),
    details: flag,
  });
  const video = fc.record({ videoId: mostly(videoId, anyJson), includeInitial: flag, details: flag });
  const paths = fc.constantFrom("/v1/sessions", "/v1/poll", "/v1/probe");
  return fc.oneof(
    fc.record({ path: fc.constant("/v1/poll"), body: mostly(poll, anyJson) }),
    fc.record({ path: fc.constantFrom("/v1/sessions", "/v1/probe"), body: mostly(video, anyJson) }),
    fc.record({ path: paths, body: fc.oneof(poll, video, anyJson) }),
  );
})();

async function assertProper(path: string, response: Response): Promise<void> {
  if (response.status === 204) return;
  if (response.headers.get("content-type") === "text/event-stream") {
    assert.deepEqual([path, response.status], ["/v1/stream", 200]);
    await response.body?.cancel();
    return;
  }
  const body = (await response.json()) as { code: ErrorCode; message: string };
  if (response.status === 200) {
    assert.deepEqual(Object.keys(body), SUCCESS[path]);
    return;
  }
  assert.deepEqual(Object.keys(body), ["code", "message"]);
  assert.equal(response.headers.get("access-control-allow-origin"), "*");
  assert.notEqual(response.status, 500, body.message);
  assert.equal(ERRORS[body.code].status, response.status);
}

/** Asserts that the upstream got only the service's own calls, and forgets the checked ones. */
function assertUpstreamUnharmed(): void {
  const { requests } = relay.upstream;
  for (const { at, method, path, kind, videoId } of requests.filter((request) => request.at > checked)) {
    checked = Math.max(checked, at);
    assert.ok(
      ALLOWED.some((form) => form.test(`${method} ${path}`)),
      `${method} ${path}`,
    );
    assert.notEqual(kind, "other");
    if (videoId !== undefined) assert.match(videoId, /^[\w-]{11}$/);
  }
  assert.deepEqual(trapped, []);
}

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

function heapUsed(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

const HEADS = [
  `GET /v1/stream?videoId=${VIDEO}&backfill=1 HTTP/1.1\r\nHost: a\r\nLast-Event-ID: 5\r\n\r\n`,
  "GET /v1/openapi.json HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
  "OPTIONS /v1/poll HTTP/1.1\r\nHost: a\r\nOrigin: b\r\nAccess-Control-Request-Method: POST\r\n\r\n",
  'POST /v1/probe HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"videoId":"x"}',
  "POST /v1/poll HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
];

/** A good request's bytes, some of them replaced, dropped or doubled. */
const rawRequest = () => {
  const edit = fc.record({ at: fc.nat(), drop: fc.nat(6), put: fc.uint8Array({ maxLength: 8 }) });
  return fc.tuple(fc.constantFrom(...HEADS), fc.array(edit, { maxLength: 4 })).map(([head, edits]) => {
    const bytes = [...Buffer.from(head)];
    for (const { at, drop, put } of edits) bytes.splice(at % bytes.length, drop, ...put);
    return Buffer.from(bytes);
  });
};

/** The answer to bytes after which the caller sends no more. */
async function answerTo(bytes: Buffer): Promise<string> {
  const socket = connect(Number(new URL(relay.url).port), "127.0.0.1");
  socket.on("error", () => {}); // a reset is an answer too
  socket.end(bytes);
  return await text(socket).catch(() => "");
}

/** Sends this many requests of a kind, the same ones for the same seed. */
const sent =
  <Ts>(numRuns: number, property: fc.IAsyncPropertyWithHooks<Ts>) =>
  (seed: number): Promise<void> =>
    fc.assert(property.beforeEach(assertUpstreamUnharmed), { seed, numRuns });

const REQUESTS = {
  "queries and headers of the stream": sent(
    50,
    fc.asyncProperty(
      fc.record(
        {
          videoId,
          backfill: mostly(fc.constantFrom("0", "7", "-1", "1e400"), anyValue),
          details: mostly(fc.constantFrom("true", "false"), anyValue),
          "": anyValue,
        },
        { requiredKeys: ["videoId"] },
      ),
      fc.option(fc.stringMatching(/^[\x21-\x7e]{0,20}$/), { nil: undefined }),
      async (query, lastEventId) => {
        const headers = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
        const path = `/v1/stream?${new URLSearchParams(query)}`;
        await assertProper("/v1/stream", await send(path, { headers }));
      },
    ),
  ),
  bodies: sent(
    100,
    fc.asyncProperty(jsonRequest, async ({ path, body }) => {
      const headers = { "content-type": "application/json" };
      await assertProper(path, await send(path, { method: "POST", headers, body: JSON.stringify(body) }));
    }),
  ),
  "methods, paths and types": sent(
    50,
    fc.asyncProperty(
      fc.constantFrom("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "QUERY"),
      fc.oneof(fc.constantFrom("/v1/poll", "/v1/probe", "/v1/sessions", "/v1/../v1/poll"), urlPath),
      fc.constantFrom(
        "application/json",
        "application/json; charset=x",
        "text/plain",
        "multipart/form-data",
        "*/*",
      ),
      fc.oneof(fc.json(), anyText),
      async (method, path, type, body) => {
        const headers = { "content-type": type };
        const response = await send(path, { method, headers, ...(method === "GET" ? {} : { body }) });
        // The pages at the root are for people.
        if (path !== "/" && path !== "") await assertProper(new URL(response.url).pathname, response);
        else await response.body?.cancel();
      },
    ),
  ),
  bytes: sent(
    100,
    fc.asyncProperty(rawRequest(), async (bytes) => {
      const answer = await answerTo(bytes);
      assert.doesNotMatch(answer, /^HTTP\/1\.1 500 /m);
      if (answer !== "") assert.match(answer, /^HTTP\/1\.1 \d{3} /);
    }),
  ),
};

describe("mutated requests", () => {
  let heapBefore = 0;
  for (const half of HALVES) {
    for (const [name, requests] of Object.entries(REQUESTS)) {
      it(`${name}, part ${half}: never fail the service; a viewer misses nothing`, async () => {
        await requests(half);
        assertUpstreamUnharmed();
        witnessed.say(3);
        await witness.until(() => witness.ids.at(-1) === witnessed.ledger.at(-1)?.id, "the last message");
        assert.equal(witness.frames.at(-1)?.event, "message");
      });
    }
    it(`leave nothing behind in memory, part ${half}`, async () => {
      // Connections may still be closing.
      if (half > 1) await eventually(true, () => heapUsed() - heapBefore < MOST_GROWTH_BYTES);
      else heapBefore = heapUsed();
    });
  }
});
