/**
 * The specification's table of errors, endpoint by endpoint: status, code, shape, and what it costs upstream.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failure } from "../../../simulator/faults.ts";
import type { RequestKind } from "../../../simulator/requests.ts";
import type { ErrorCode } from "../../../src/protocol/errors.ts";
import { type Answer, ask, assertRefused, pollOf, post, session } from "../../support/api.ts";
import { failAlways, PLACES } from "../../support/opening.ts";
import { startRelay, type TestRelay, type TestRelayOptions } from "../../support/relay.ts";

const VIDEO = "error-table";
const UNKNOWN_VIDEO = "not-a-chat_";
/** Valid in form, but without a chat. */
const MADE_UP = {
  token: "made-up-token",
  client: "TVHTML5",
  endpoint: "get_live_chat",
  apiKey: "AIzaSyMadeUpMadeUpMadeUp",
};

type Endpoint = "stream" | "sessions" | "poll" | "probe";
type Input = Record<string, unknown>;

function request({ url }: TestRelay, endpoint: Endpoint, input: Input): Promise<Answer> {
  if (endpoint !== "stream") return post(url, `/v1/${endpoint}`, input);
  const texts = Object.entries(input).map(([name, value]): [string, string] => [name, String(value)]);
  return ask(url, `/v1/stream?${new URLSearchParams(texts)}`);
}

/** A fault at the upstream that lasts. */
type Trouble = [RequestKind | readonly RequestKind[], Failure];

interface Row {
  when: string;
  /** Beside the simulator's own ways. */
  options?: TestRelayOptions;
  troubles?: Trouble[];
  /** The calls of the chat that work; all by default. */
  works?: [];
  input?: Input;
  /** What each endpoint says, with the number of upstream calls that it takes to find out. */
  expected: Partial<Record<Endpoint, [status: number, code: ErrorCode, calls: number]>>;
}

const NO_CREDENTIALS: TestRelayOptions = {
  simulator: { serviceWorker: "stub", serviceWorkerData: "broken", pageCredentials: false },
};
const THROTTLED: Failure = { status: 429, headers: { "retry-after": "7" } };

const all = (...answer: [status: number, code: ErrorCode, calls: number]): Row["expected"] => {
  return { stream: answer, sessions: answer, probe: answer };
};

const BOOTSTRAP: Row[] = [
  {
    when: "videoId is missing",
    input: {},
    expected: all(400, "INVALID_REQUEST", 0),
  },
  {
    when: "videoId is neither an id nor an address",
    input: { videoId: "https://notyoutube.com/watch?v=abcdefghijk" },
    expected: all(400, "INVALID_VIDEO_ID", 0),
  },
  {
    when: "no page holds a chat",
    input: { videoId: UNKNOWN_VIDEO },
    expected: all(404, "NO_LIVE_CHAT", 4),
  },
  {
    when: "neither page can be loaded",
    troubles: [[PLACES, { status: 503 }]],
    expected: {
      stream: [404, "NO_LIVE_CHAT", 4],
      sessions: [502, "UPSTREAM_ERROR", 4],
      probe: [404, "NO_LIVE_CHAT", 4],
    },
  },
  {
    when: "no source has a version",
    options: NO_CREDENTIALS,
    expected: all(502, "SW_JS_FAILED", 3),
  },
  {
    when: "no source has a version and there is no chat",
    options: NO_CREDENTIALS,
    input: { videoId: UNKNOWN_VIDEO },
    expected: all(502, "SW_JS_FAILED", 4),
  },
  {
    when: "no client and endpoint work",
    works: [],
    expected: { stream: [502, "NO_WORKING_CLIENT", 6], sessions: [502, "NO_WORKING_CLIENT", 6] },
  },
  ...(["sw.js", "popout"] as const).map(
    (kind, i): Row => ({
      when: `${kind} is throttled`,
      troubles: [[kind, THROTTLED]],
      expected: {
        stream: [429, "RATE_LIMITED", 1 + i],
        sessions: [502, "UPSTREAM_ERROR", 1 + i],
        probe: [429, "RATE_LIMITED", 1 + i],
      },
    }),
  ),
  {
    when: "the chat call is throttled",
    troubles: [["get_live_chat", "quota"]],
    expected: { stream: [429, "RATE_LIMITED", 3], sessions: [502, "UPSTREAM_ERROR", 3] },
  },
];

describe("the outcome of a bootstrap", () => {
  for (const { when, options, troubles = [], works, input = { videoId: VIDEO }, expected } of BOOTSTRAP) {
    for (const [endpoint, [status, code, calls]] of Object.entries(expected)) {
      it(`${endpoint}, if ${when}: ${status} ${code} after ${calls} calls`, async () => {
        await using relay = await startRelay(options);
        relay.upstream.chat(VIDEO, works && { works }).say(3);
        for (const [on, as] of troubles) failAlways(relay, on, as);
        const answer = await request(relay, endpoint as Endpoint, input);
        assertRefused(answer, status, code, relay.upstream);
        assert.equal(relay.upstream.requests.length, calls);
        if (code === "RATE_LIMITED") assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d*$/);
      });
    }
  }
});

describe("during a cooldown", () => {
  const LONG: Failure = { status: 429, headers: { "retry-after": "90" } };
  const rows: [Endpoint, Input, number, ErrorCode][] = [
    ["stream", { videoId: VIDEO }, 429, "RATE_LIMITED"],
    ["sessions", { videoId: VIDEO }, 502, "UPSTREAM_ERROR"],
    ["poll", MADE_UP, 502, "UPSTREAM_ERROR"],
    ["probe", { videoId: VIDEO }, 429, "RATE_LIMITED"],
  ];
  for (const [endpoint, input, status, code] of rows) {
    it(`${endpoint} answers at once with ${status} ${code} and the reason, without an upstream call`, async () => {
      await using relay = await startRelay();
      relay.upstream.chat(VIDEO).say(1);
      relay.upstream.fault({ on: "get_live_chat", times: 1, as: LONG });
      const from = performance.now();
      assertRefused(await request(relay, "stream", { videoId: VIDEO }), 429, "RATE_LIMITED");
      const before = relay.upstream.requests.length;
      const answer = await request(relay, endpoint, input);
      assert.match(assertRefused(answer, status, code, relay.upstream), /throttling/);
      assert.equal(relay.upstream.requests.length, before);
      const retryAfter = Number(answer.headers.get("retry-after"));
      const leastS = 90 - (performance.now() - from) / 1000; // a client may not come back sooner
      assert.ok(retryAfter >= leastS && retryAfter <= 90, `Retry-After: ${retryAfter}`);
    });
  }
});

describe("the upstream's answer to a poll decides the caller's status and code", () => {
  const rows: [string, Failure, number, ErrorCode][] = [
    ["an error object in 200", "invalid-argument", 410, "TOKEN_EXPIRED"],
    ["an error of the old form in 200", "response-errors", 410, "TOKEN_EXPIRED"],
    ["HTTP 400 INVALID_ARGUMENT", { status: 400 }, 410, "TOKEN_EXPIRED"],
    ["HTTP 400 of another kind", { status: 400, body: "<p>no</p>" }, 502, "UPSTREAM_ERROR"],
    ["a quota signal in 200", "quota", 502, "UPSTREAM_ERROR"],
    ["HTTP 429", { status: 429 }, 502, "UPSTREAM_ERROR"],
    ["a captcha page", "captcha", 502, "UPSTREAM_ERROR"],
    ["HTTP 403", { status: 403 }, 502, "UPSTREAM_ERROR"],
    ["HTTP 404", { status: 404 }, 502, "UPSTREAM_ERROR"],
    ["HTTP 500", { status: 500 }, 502, "UPSTREAM_ERROR"],
    ["HTML", "html", 502, "UPSTREAM_ERROR"],
    ["nothing", "empty", 502, "UPSTREAM_ERROR"],
    ["null", "null", 502, "UPSTREAM_ERROR"],
    ["[]", "array", 502, "UPSTREAM_ERROR"],
    ["{}", "object", 502, "UPSTREAM_ERROR"],
    ["a truncated answer", "truncated", 502, "UPSTREAM_ERROR"],
    ["a reset connection", "reset", 502, "UPSTREAM_ERROR"],
    ["a redirect to a foreign host", { redirect: "http://127.0.0.9:9/" }, 502, "UPSTREAM_ERROR"],
  ];
  for (const [name, as, status, code] of rows) {
    it(`${name}: ${status} ${code}`, async () => {
      await using relay = await startRelay();
      relay.upstream.chat(VIDEO).say(1);
      const opened = await session(relay.url, { videoId: VIDEO });
      failAlways(relay, "get_live_chat", as);
      const before = relay.upstream.requests.length;
      assertRefused(await request(relay, "poll", pollOf(opened)), status, code, relay.upstream);
      assert.equal(relay.upstream.requests.length, before + 1);
    });
  }
});

describe("validation refuses before any upstream call, and names the field", () => {
  const LONG_URL = `https://youtu.be/${VIDEO}?${"x".repeat(2048)}`;
  type Refusal = [endpoint: Endpoint, input: Input, code: ErrorCode, names: RegExp];
  const VIDEO_IDS: [unknown, ErrorCode][] = [
    [5, "INVALID_REQUEST"],
    [null, "INVALID_REQUEST"],
    [[VIDEO], "INVALID_REQUEST"],
    [LONG_URL, "INVALID_REQUEST"],
    ["", "INVALID_VIDEO_ID"],
  ];
  const ODD: unknown[] = [undefined, 5, null];
  /** Invalid values of a poll's fields. */
  const POLL_FIELDS: Record<string, unknown[]> = {
    token: [...ODD, "", "t\n", "t".repeat(8193)],
    client: ODD,
    endpoint: [...ODD, "get_chat"],
    apiKey: [...ODD, "k".repeat(9), "k".repeat(101), "key with spaces", `${MADE_UP.apiKey}\n`],
  };
  const WEB_VERSIONS = [undefined, "", "2.0-beta", "2".repeat(41), 2];
  const UNKNOWN_CLIENTS = ["BETAMAX", "web", "", "__proto__", "constructor"];
  const rows: Refusal[] = [
    ["stream", { videoId: LONG_URL }, "INVALID_REQUEST", /videoId/],
    ["stream", { videoId: VIDEO, backfill: "" }, "INVALID_REQUEST", /backfill/],
    ["stream", { videoId: VIDEO, details: "1" }, "INVALID_REQUEST", /details/],
    ...(["sessions", "probe"] as const).flatMap((endpoint) =>
      VIDEO_IDS.map(([videoId, code]): Refusal => [endpoint, { videoId }, code, /videoId/]),
    ),
    ["sessions", { videoId: VIDEO, includeInitial: "yes" }, "INVALID_REQUEST", /includeInitial/],
    ["sessions", { videoId: VIDEO, details: 1 }, "INVALID_REQUEST", /details/],
    ...Object.entries(POLL_FIELDS).flatMap(([field, values]) =>
      values.map((value): Refusal => {
        return ["poll", { ...MADE_UP, [field]: value }, "INVALID_REQUEST", new RegExp(field)];
      }),
    ),
    ...WEB_VERSIONS.map((webVersion): Refusal => {
      return ["poll", { ...MADE_UP, client: "WEB", webVersion }, "INVALID_REQUEST", /webVersion/];
    }),
    ...UNKNOWN_CLIENTS.map((client): Refusal => ["poll", { ...MADE_UP, client }, "UNKNOWN_CLIENT", /client/]),
  ];
  const STATUS = { INVALID_REQUEST: 400, INVALID_VIDEO_ID: 400, UNKNOWN_CLIENT: 422 };

  it("row by row", async () => {
    await using relay = await startRelay();
    for (const [endpoint, input, code, names] of rows) {
      const answer = await request(relay, endpoint, input);
      const status = STATUS[code as keyof typeof STATUS];
      assert.match(assertRefused(answer, status, code), names, JSON.stringify(input).slice(0, 200));
    }
    assert.deepEqual(relay.upstream.requests, []);
  });
});
