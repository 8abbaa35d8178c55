/** A chat of the SDK that is read from the video's log: when it is, and where it begins and continues. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { type ChatError, type ChatOptions, chat } from "../../../client/index.ts";
import { ENDED } from "../../../src/protocol/chat.ts";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { B, several, withRoom } from "../../support/history.ts";
import { LeapingClock } from "../../support/leaping-clock.ts";
import { startRelay } from "../../support/relay.ts";
import { OTHER, ROOM } from "../../support/store-subject.ts";

const VIDEO = "by-its-log1";
const FAST = { backfill: 500, backoff: { baseMs: 1 } };

/** What a network does to requests for a stream; `clock` is that of their client. */
type Hold = (url: string, init: RequestInit, clock: LeapingClock) => Promise<Response>;

/** Rejects once the client has given up, which need not take it any time. */
function until({ signal }: RequestInit, clock: LeapingClock): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal?.addEventListener("abort", () => reject(signal.reason));
  void clock.leapUntil(promise);
  return promise;
}

/** Networks that let no event through. */
const NETWORKS: Record<string, Hold> = {
  "holds whole answers back": (_url, init, clock) => until(init, clock),
  "lets the head of a stream through, and nothing of it": async (url, init, clock) => {
    const { status, headers, body } = await fetch(url, init);
    await body?.cancel();
    const start = (stream: ReadableStreamDefaultController) =>
      void until(init, clock).catch((error) => stream.error(error));
    const nothing = new ReadableStream({ start });
    return new Response(nothing, { status, headers });
  },
  "cuts streams at once": async () => Promise.reject(new TypeError("cut")),
  "answers with a page of its own": async () =>
    new Response("<h1>Welcome</h1>", { headers: { "content-type": "text/html" } }),
};

/** A `fetch` through such a network; keeps the paths that it was asked for. */
function through(hold: Hold, clock = new LeapingClock()) {
  const paths: string[] = [];
  const held = (async (input, init = {}) => {
    const { pathname } = new URL(`${input}`);
    paths.push(pathname);
    return pathname === "/v1/stream" ? hold(`${input}`, init, clock) : fetch(input, init);
  }) satisfies typeof fetch;
  const count = (path: string) => paths.filter((each) => each === path).length;
  return { fetch: held as typeof fetch, count };
}

describe("a chat of the SDK behind a network that", () => {
  for (const [what, hold] of Object.entries(NETWORKS)) {
    it(`${what} is read from the log after two streams`, async () => {
      await using relay = await startRelay();
      const said = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 100 });
      const ids = said.say(10);
      const clock = new LeapingClock();
      const { fetch, count } = through(hold, clock);
      const room = chat(relay.url, { ...FAST, videoId: VIDEO, idleMs: 2000, fetch }, clock);
      const read: string[] = [];
      for await (const { id } of room) {
        if (read.push(id) === 10) ids.push(...said.say(10));
        if (read.length === 20) said.end("seek-only");
      }
      assert.deepEqual([read, room.end], [ids, { reason: "no more continuations" }]);
      assert.equal(count("/v1/stream"), 2);
      assert.ok(count("/healthz") > 0);
    });
  }

  it("holds streams back is never read from the log if the caller wants streams", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
    const { fetch, count } = through(async () => Promise.reject(new TypeError("cut")));
    const retry = (_: ChatError, attempt: number) => attempt < 5 && 1;
    const room = chat(relay.url, { videoId: VIDEO, transport: "sse", retry, fetch });
    await assert.rejects(Array.fromAsync(room), { code: "NETWORK" });
    assert.deepEqual([count("/v1/stream"), count("/healthz"), count(`/v1/log/${VIDEO}`)], [6, 0, 0]);
  });

  it("reaches no service is not read from the log", async () => {
    const { fetch, count } = through(async () => Promise.reject(new TypeError("cut")));
    const retry = (_: ChatError, attempt: number) => attempt < 3 && 1;
    const room = chat("http://127.0.0.1:1", { videoId: VIDEO, retry, fetch });
    await assert.rejects(Array.fromAsync(room), { code: "NETWORK" });
    assert.deepEqual([count("/v1/stream"), count("/healthz"), count(`/v1/log/${VIDEO}`)], [4, 2, 0]);
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
