/** A chat of the SDK that is read from the video's log: when it is, and where it begins and continues. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type ChatError, type ChatOptions, chat } from "../../../client/index.ts";
import { ENDED } from "../../../src/protocol/chat.ts";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { eventually } from "../../support/eventually.ts";
import { B, several, withRoom } from "../../support/history.ts";
import { LeapingClock } from "../../support/leaping-clock.ts";
import { startRelay } from "../../support/relay.ts";
import { OTHER, ROOM } from "../../support/store-subject.ts";

const VIDEO = "by-its-log1";
const FAST = { backfill: 500, backoff: { baseMs: 1 } };
/** The clients leap over it; a true stream must begin within it. */
const IDLE_MS = 5000;

/** What a network does to requests for a stream; `clock` is that of their client. */
type Hold = (url: string, init: RequestInit, clock: LeapingClock) => Promise<Response>;

/** Rejects once the client has given up, which need not take it any time. */
function until({ signal }: RequestInit, clock: LeapingClock): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal?.addEventListener("abort", () => reject(signal.reason));
  void clock.leapUntil(promise);
  return promise;
}

/** The head of a true answer, and then what the network makes of its body. */
async function headOf(url: string, init: RequestInit, clock: LeapingClock): Promise<Response> {
  const { status, headers, body } = await fetch(url, init);
  await body?.cancel();
  const start = (stream: ReadableStreamDefaultController) =>
    void until(init, clock).catch((error) => stream.error(error));
  return new Response(new ReadableStream({ start }), { status, headers });
}

/** The first bytes of a true answer, and then nothing. */
async function beginningOf(url: string, init: RequestInit, clock: LeapingClock): Promise<Response> {
  const { status, headers, body } = await fetch(url, init);
  const reader = body?.getReader();
  const first = await reader?.read();
  await reader?.cancel();
  const start = (stream: ReadableStreamDefaultController) => {
    stream.enqueue(first?.value);
    void until(init, clock).catch((error) => stream.error(error));
  };
  return new Response(new ReadableStream({ start }), { status, headers });
}

const html = (status = 200) =>
  new Response("<h1>Welcome</h1>", { status, headers: { "content-type": "text/html" } });
const refusal = (status: number, code: string) => Response.json({ code, message: "m" }, { status });

const HOLDS = {
  hang: (_url, init, clock) => until(init, clock),
  head: headOf,
  beginning: beginningOf,
  net: async () => Promise.reject(new TypeError("no network")),
  cut: async () => new Response("", { headers: { "content-type": "text/event-stream" } }),
  html: async () => html(),
  500: async () => html(500),
  429: async () => refusal(429, "RATE_LIMITED"),
  408: async () => html(408),
  good: (url, init) => fetch(url, init),
} satisfies Record<string, Hold>;
type Step = `${keyof typeof HOLDS}`;

/** Networks that hold streams back. */
const HOLDING: Record<string, Hold> = {
  "holds whole answers back": HOLDS.hang,
  "lets the head of a stream through, and nothing of it": HOLDS.head,
};

/** Does to the first streams what the steps say, and nothing to later ones. */
function byTurns(steps: readonly Step[]): Hold {
  let asked = 0;
  return (...given) => (HOLDS[steps[asked++] ?? "good"] as Hold)(...given);
}

const SILENT = ["hang", "hang", "hang"] as const;

/** A `fetch` through such a network; keeps the paths that it was asked for. */
function through(hold: Hold, clock = new LeapingClock()) {
  const paths: string[] = [];
  const held = (async (input, init = {}) => {
    const { pathname } = new URL(`${input}`);
    paths.push(pathname);
    return pathname === "/v1/stream" ? hold(`${input}`, init, clock) : fetch(input, init);
  }) satisfies typeof fetch;
  const count = (path: string) => paths.filter((each) => each === path).length;
  return { fetch: held as typeof fetch, count, paths };
}

describe("a chat of the SDK behind a network that", () => {
  for (const [what, hold] of Object.entries(HOLDING)) {
    it(`${what} is read from the log after three streams`, async () => {
      await using relay = await startRelay();
      const said = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 100 });
      const ids = said.say(10);
      const clock = new LeapingClock();
      const { fetch, count } = through(hold, clock);
      const room = chat(relay.url, { ...FAST, videoId: VIDEO, idleMs: IDLE_MS, fetch }, clock);
      const read: string[] = [];
      for await (const { id } of room) {
        if (read.push(id) === 10) ids.push(...said.say(10));
        if (read.length === 20) said.end("seek-only");
      }
      assert.deepEqual([read, room.end], [ids, { reason: "no more continuations" }]);
      assert.deepEqual([count("/v1/stream"), count("/healthz")], [3, 1]);
    });
  }

  const passing: Step[][] = [
    ["html", "html"],
    ["hang", "hang"],
    ["head", "hang"],
    ["hang", "cut"],
    ["html", "500", "429", "net", "cut"],
    ["408", "408", "408", "408"],
    ["net", "net", "net", "net"],
    ["hang", "hang", "net", "hang", "head"],
    ["hang", "hang", "html", "hang", "hang"],
    ["hang", "hang", "beginning", "hang", "hang"],
    ["beginning", "beginning", "beginning", "beginning"],
  ];
  for (const steps of passing)
    it(`does ${steps} to its streams is read by the next one alone`, async (t) => {
      await using relay = await startRelay();
      const said = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 100 });
      const [first] = said.say(1);
      const clock = new LeapingClock();
      const { fetch, paths } = through(byTurns(steps), clock);
      const room = chat(relay.url, { ...FAST, videoId: VIDEO, idleMs: IDLE_MS, fetch }, clock);
      t.after(() => room.close());
      let streams = 0;
      room.on("init", () => {
        streams = paths.length;
      });
      const read: string[] = [];
      room.on("message", ({ id }) => read.push(id));
      await eventually(steps.length + 1, () => streams);
      await eventually(first, () => read[0]);
      assert.deepEqual(paths, Array(steps.length + 1).fill("/v1/stream"));
    });

  it("holds streams back is never read from the log if the caller wants streams", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
    const { fetch, count } = through(async () => Promise.reject(new TypeError("cut")));
    const retry = (_: ChatError, attempt: number) => attempt < 5 && 1;
    const room = chat(relay.url, { videoId: VIDEO, transport: "sse", retry, fetch });
    await assert.rejects(Array.fromAsync(room), { code: "NETWORK" });
    assert.deepEqual([count("/v1/stream"), count("/healthz"), count(`/v1/log/${VIDEO}`)], [6, 0, 0]);
  });

  const others: [what: string, answer: (init: RequestInit, clock: LeapingClock) => Promise<Response>][] = [
    ["a page", async () => html()],
    ["another JSON", async () => Response.json({ status: "ok" })],
    ["null", async () => Response.json(null)],
    ["an error", async () => html(502)],
    ["a cut", HOLDS.net],
    ["silence", until],
  ];
  for (const [what, answer] of others)
    it(`holds streams back and answers /healthz by ${what} is not read from the log`, async () => {
      await using relay = await startRelay();
      relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
      const clock = new LeapingClock();
      const { fetch: held, count, paths } = through(byTurns(Array(6).fill("hang")), clock);
      const fetch: typeof globalThis.fetch = (input, init = {}) => {
        if (!`${input}`.endsWith("/healthz")) return held(input, init);
        paths.push("/healthz");
        return answer(init, clock);
      };
      for await (const _ of chat(relay.url, { ...FAST, videoId: VIDEO, idleMs: IDLE_MS, fetch }, clock))
        break;
      assert.deepEqual([count("/v1/stream"), count("/healthz"), paths.length], [7, 2, 9]);
    });

  it("holds the streams of a channel back is asked for streams alone: they have no log", async () => {
    const clock = new LeapingClock();
    const paths: string[] = [];
    const fetch = (async (input, init = {}) => {
      paths.push(new URL(`${input}`).pathname);
      return paths.length > 4 ? refusal(404, "NOT_FOUND") : until(init, clock);
    }) satisfies typeof globalThis.fetch;
    const room = chat("http://relay", { ...FAST, channel: "@c", idleMs: IDLE_MS, fetch }, clock);
    await assert.rejects(Array.fromAsync(room), { code: "NOT_FOUND" });
    assert.deepEqual(paths, Array(5).fill("/v1/stream"));
  });

  for (const opened of [true, false])
    for (const awayFor of opened ? [1, 2, 3, 10] : [3, 10])
      it(`has no service for ${awayFor} requests ${opened ? "amid" : "before"} a stream is read from the stream`, async () => {
        await using relay = await startRelay();
        const said = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 100 });
        said.say(1);
        const { count, fetch: sent } = through((url, init) => fetch(url, init));
        let asked = 0;
        const lossy: typeof fetch = async (input, init) => {
          asked += 1;
          const isAway = opened ? asked > 1 && asked <= awayFor + 1 : asked <= awayFor;
          if (isAway) throw new TypeError("away");
          const answer = await sent(input, init);
          if (!opened || asked > 1) return answer;
          const first = await answer.body?.getReader().read(); // the stream is cut behind its first frames
          return new Response(first?.value, answer);
        };
        const streams = opened ? 2 : 1;
        for await (const _ of chat(relay.url, { ...FAST, videoId: VIDEO, fetch: lossy })) {
          if (count("/v1/stream") === streams || count(`/v1/log/${VIDEO}`) > 0) break;
          said.say(1);
        }
        assert.deepEqual([count(`/v1/log/${VIDEO}`), count("/v1/stream")], [0, streams]);
      });

  it("refuses streams for a while is not read from the log", async () => {
    await using relay = await startRelay();
    const busy = async () =>
      new Response('{"code":"CAPACITY","message":"full"}', {
        status: 503,
        headers: { "content-type": "application/json" },
      });
    const { fetch, count } = through(busy);
    const retry = (_: ChatError, attempt: number) => attempt < 5 && 1;
    await assert.rejects(Array.fromAsync(chat(relay.url, { videoId: VIDEO, retry, fetch })), {
      code: "CAPACITY",
    });
    assert.deepEqual([count("/v1/stream"), count("/healthz")], [6, 0]);
  });
});

/** Where a log that nobody has chosen fails: the path, and whether only its long polls do. */
const FAILING: [where: string, path: string, isPoll: boolean][] = [
  ["a page of stored messages", "/v1/messages", false],
  ["the log", "/v1/log/", false],
  ["a poll of the log", "/v1/log/", true],
];
/** `code`: of a failure that is not final. Then the chat keeps to the log. */
const FAILURES: [what: string, fail: () => Response, code?: string][] = [
  ["a page", () => html()],
  ["a page with the status 404", () => html(404)],
  ["403", () => refusal(403, "FORBIDDEN")],
  ["503", () => refusal(503, "CAPACITY"), "CAPACITY"],
  ["a body that is cut", cut, "NETWORK"],
];

function cut(): Response {
  const body = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode("["));
      controller.error(new TypeError("the connection is cut"));
    },
  });
  return new Response(body, { headers: { "stream-next-offset": "1" } });
}

describe("a chat of the SDK that nobody wanted to read from the log", () => {
  for (const [where, path, isPoll] of FAILING)
    for (const [what, fail, code] of FAILURES)
      it(`${code ? "keeps to the log" : "goes back to the stream"} if ${where} is answered by ${what}`, async () => {
        const settings = { RELAY_LONG_POLL_MS: "1000" };
        await using relay = await startRelay({ settings });
        const said = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 100 });
        const ids = said.say(5);
        const clock = new LeapingClock();
        const { fetch: held, count } = through(byTurns(SILENT), clock);
        let failed = 0;
        const fetch: typeof globalThis.fetch = async (input, init) => {
          const { pathname, searchParams } = new URL(`${input}`);
          if (!pathname.startsWith(path) || (isPoll && !searchParams.has("live"))) return held(input, init);
          failed += 1;
          return code && failed > 1 ? held(input, init) : fail();
        };
        const failures: string[] = [];
        const retry = ({ code }: ChatError) => void failures.push(code);
        const options = { ...FAST, videoId: VIDEO, idleMs: IDLE_MS, fetch, retry };
        const read: string[] = [];
        for await (const _ of chat(relay.url, { ...FAST, videoId: VIDEO })) break; // it is stored
        for await (const { id } of chat(relay.url, options, clock)) {
          if (read.push(id) === 5) ids.push(...said.say(5));
          if (read.length === 10) break;
        }
        assert.deepEqual([read, count("/v1/stream")], [ids, code ? 3 : 4]);
        assert.ok(code ? failed > 1 : failed === 1, `${failed} requests`);
        const others = code ? [code] : isPoll ? ["NETWORK"] : [];
        assert.deepEqual(failures, [...Array(3).fill("NETWORK"), ...others]);
      });

  it("goes back to the stream if the log is silent three times, and to the log again", async () => {
    await using relay = await startRelay();
    const said = relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
    const clock = new LeapingClock();
    const { fetch: held, count, paths } = through(HOLDS.head, clock);
    let isHeld = true;
    const fetch: typeof globalThis.fetch = (input, init = {}) => {
      if (count("/healthz") === 2) isHeld = false;
      if (!isHeld || !`${input}`.includes("/v1/messages")) return held(input, init);
      paths.push("held");
      return until(init, clock);
    };
    for await (const _ of chat(relay.url, { ...FAST, videoId: VIDEO })) break; // it is stored
    const read: string[] = [];
    for await (const { id } of chat(relay.url, { ...FAST, videoId: VIDEO, idleMs: IDLE_MS, fetch }, clock))
      if (read.push(id) === 3) break;
    assert.deepEqual([read, count("/v1/stream"), count("held"), count("/healthz")], [said, 6, 3, 2]);
  });

  it("keeps to the log if only a connection of it is cut", async () => {
    await using relay = await startRelay();
    const said = relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(3);
    const clock = new LeapingClock();
    const { fetch: held, count } = through(HOLDS.hang, clock);
    let cuts = 0;
    const fetch: typeof globalThis.fetch = async (input, init) => {
      if (`${input}`.includes("/v1/log") && cuts++ < 4) throw new TypeError("cut");
      return held(input, init);
    };
    const read: string[] = [];
    for await (const { id } of chat(relay.url, { ...FAST, videoId: VIDEO, idleMs: IDLE_MS, fetch }, clock))
      if (read.push(id) === 3) break;
    assert.deepEqual([read, count("/v1/stream"), count("/healthz")], [said, 3, 1]);
  });
});

it("the SDK reads a chat from the stream after its token took too long: no stream was asked for", async () => {
  await using relay = await startRelay();
  relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
  const clock = new LeapingClock();
  const { fetch, paths } = through(HOLDS.good, clock);
  let asked = 0;
  const token = () => (++asked > 4 ? "t" : new Promise<string>(() => {}));
  const over = Promise.withResolvers<void>();
  void clock.leapUntil(over.promise);
  for await (const _ of chat(relay.url, { ...FAST, videoId: VIDEO, idleMs: 20_000, fetch, token }, clock))
    break;
  over.resolve();
  assert.deepEqual([asked, paths], [5, ["/v1/stream"]]);
});

it("the SDK reads a chat from the stream after its token could not be read: no stream has failed", async () => {
  await using relay = await startRelay();
  relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
  const { fetch, count } = through((url, init) => globalThis.fetch(url, init));
  let asked = 0;
  const token = () => (++asked > 4 ? "t" : Promise.reject(new Error("the site is away")));
  for await (const _ of chat(relay.url, { ...FAST, videoId: VIDEO, fetch, token })) break;
  assert.deepEqual([asked, count("/v1/stream"), count("/healthz")], [5, 1, 0]);
});

/** Everything that a chat of the room brings up to now, as cursors counted from the room's base. */
async function upToNow(url: string, options: Partial<ChatOptions> = {}) {
  const room = chat(url, { videoId: ROOM, transport: "log", ...options });
  const events: unknown[] = [];
  room.on("init", ({ videoId, chatType, cursor }) => events.push(["init", videoId, chatType, cursor - B]));
  room.on("gap", ({ after, cursor }) => events.push(["gap", after - B, cursor - B]));
  room.on("message", ({ cursor }) => {
    events.push(cursor - B);
  });
  await Array.fromAsync(room);
  return [...events, room.end?.reason];
}

const OPENED = (at: number) => ["init", ROOM, "liveChatRenderer", at];
const END = "no more continuations";

/** A stored room of ten messages whose chat is over. */
async function ended(t: TestContext) {
  const served = await withRoom(t);
  await served.store.finish(served.claim, ENDED);
  return served;
}

describe("a chat of the SDK that is read from the log", () => {
  it("begins and ends as that of a stream", async (t) => {
    const { url } = await ended(t);
    const rows: [options: Partial<ChatOptions>, expected: unknown[]][] = [
      [{ backfill: 3 }, [OPENED(7), 8, 9, 10, END]],
      [{ backfill: 0 }, [OPENED(10), END]],
      [{ backfill: 2, types: ["chat"] }, [OPENED(8), 9, 10, END]],
      [{}, [OPENED(0), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, END]],
      [{ cursor: B + 8 }, [OPENED(8), 9, 10, END]],
      [{ cursor: B + 8, until: "now" }, [OPENED(8), 9, 10, "until"]],
      [{ until: "now", backfill: 1 }, [OPENED(9), 10, "until"]],
    ];
    for (const [options, expected] of rows) {
      assert.deepEqual(await upToNow(url, options), expected, JSON.stringify(options));
      if (options.until) assert.deepEqual(await upToNow(url, { ...options, transport: "sse" }), expected);
    }
  });

  it("reads everything from the floor on behind a gap if the log does not have its cursor", async (t) => {
    const { url } = await ended(t);
    const all = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, END];
    for (const cursor of [B + 50, 5])
      assert.deepEqual(await upToNow(url, { cursor }), [OPENED(0), ["gap", cursor - B, 0], ...all]);
  });

  it("reads from the floor on, whatever first page a cache has kept", async (t) => {
    const { url } = await ended(t);
    const kept = () => new Response("[]", { headers: { "stream-next-offset": offsetOf(B - 5) } });
    const cached: typeof fetch = async (input, init) =>
      new URL(`${input}`).searchParams.get("offset") === "-1" ? kept() : fetch(input, init);
    const events = await upToNow(url, { cursor: B - 7, fetch: cached, retry: () => false });
    assert.deepEqual(events, [OPENED(0), ["gap", -7, 0], 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, END]);
  });

  it("reads pages of a long log one after the other", async (t) => {
    const { url, store, claim } = await withRoom(t, several(2500));
    await store.finish(claim, ENDED);
    const events = await upToNow(url, { cursor: 0 });
    assert.deepEqual(events, [OPENED(0), ...Array.from({ length: 2500 }, (_, n) => n + 1), END]);
  });

  it("takes a page that comes slowly for data, not for silence", async (t) => {
    const { url } = await ended(t);
    const clock = new LeapingClock();
    const idleMs = 60_000;
    const slowly: typeof fetch = async (input, init) => {
      const answer = await fetch(input, init);
      if (!`${input}`.includes("/v1/log/")) return answer;
      const { status, headers } = answer;
      const bytes = await answer.bytes();
      const length = Math.ceil(bytes.length / 5);
      const pieces = Array.from({ length: 5 }, (_, n) => bytes.subarray(n * length, (n + 1) * length));
      const pull = (body: ReadableStreamDefaultController) => {
        clock.leap(0.4 * idleMs);
        const piece = pieces.shift();
        if (piece) body.enqueue(piece);
        else body.close();
      };
      return new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), { status, headers });
    };
    const options: ChatOptions = { videoId: ROOM, transport: "log", idleMs, retry: () => false };
    const room = chat(url, { ...options, fetch: slowly }, clock);
    assert.equal((await Array.fromAsync(room)).length, 10);
  });

  it("has details only if they are wanted", async (t) => {
    const { url } = await ended(t);
    for (const details of [true, false])
      for await (const m of chat(url, { videoId: ROOM, transport: "log", details }))
        assert.equal("details" in m, details);
  });

  it("throws the service's refusal, also that of the poll", async (t) => {
    const { url } = await withRoom(t); // there is no chat at the upstream
    const refused = { code: "NO_LIVE_CHAT", status: 404 };
    await assert.rejects(upToNow(url, { videoId: OTHER }), refused);
    await assert.rejects(upToNow(url, { videoId: OTHER, until: "now" }), { code: "NOT_STORED", status: 404 });
    for (const text of ["[]", "<h1>", '{"messages":5}']) {
      const options = { fetch: async () => new Response(text), retry: () => false as const };
      await assert.rejects(upToNow(url, options), { code: "HTTP", status: 200 });
    }
  });

  it("stays with a log that its caller has chosen, whatever it answers", async () => {
    const paths: string[] = [];
    const answers = [html(), html(502), refusal(429, "RATE_LIMITED"), html(), refusal(404, "NO_LIVE_CHAT")];
    const fetch = (async (input) => {
      paths.push(new URL(`${input}`).pathname);
      return answers.shift() ?? Response.error();
    }) satisfies typeof globalThis.fetch;
    const room = chat("http://relay", { ...FAST, videoId: VIDEO, transport: "log", fetch });
    await assert.rejects(Array.fromAsync(room), { code: "NO_LIVE_CHAT" });
    assert.deepEqual(paths, Array(5).fill("/v1/messages"));
  });

  it("asks a function for its token once more after a 401, and no more", async () => {
    let asked = 0;
    const token = () => `t${++asked}`;
    const fetch = async () => {
      if (asked > 4) throw new Error("asked for ever");
      return refusal(401, "UNAUTHORIZED");
    };
    const options = { fetch, token, retry: () => false as const };
    await assert.rejects(upToNow("http://relay", options), { code: "UNAUTHORIZED" });
    assert.equal(asked, 2);
  });

  it("begins again if the log loses the offset of a poll", async (t) => {
    const settings = { RELAY_LONG_POLL_MS: "1000" };
    await using relay = await startRelay({ settings });
    const upstream = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 20 });
    const said = upstream.say(3);
    let isGone = false;
    const polling: typeof fetch = async (input, init) => {
      if (isGone || !`${input}`.includes("live=long-poll")) return fetch(input, init);
      isGone = true;
      said.push(...upstream.say(2));
      return Response.json({ code: "OFFSET_GONE", message: "The offset is gone." }, { status: 410 });
    };
    const options: ChatOptions = { ...FAST, videoId: VIDEO, transport: "log" };
    const room = chat(relay.url, { ...options, fetch: polling });
    t.after(() => room.close());
    const ids: string[] = [];
    for await (const { id } of room) if (ids.push(id) === 5) break;
    assert.deepEqual([ids, isGone], [said, true]);
  });

  it("counts a poll without messages as an answer", async (t) => {
    const settings = { RELAY_LONG_POLL_MS: "1000", RELAY_POLL_MAX_MS: "5000" };
    await using relay = await startRelay({ settings });
    relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5000 }).say(1);
    const clock = new LeapingClock();
    const idleMs = 60_000;
    let empty = 0;
    const polling: typeof fetch = async (...args) => {
      const response = await fetch(...args);
      if (response.status !== 204) return response;
      clock.leap(0.6 * idleMs);
      if (++empty === 3) room.close();
      return response;
    };
    const options: ChatOptions = { videoId: VIDEO, transport: "log", idleMs, retry: () => false };
    const room = chat(relay.url, { ...options, fetch: polling }, clock);
    t.after(() => room.close());
    assert.equal((await Array.fromAsync(room)).length, 1);
  });
});
