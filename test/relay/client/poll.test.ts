/** `poll()` and `probe()`, the SDK's calls of the caller's own polling. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ChatError, type PollOptions, poll, probe } from "../../../client/index.ts";
import { AnsweringFetch, silent } from "../../support/answering-fetch.ts";
import { type Answer, AnsweringServer, refuses } from "../../support/answering-server.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { startRelay } from "../../support/relay.ts";

const VIDEO = "dQw4w9WgXcQ";
const FAST = { videoId: "v", minDelayMs: 0, backoff: { baseMs: 1 } };
const CREDENTIALS = { client: "WEB", endpoint: "get_live_chat", apiKey: "key", webVersion: "2.0" };

/** What else a session says, which no poll wants back. */
const SAID = { videoId: "v", chatType: "liveChatRenderer", host: "https://www.youtube.com" };

const session = { ...SAID, ...CREDENTIALS, token: "t", messages: [] };
const batch = (token: string | null, ids: string[], timeoutMs = 0) => {
  const messages = ids.map((id) => ({ type: "chat", id }));
  return refuses(200, { ...SAID, ...CREDENTIALS, token, timeoutMs, messages });
};
const EXPIRED = refuses(410, { code: "TOKEN_EXPIRED", message: "m" });
const BROKEN = refuses(502, { code: "UPSTREAM_ERROR", message: "m" });

async function idsOf(answers: Answer[], options: Partial<PollOptions> = {}) {
  await using server = await AnsweringServer.start(...answers);
  const ids: string[] = [];
  let error: unknown;
  try {
    for await (const { id } of poll(server.url, { ...FAST, ...options })) ids.push(id);
  } catch (thrown) {
    error = thrown;
  }
  return { ids, error, calls: server.calls };
}

describe("poll() of the SDK", () => {
  it("opens a session, and polls with those of its fields that a poll needs, until the chat ends", async () => {
    const { ids, calls } = await idsOf([batch("t1", ["a"]), batch("t2", ["b", "a"]), batch(null, ["c"])], {
      details: true,
    });
    assert.deepEqual(ids, ["a", "b", "c"]);
    assert.deepEqual(
      calls.map(({ path, body }) => [path, body]),
      [
        ["/v1/sessions", { videoId: "v", includeInitial: true, details: true }],
        ["/v1/poll", { token: "t1", ...CREDENTIALS, details: true }],
        ["/v1/poll", { token: "t2", ...CREDENTIALS, details: true }],
      ],
    );
  });

  // The first call comes a millisecond late: no timer waits for less.
  for (const [clamps, options, times] of [
    ["500 ms and 15 s", {}, [1, 15_001, 15_501, 20_501]],
    ["minDelayMs and maxDelayMs", { minDelayMs: 2000, maxDelayMs: 4000 }, [1, 4001, 6001, 10_001]],
  ] as const) {
    it(`waits timeoutMs before each poll, clamped to ${clamps}`, async () => {
      const clock = new FakeClock();
      const waits = [60_000, 1, 5000, 0].map((timeoutMs) => () => Response.json({ ...session, timeoutMs }));
      const { fetch, calls } = new AnsweringFetch(clock, ...waits, silent);
      void poll("http://relay", { videoId: "v", fetch, ...options }, clock).next();
      await clock.advance(times[3]);
      assert.deepEqual(calls, times);
    });
  }

  it("waits minDelayMs if an answer names no wait", async () => {
    const clock = new FakeClock();
    const answer = () => Response.json({ ...session, timeoutMs: undefined });
    const { fetch, calls } = new AnsweringFetch(clock, answer, silent);
    void poll("http://relay", { videoId: "v", fetch }, clock).next();
    await clock.advance(501);
    assert.deepEqual(calls, [1, 501]);
  });

  it("opens a new session if its token expires, and yields nothing twice", async () => {
    const { ids, calls } = await idsOf([
      batch("t1", ["a", "b"]),
      EXPIRED,
      batch("t2", ["a", "b", "c"]),
      batch(null, ["c", "d"]),
    ]);
    assert.deepEqual(ids, ["a", "b", "c", "d"]);
    assert.deepEqual(
      calls.map(({ path }) => path),
      ["/v1/sessions", "/v1/poll", "/v1/sessions", "/v1/poll"],
    );
    assert.equal(calls[3]?.body.token, "t2");
  });

  it("loses nothing to an expired token without includeInitial, and yields nothing from before", async () => {
    const answers = [
      batch("t1", []),
      batch("t2", ["b"]),
      EXPIRED,
      batch("t3", ["a", "b", "c"]),
      batch(null, []),
    ];
    const { ids, calls } = await idsOf(answers, { includeInitial: false });
    assert.deepEqual(ids, ["b", "c"]);
    assert.deepEqual([calls[0]?.body.includeInitial, calls[3]?.body.includeInitial], [false, true]);
    const silent = [batch("t1", []), EXPIRED, batch("t3", ["a"]), batch(null, ["b"])];
    assert.deepEqual((await idsOf(silent, { includeInitial: false })).ids, ["b"]);
    // The new session no longer has the known message, so all of its messages came later.
    const fast = [batch("t1", []), batch("t2", ["a"]), EXPIRED, batch("t3", ["b", "c"]), batch(null, ["d"])];
    assert.deepEqual((await idsOf(fast, { includeInitial: false })).ids, ["a", "b", "c", "d"]);
  });

  it("throws at the fifth failure in a row, and if tokens expire five times in a row", async () => {
    const failing = [batch("t1", []), BROKEN, BROKEN, BROKEN, BROKEN, batch("t2", ["a"])];
    const { ids, error, calls } = await idsOf([...failing, BROKEN]);
    assert.deepEqual([ids, (error as ChatError).code, calls.length], [["a"], "UPSTREAM_ERROR", 11]);
    const expiring = Array.from({ length: 5 }, () => [batch("t", []), EXPIRED]).flat();
    assert.equal(((await idsOf([...expiring, batch(null, [])])).error as ChatError).code, "TOKEN_EXPIRED");
  });

  it("counts failures from the last answer on, that of a new session included", async () => {
    const answers = [BROKEN, BROKEN, BROKEN, BROKEN, batch("t1", ["a"]), BROKEN, batch(null, ["b"])];
    assert.deepEqual((await idsOf(answers)).ids, ["a", "b"]);
  });

  it("leaves an expired token behind, also where retry alone has it go on", async () => {
    const expiring = Array.from({ length: 6 }, () => [batch("t", []), EXPIRED]).flat();
    const { ids, calls } = await idsOf([...expiring, batch("t7", []), batch(null, ["a"])], {
      retry: () => 1,
    });
    assert.deepEqual(ids, ["a"]);
    assert.deepEqual(
      calls.map(({ path }) => path),
      Array.from({ length: 7 }, () => ["/v1/sessions", "/v1/poll"]).flat(),
    );
  });

  it("throws a refusal at once, unless retry returns a wait", async () => {
    const answers = [refuses(404, { code: "NO_LIVE_CHAT", message: "none" }), batch(null, ["a"])];
    assert.equal(((await idsOf(answers)).error as ChatError).code, "NO_LIVE_CHAT");
    assert.deepEqual((await idsOf(answers, { retry: () => 1 })).ids, ["a"]);
  });

  it("counts an answer of another service as a failure", async () => {
    const foreign = ["null", "5", "[]", "{}", '{"messages":null}'].map((body) => refuses(200, body));
    const answers = [...foreign.slice(1), batch("t1", ["a"]), batch("t2", ["b"]), ...foreign];
    const { ids, error, calls } = await idsOf(answers);
    assert.equal((error as ChatError).code, "HTTP");
    assert.deepEqual([ids, calls.length], [["a", "b"], 11]);
  });

  it("throws TypeError at once, and the signal's reason at any time", async () => {
    assert.throws(() => poll("nowhere", FAST), TypeError);
    assert.throws(
      () => poll("http://relay", { videoId: "" }),
      /^TypeError: videoId: is missing or invalid\.$/,
    );
    const abort = new AbortController();
    const clock = new FakeClock();
    const { fetch, calls } = new AnsweringFetch(clock, () => Response.json({ ...session, timeoutMs: 5000 }));
    const polling = poll("http://relay", { videoId: "v", fetch, signal: abort.signal }, clock).next();
    await clock.advance(4999);
    abort.abort("enough");
    await assert.rejects(polling, (reason) => reason === "enough");
    assert.deepEqual(calls, [1]);
    const midway = new AbortController();
    await using server = await AnsweringServer.start(batch("t1", ["a", "b"]));
    const messages = poll(server.url, { ...FAST, signal: midway.signal });
    assert.equal((await messages.next()).value?.id, "a");
    midway.abort("enough");
    await assert.rejects(messages.next(), (reason) => reason === "enough");
    assert.deepEqual(
      (await idsOf([batch(null, [])], { signal: AbortSignal.abort("before") })).error,
      "before",
    );
  });

  it("reads a chat from the service, past an expired token", async () => {
    await using relay = await startRelay();
    const chat = relay.upstream.chat(VIDEO, { kinds: ["text", "paid"], timeoutMs: 5 });
    const said = chat.say(10);
    const read: string[] = [];
    for await (const message of poll(relay.url, { videoId: VIDEO, minDelayMs: 1, details: true })) {
      if (message.type === "superchat") assert.ok(message.details.amount);
      if (read.push(message.id) === 10) chat.expireTokens();
      if (read.length === 10 || read.length === 15) said.push(...chat.say(5));
      if (read.length === 20) chat.end("seek-only");
    }
    assert.deepEqual(read, said);
  });
});

describe("probe() of the SDK", () => {
  it("resolves to a row for each client and endpoint", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO).say(1);
    const { videoId, rows } = await probe(relay.url, { videoId: `https://youtu.be/${VIDEO}` });
    assert.deepEqual([videoId, rows.length], [VIDEO, 24]);
    assert.deepEqual(Object.keys(rows[0] ?? {}), ["label", "endpoint", "ok", "actions", "error"]);
  });

  it("rejects with a refusal of the service, an answer of another service, or the signal's reason", async () => {
    await using server = await AnsweringServer.start(
      refuses(429, { code: "RATE_LIMITED", message: "m" }, { "retry-after": "5" }),
      refuses(200, "<h1>hello</h1>"),
      refuses(200, "null"),
      (response) => response.writeHead(200, { "content-length": "9" }).write("{", () => response.destroy()),
      () => {},
    );
    const limited = { code: "RATE_LIMITED", status: 429, retryAfterMs: 5000 };
    await assert.rejects(probe(server.url, FAST), limited);
    for (const _ of ["a page", "null"])
      await assert.rejects(probe(server.url, FAST), { code: "HTTP", status: 200 });
    await assert.rejects(probe(server.url, FAST), { code: "NETWORK" });
    const abort = new AbortController();
    const probing = probe(server.url, { ...FAST, signal: abort.signal });
    await server.changes.until(() => server.calls.length === 5, "the fifth call");
    abort.abort("enough");
    await assert.rejects(probing, (reason) => reason === "enough");
    assert.throws(() => probe(server.url, { videoId: "" }), TypeError);
    await server.untilClosed();
  });

  it("sends the caller's headers through the caller's fetch", async () => {
    const seen: [string, unknown][] = [];
    const fetch: typeof globalThis.fetch = async (input, init) => {
      seen.push([String(input), Object.fromEntries(new Headers(init?.headers))]);
      return Response.json({ videoId: "v", rows: [] });
    };
    await probe("https://relay.example/live", { videoId: "v", headers: { authorization: "a" }, fetch });
    const headers = { authorization: "a", "content-type": "application/json" };
    assert.deepEqual(seen, [["https://relay.example/live/v1/probe", headers]]);
  });
});
