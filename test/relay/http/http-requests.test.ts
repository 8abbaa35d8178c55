/**
 * Faults of a request as HTTP, before any endpoint looks at it: always answered in the one JSON shape, to any
 * origin.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import type { ErrorCode } from "../../../src/protocol/errors.ts";
import { ask, askRaw, assertRefused, post } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { metric, startRelay, type TestRelay, testConfig } from "../../support/relay.ts";
import { slowClock } from "../../support/slow-clock.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "http-parses";
const JSON_TYPE = { "content-type": "application/json" };

let relay: TestRelay;
before(async () => {
  relay = await startRelay();
  relay.upstream.chat(VIDEO, { tokens: "reusable" }).say(3);
});
after(() => relay[Symbol.asyncDispose]());

/** The answer to a head of lines, over a connection that is closed after it. */
const raw = (lines: readonly string[], body = "") =>
  askRaw(relay.url, `${[...lines, "Connection: close"].join("\r\n")}\r\n\r\n${body}`);

describe("paths and methods", () => {
  for (const path of [
    "/v1",
    "/v1/",
    "/v1/nothing",
    "/v2/stream",
    "/v1/stream/",
    "/V1/stream",
    "//v1/stream",
  ]) {
    it(`${path} is 404 NOT_FOUND`, async () => {
      assertRefused(await ask(relay.url, path), 404, "NOT_FOUND");
    });
  }

  const rows: [string, string, string][] = [
    ["/v1/stream", "POST", "GET, OPTIONS"],
    ["/v1/stream", "DELETE", "GET, OPTIONS"],
    ["/v1/stream?videoId=x", "PUT", "GET, OPTIONS"],
    ["/v1/stream?videoId=x&until=now", "POST", "GET, HEAD, OPTIONS"],
    ["/v1/merged?videoIds=x", "POST", "GET, OPTIONS"],
    ["/v1/%73tream", "DELETE", "GET, OPTIONS"],
    ["/%761/%73tream?videoId=x", "POST", "GET, OPTIONS"],
    ["/v1/sessions", "GET", "POST, OPTIONS"],
    ["/v1/poll", "PUT", "POST, OPTIONS"],
    ["/v1/probe", "PATCH", "POST, OPTIONS"],
    ["/v1/messages", "DELETE", "GET, HEAD, OPTIONS"],
    ["/v1/rooms", "POST", "GET, HEAD, OPTIONS"],
    ["/v1/openapi.json", "POST", "GET, HEAD, OPTIONS"],
    ["/metrics", "DELETE", "GET, HEAD, OPTIONS"],
  ];
  for (const [path, method, allow] of rows) {
    it(`${method} ${path} is 405 with the allowed methods, whatever its body`, async () => {
      for (const body of method === "GET" ? [undefined] : [undefined, "{", "text"]) {
        const init = body === undefined ? { method } : { method, body, headers: JSON_TYPE };
        const answer = await ask(relay.url, path, init);
        assertRefused(answer, 405, "METHOD_NOT_ALLOWED");
        assert.equal(answer.headers.get("allow"), allow);
      }
    });
  }

  it("CONNECT is 405 with the allowed methods", async () => {
    const answer = await raw(["CONNECT relay.example:443 HTTP/1.1", "Host: relay.example:443"]);
    assertRefused(answer, 405, "METHOD_NOT_ALLOWED");
    assert.equal(answer.headers.get("allow"), "GET, HEAD, POST, PUT, DELETE, OPTIONS");
  });

  it("a method that browsers do not know is answered in the same way", async () => {
    for (const method of ["PROPFIND", "TRACE", "QUERY"]) {
      assertRefused(await raw([`${method} /v1/stream HTTP/1.1`, "Host: a"]), 405, "METHOD_NOT_ALLOWED");
      assertRefused(await raw([`${method} /v1/nothing HTTP/1.1`, "Host: a"]), 404, "NOT_FOUND");
    }
  });
});

describe("HEAD", () => {
  it("is answered with the head of GET wherever the answer ends", async () => {
    await using own = await startRelay({ settings: { RELAY_ADMIN_TOKEN: "a-token-of-this-test" } });
    own.upstream.chat("headed-1234", { kinds: ["text"] }).say(3);
    await using viewer = await Stream.open(own.url, { videoId: "headed-1234" });
    await viewer.untilMessages(3);
    const headers = { authorization: "Bearer a-token-of-this-test" };
    for (const path of [
      ...["/", "/client.js", "/healthz", "/readyz", "/metrics", "/v1/openapi.json"],
      ...["/v1/rooms", "/v1/rooms/headed-1234", "/v1/videos/headed-1234", "/v1/recordings"],
      ...["/v1/messages?videoId=headed-1234", "/v1/messages?videoId=headed-1234&limit=all&format=csv"],
      ...["/v1/messages?videoId=not-stored1", "/v1/rooms/not-stored1"],
      ...["/v1/stream?videoId=headed-1234&until=now", "/v1/merged?videoIds=headed-1234&until=now"],
      ...["/v1/stream?videoId=not-stored1&until=now", "/v1/stream?videoId=x&until=now"],
    ]) {
      const [got, head] = await Promise.all(
        ["GET", "HEAD"].map((method) => fetch(own.url + path, { method, headers })),
      );
      assert.equal(head?.status, got?.status, path);
      for (const name of ["content-type", "cache-control", "etag", "content-disposition", "vary"])
        assert.equal(head?.headers.get(name), got?.headers.get(name), `${name} of ${path}`);
      assert.notEqual(await got?.text(), "");
      assert.equal(await head?.text(), "");
    }
    await eventually(1, () => metric(own, "relay_viewers"));
  });

  it("of a stream that ends by itself leaves its connection for the next request", async () => {
    const socket = connect(Number(new URL(relay.url).port), "127.0.0.1");
    socket.write("HEAD /v1/merged?videoIds=headed-1234&until=now HTTP/1.1\r\nHost: a\r\n\r\n");
    const [head] = await once(socket, "data");
    assert.match(String(head), /^HTTP\/1\.1 200 OK\r\n.*\r\n\r\n$/s);
    socket.write("GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert.match(await text(socket), /^HTTP\/1\.1 200 OK\r\n.*alive/s);
  });

  it("is refused for a stream that goes on, with the methods that are allowed", async () => {
    for (const path of ["/v1/stream?videoId=headed-1234", "/v1/merged?videoIds=headed-1234"]) {
      const { status, headers } = await fetch(relay.url + path, { method: "HEAD" });
      assert.deepEqual([status, headers.get("allow")], [405, "GET, OPTIONS"], path);
    }
  });
});

it("an escaped character that is reserved or no text is not part of a known path", async () => {
  for (const path of ["/v1%2Fstream", "/v1/stream%3FvideoId=x", "/v1/stream%00", "/v1/stream%7F"])
    assertRefused(await ask(relay.url, path, { method: "DELETE" }), 404, "NOT_FOUND");
  for (const path of ["/v1/stream%", "/v1/stream%zz"])
    assertRefused(await ask(relay.url, path), 400, "INVALID_REQUEST");
});

describe("a target in absolute form, as a client of a proxy writes it", () => {
  const absolute = (line: string) => raw([`${line} HTTP/1.1`, "Host: relay.example"]);

  it("is answered as its path", async () => {
    assert.deepEqual((await absolute("GET http://relay.example/healthz?x=1")).body, { status: "alive" });
    assertRefused(await absolute("GET HTTPS://relay.example:8443/v1/nothing"), 404, "NOT_FOUND");
    const answer = await absolute("DELETE http://relay.example/v1/stream?videoId=x");
    assertRefused(answer, 405, "METHOD_NOT_ALLOWED");
    assert.equal(answer.headers.get("allow"), "GET, OPTIONS");
    const withdrawn = await absolute("GET http://relay.example/v1/recordings");
    assert.match(
      assertRefused(withdrawn, 404, "NOT_FOUND"),
      /^This service has no \/v1\/recordings: nobody has its right, record, here, or it is an edge\.$/,
    );
  });

  it("may have no path", async () => {
    for (const target of ["http://relay.example", "http://relay.example?x=1"])
      assertRefused(await absolute(`PUT ${target}`), 405, "METHOD_NOT_ALLOWED");
  });
});

describe("bodies", () => {
  const POSTS = ["/v1/sessions", "/v1/poll", "/v1/probe"];
  const typed = (type: string, body: string | Uint8Array<ArrayBuffer>): RequestInit => ({
    headers: { "content-type": type },
    body,
  });
  const json = (body: string) => typed("application/json", body);
  const rows: [string, RequestInit, number, ErrorCode][] = [
    ["no body", {}, 400, "INVALID_REQUEST"],
    ["an empty one", json(""), 400, "INVALID_REQUEST"],
    ["a body that is not JSON", json("{"), 400, "INVALID_REQUEST"],
    ["null", json("null"), 400, "INVALID_REQUEST"],
    ["an array", json("[]"), 400, "INVALID_REQUEST"],
    ["a text", json('"x"'), 400, "INVALID_REQUEST"],
    ["deep nesting", json("[".repeat(30_000)), 400, "INVALID_REQUEST"],
    ["a form", { body: new URLSearchParams({ videoId: VIDEO }) }, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["plain text", { body: `{"videoId":"${VIDEO}"}` }, 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["a kind of JSON", typed("application/vnd.api+json", "{}"), 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["a longer type", typed("application/jsonx", "{}"), 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["no type", typed("", new Uint8Array([123, 125])), 415, "UNSUPPORTED_MEDIA_TYPE"],
    ["over 64 KiB", json(`{"a":"${"x".repeat(65_536)}"}`), 413, "PAYLOAD_TOO_LARGE"],
  ];
  for (const [name, init, status, code] of rows) {
    it(`${name}: ${status} ${code}, without an upstream call`, async () => {
      const before = relay.upstream.requests.length;
      for (const path of POSTS) {
        assertRefused(await ask(relay.url, path, { ...init, method: "POST" }), status, code);
      }
      assert.equal(relay.upstream.requests.length, before);
    });
  }

  it("more bytes than Content-Length announces are answered in JSON, in chunks too", async () => {
    const head = ["POST /v1/probe HTTP/1.1", "Host: a", "Content-Type: application/json"];
    assertRefused(await raw([...head, "Content-Length: 1"], "{}"), 400, "INVALID_REQUEST");
    const chunks = `${"10000\r\n"}${" ".repeat(65_536)}\r\n1\r\n \r\n0\r\n\r\n`;
    assertRefused(await raw([...head, "Transfer-Encoding: chunked"], chunks), 413, "PAYLOAD_TOO_LARGE");
  });

  it("megabytes are taken and refused: the client gets its answer, and the connection stays", async () => {
    await using own = await startRelay({ clock: slowClock }); // the rest of a body has a second
    for (let nth = 0; nth < 20; nth++) {
      const init = json(JSON.stringify({ videoId: "x".repeat((1 + (nth % 4)) * 1_000_000) }));
      assertRefused(
        await ask(own.url, "/v1/sessions", { ...init, method: "POST" }),
        413,
        "PAYLOAD_TOO_LARGE",
      );
    }
  });

  it("unknown fields change nothing, whatever their names", async () => {
    const odd = `"more":[1],"toString":5,"__proto__":{"videoId":"x"},"constructor":{"prototype":{"polluted":1}}`;
    const body = `{"videoId":"${VIDEO}",${odd}}`;
    const init = { method: "POST", headers: JSON_TYPE };
    const answer = await ask<{ videoId: string }>(relay.url, "/v1/sessions", { ...init, body });
    assert.equal(answer.status, 200);
    assert.equal(answer.body.videoId, VIDEO);
    assert.equal(Reflect.get({}, "polluted"), undefined);
    const bare = await ask(relay.url, "/v1/sessions", { ...init, body: `{${odd}}` });
    assert.match(assertRefused(bare, 400, "INVALID_REQUEST"), /videoId/);
  });
});

describe("a fault of a field is described in words", () => {
  const polled = { token: "t", client: "WEB", endpoint: "get_live_chat", apiKey: "", webVersion: "2.1" };
  const rows: [string, unknown, string][] = [
    ["/v1/sessions", [], "body: must be an object."],
    ["/v1/sessions", {}, "videoId: is required."],
    ["/v1/sessions", { videoId: 5 }, "videoId: must be a string."],
    ["/v1/sessions", { videoId: VIDEO, details: "yes" }, "details: must be a boolean."],
    [
      "/v1/poll",
      { ...polled, endpoint: "chat" },
      "endpoint: must be one of get_live_chat, get_live_chat_replay.",
    ],
    ["/v1/poll", { ...polled, webVersion: undefined }, "webVersion: is required."],
    ["/v1/poll", { ...polled, token: "x".repeat(8193) }, "token: must not be longer than 8192 characters."],
    [
      "/v1/poll",
      { ...polled, token: "ü" },
      "token: has an invalid format; send the value exactly as received.",
    ],
  ];
  for (const [path, body, expected] of rows) {
    it(expected, async () => {
      assert.equal(assertRefused(await post(relay.url, path, body), 400, "INVALID_REQUEST"), expected);
    });
  }

  it('until: must be "now".', async () => {
    const answer = await ask(relay.url, `/v1/stream?videoId=${VIDEO}&until=tomorrow`);
    assert.equal(assertRefused(answer, 400, "INVALID_REQUEST"), 'until: must be "now".');
  });
});

describe("heads", () => {
  const url = (length: number) => `/v1/nothing?${"a".repeat(length - "/v1/nothing?".length)}`;
  const rows: [string, string[], number, ErrorCode][] = [
    ["a URL of 8 KiB", [`GET ${url(8192)} HTTP/1.1`], 404, "NOT_FOUND"],
    ["a URL over 8 KiB", [`GET ${url(8193)} HTTP/1.1`], 431, "HEADERS_TOO_LARGE"],
    ["a URL over 16 KiB", [`GET ${url(20_000)} HTTP/1.1`], 431, "HEADERS_TOO_LARGE"],
    ["a header over 16 KiB", ["GET / HTTP/1.1", `A: ${"a".repeat(16_384)}`], 431, "HEADERS_TOO_LARGE"],
    [
      "headers over 16 KiB",
      ["GET / HTTP/1.1", ...Array(20).fill(`A: ${"a".repeat(900)}`)],
      431,
      "HEADERS_TOO_LARGE",
    ],
    ["100 headers", ["GET /v1/nothing HTTP/1.1", ...Array(98).fill("A: a")], 404, "NOT_FOUND"],
    ["over 100 headers", ["GET /v1/nothing HTTP/1.1", ...Array(99).fill("A: a")], 431, "HEADERS_TOO_LARGE"],
    ["an expectation of nonsense", ["GET /v1/nothing HTTP/1.1", "Expect: nonsense"], 404, "NOT_FOUND"],
    ["a path that cannot be decoded", ["GET /%zz HTTP/1.1"], 400, "INVALID_REQUEST"],
    ["a space in the URL", ["GET /v1/a b HTTP/1.1"], 400, "INVALID_REQUEST"],
    ["a header without a name", ["GET / HTTP/1.1", ": a"], 400, "INVALID_REQUEST"],
    ["a method that is none", ["FETCH / HTTP/1.1"], 400, "INVALID_REQUEST"],
    [
      "two ways of framing",
      ["POST / HTTP/1.1", "Content-Length: 1", "Transfer-Encoding: chunked"],
      400,
      "INVALID_REQUEST",
    ],
    ["a version that is none", ["GET / HTTP/3.7"], 400, "INVALID_REQUEST"],
    ["a negative length", ["POST / HTTP/1.1", "Content-Length: -1"], 400, "INVALID_REQUEST"],
  ];
  for (const [name, [line = "", ...headers], status, code] of rows) {
    it(`${name}: ${status} ${code}`, async () => {
      assertRefused(await raw([line, "Host: a", ...headers]), status, code);
    });
  }

  it("bytes that are not HTTP at all are 400 INVALID_REQUEST", async () => {
    const greeting = Buffer.from("16030100050100000000", "hex"); // of TLS
    for (const bytes of ["\r\n\r\nhello\r\n\r\n", Buffer.alloc(100), greeting]) {
      assertRefused(await askRaw(relay.url, bytes), 400, "INVALID_REQUEST");
    }
  });

  it("a request without Host, and one of HTTP/1.0, are served", async () => {
    assert.deepEqual((await raw(["GET /healthz HTTP/1.1"])).body, { status: "alive" });
    assert.deepEqual((await raw(["GET /healthz HTTP/1.0"])).body, { status: "alive" });
  });
});

describe("a request that stops on its way", () => {
  const HEAD = "GET /healthz HTTP/1.1\r\nHost: a\r\n";
  const BODY = [
    ...["POST /v1/poll HTTP/1.1", "Host: a", "Content-Type: application/json"],
    ...["Content-Length: 9", "", "{"],
  ].join("\r\n");

  it("has ten seconds for its head, and fifteen for all of it", () => {
    const expected = { headersMs: 10_000, requestMs: 15_000, checkMs: 1000 };
    assert.deepEqual(testConfig(relay.upstream).http.timeouts, expected);
  });

  it("is answered 408 REQUEST_TIMEOUT within its head, and not yet within its body", async () => {
    // Also on a busy machine a whole head arrives within a second.
    await using slow = await startRelay({ timeouts: { headersMs: 1000, requestMs: 60_000, checkMs: 10 } });
    let isOver = false;
    void askRaw(slow.url, BODY)
      .catch(() => {}) // cut by the stop
      .finally(() => {
        isOver = true;
      });
    assertRefused(await askRaw(slow.url, HEAD), 408, "REQUEST_TIMEOUT");
    assert.equal(isOver, false);
  });

  it("is answered 408 REQUEST_TIMEOUT within its body", async () => {
    await using slow = await startRelay({ timeouts: { headersMs: 100, requestMs: 100, checkMs: 10 } });
    assertRefused(await askRaw(slow.url, BODY), 408, "REQUEST_TIMEOUT");
  });
});

describe("preflights", () => {
  for (const path of [
    ...["/v1/stream", "/v1/merged", "/v1/sessions", "/v1/poll", "/v1/probe", "/v1/recordings/@name"],
    "/v1/nothing",
  ]) {
    it(`${path}: 204 with the methods and headers that any origin may use`, async () => {
      const headers = {
        origin: "https://overlay.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,last-event-id",
      };
      const response = await fetch(relay.url + path, { method: "OPTIONS", headers });
      assert.equal(response.status, 204);
      assert.equal(response.headers.get("access-control-allow-origin"), "*");
      const allowed = (name: string) => response.headers.get(`access-control-allow-${name}`)?.split(", ");
      assert.ok(allowed("methods")?.includes("POST"));
      const headerNames = [
        "Content-Type",
        "Last-Event-ID",
        "Cache-Control",
        "If-None-Match",
        "Authorization",
      ];
      assert.deepEqual(allowed("headers"), headerNames);
    });
  }

  it("are kept by browsers for two hours, and allow the headers of tracing", async () => {
    const preflight = (url: string, requested: string) =>
      fetch(`${url}/v1/stream`, {
        method: "OPTIONS",
        headers: { origin: "https://a.example", "access-control-request-headers": requested },
      });
    const { headers } = await preflight(relay.url, "traceparent, tracestate, x-request-id");
    assert.equal(headers.get("access-control-max-age"), "7200");
    assert.match(
      headers.get("access-control-allow-headers") ?? "",
      /, Authorization, traceparent, tracestate$/,
    );
    await using open = await startRelay({ settings: { RELAY_CORS_HEADERS: "X-*, b3" } });
    const { headers: further } = await preflight(open.url, "x-request-id,B3,traceparent");
    assert.match(further.get("access-control-allow-headers") ?? "", /, Authorization, x-request-id, b3$/);
  });

  it("and answers are for the origins of RELAY_CORS_ORIGINS alone, and say that they vary by it", async () => {
    const [a, b, other] = ["https://a.example", "http://b.example:8080", "https://a.example.evil"];
    await using closed = await startRelay({ settings: { RELAY_CORS_ORIGINS: `${a}, ${b}` } });
    closed.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
    const log = `/v1/log/${VIDEO}?offset`;
    for (const path of [
      ...["/v1/stream", "/v1/nothing", "/client.js", "/%", `/v1/messages?videoId=${VIDEO}`, "/v1/log/x"],
      ...[`/v1/stream?videoId=${VIDEO}`, `/v1/merged?videoIds=${VIDEO}`, `${log}=-1`, `${log}=-1&live=sse`],
      `${log}=-1&live=long-poll`,
    ])
      for (const method of ["OPTIONS", "GET"])
        for (const origin of [a, b, other, undefined]) {
          const init = { method, ...(origin && { headers: { origin } }) };
          const { headers, body } = await fetch(closed.url + path, init);
          await body?.cancel();
          const allowed = headers.get("access-control-allow-origin");
          assert.equal(allowed, origin === other ? null : (origin ?? null), `${method} ${path} ${origin}`);
          if (path !== "/%") assert.match(headers.get("vary") ?? "", /\bOrigin$/, `${method} ${path}`);
        }
    const long = await fetch(`${closed.url}/?${"x".repeat(20_000)}`);
    assert.deepEqual([long.status, long.headers.get("access-control-allow-origin")], [431, null]);
  });

  it("let pages read Retry-After, the links and tags of the history, and the places of a log", async () => {
    const { headers } = await ask(relay.url, "/v1/nothing");
    const places = "Stream-Next-Offset, Stream-Up-To-Date, Stream-Closed, Stream-Cursor";
    assert.equal(headers.get("access-control-expose-headers"), `ETag, Link, Retry-After, ${places}`);
  });
});

const WITHDRAWN = {
  "watch,probe,rooms": ["/v1/sessions", "/v1/poll"],
  "watch,poll,rooms": ["/v1/probe"],
  "watch,probe,poll": ["/v1/rooms"],
};
for (const [rights, paths] of Object.entries(WITHDRAWN)) {
  it(`RELAY_PUBLIC=${rights} hides only ${paths.join(", ")}, also in the description`, async () => {
    await using closed = await startRelay({ settings: { RELAY_PUBLIC: rights } });
    closed.upstream.chat(VIDEO, { tokens: "reusable" }).say(1);
    for (const path of paths) {
      assertRefused(await post(closed.url, path, { videoId: VIDEO }), 404, "NOT_FOUND");
      assertRefused(await ask(closed.url, path), 404, "NOT_FOUND");
    }
    assert.deepEqual(closed.upstream.requests, []);
    const { body } = await ask<{ paths: object }>(closed.url, "/v1/openapi.json");
    const withdrawable = Object.values(WITHDRAWN).flat();
    const streams = ["/v1/stream", "/v1/merged", "/v1/log/{videoId}"];
    const others = ["/v1/featured/{videoId}", "/v1/rooms/{videoId}", "/v1/messages"];
    const all = [...streams, "/v1/videos/{videoId}", ...withdrawable, ...others];
    const served = all.filter((path) => !paths.includes(path));
    assert.deepEqual(Object.keys(body.paths), served);
    for (const path of served.filter((name) => name === "/v1/sessions" || name === "/v1/probe"))
      assert.equal((await post(closed.url, path, { videoId: VIDEO })).status, 200);
    if (served.includes("/v1/rooms")) assert.equal((await ask(closed.url, "/v1/rooms")).status, 200);
    await using stream = await Stream.open(closed.url, { videoId: VIDEO });
    await stream.untilMessages(1);
  });
}
