/**
 * `POST /v1/sessions` and `POST /v1/poll`: a caller reads a chat by itself, and gets what the stream would
 * have sent.
 */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { END_SHAPES } from "../../../simulator/index.ts";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import { CLIENTS } from "../../../src/upstream/clients.ts";
import {
  assertNothingKept,
  assertRefused,
  type PollBody,
  pollOf,
  post,
  type SentMessage,
  type SessionBody,
  session,
} from "../../support/api.ts";
import { countRequests } from "../../support/begun-requests.ts";
import { eventually } from "../../support/eventually.ts";
import { heldAnswer } from "../../support/held-answer.ts";
import { allocatedBytes } from "../../support/memory.ts";
import { chatCalls, textAction } from "../../support/opening.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "caller-poll";
const KB = 1024;
const CALLERS = 50;
/** Messages enough that reading or writing them takes much more than a connection. */
const LONG_PAGE = 400;
/** Kinds whose time the upstream names: what two readers get of them is the same to the letter. */
const KINDS = ["text", "paid", "sticker"] as const;
const EIGHT_FIELDS = ["type", "id", "timestamp", "author", "message", "amount", "color", "parts"];
/** The ways that a bootstrap may choose, in its order. */
const WAYS = (["WEB", "TVHTML5"] as const).flatMap((client) =>
  (["get_live_chat", "get_live_chat_replay"] as const).map((endpoint) => ({ client, endpoint })),
);

const idsOf = (messages: readonly SentMessage[]) => messages.map(({ id }) => id);

async function withChat(scenario: Partial<Scenario> = {}) {
  const relay = await startRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: KINDS, timeoutMs: 5, ...scenario });
  return { relay, chat, [Symbol.asyncDispose]: () => relay[Symbol.asyncDispose]() };
}

/** One poll that must succeed. */
async function polled({ url }: TestRelay, body: object): Promise<PollBody> {
  const answer = await post<PollBody>(url, "/v1/poll", body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.deepEqual(Object.keys(answer.body), ["token", "timeoutMs", "messages"]);
  return answer.body;
}

/** Polls on from a session until no token follows; all messages that came. */
async function readOn(relay: TestRelay, opened: SessionBody, details = false): Promise<SentMessage[]> {
  const messages: SentMessage[] = [];
  for (let token: string | null = opened.token; token !== null; ) {
    const batch: PollBody = await polled(relay, { ...pollOf(opened), token, details });
    messages.push(...batch.messages);
    assert.ok(messages.length < 10_000, "the chat does not end");
    token = batch.token;
  }
  return messages;
}

describe("the answer to a session", () => {
  it("holds everything that polling needs", async () => {
    await using room = await withChat({ timeoutMs: 4321 });
    const ids = room.chat.say(3);
    const { token, messages, ...rest } = await session(room.relay.url, {
      videoId: `https://youtu.be/${VIDEO}`,
    });
    const { credentials, urls } = room.relay.upstream;
    assert.deepEqual(rest, {
      videoId: VIDEO,
      chatType: "liveChatRenderer",
      client: "WEB",
      host: urls.main,
      endpoint: "get_live_chat",
      apiKey: credentials.apiKey,
      webVersion: credentials.clientVersion,
      timeoutMs: 4321,
    });
    assert.ok(token.length > 0);
    assert.deepEqual(idsOf(messages), ids);
    for (const message of messages) assert.deepEqual(Object.keys(message), EIGHT_FIELDS);
  });

  it("holds the messages of the page and of the proving answer, each once and in order", async () => {
    await using room = await withChat({ page: 6, overlap: 4 });
    const ids = room.chat.say(9);
    const { messages } = await session(room.relay.url, { videoId: VIDEO });
    assert.deepEqual(idsOf(messages), ids.slice(3));
  });

  it("has its messages in the order of the stream, even if the page shows them in another", async () => {
    await using room = await withChat();
    const later = (id: string, usec: number): JsonObject =>
      JSON.parse(JSON.stringify(textAction(id)).replace("1767225600000000", `${1767225600000000 + usec}`));
    room.chat.say([later("second", 2), later("fourth", 4), later("first", 1), later("third", 3)]);
    const { messages } = await session(room.relay.url, { videoId: VIDEO });
    await using viewer = await Stream.open(room.relay.url, { videoId: VIDEO });
    await viewer.untilMessages(4);
    assert.deepEqual(idsOf(messages), viewer.ids);
    assert.deepEqual(viewer.ids, ["first", "second", "third", "fourth"]);
  });

  it("omits the backlog only if includeInitial is false", async () => {
    await using room = await withChat();
    room.chat.say(3);
    for (const [includeInitial, count] of [
      [false, 0],
      [true, 3],
      [undefined, 3],
    ] as const) {
      const { messages } = await session(room.relay.url, { videoId: VIDEO, includeInitial });
      assert.equal(messages.length, count);
    }
  });

  it("suggests 1000 ms if the upstream names no wait, and so does a poll", async () => {
    await using room = await withChat({ timeoutMs: null });
    room.chat.say(1);
    const opened = await session(room.relay.url, { videoId: VIDEO });
    assert.equal(opened.timeoutMs, 1000);
    assert.equal((await polled(room.relay, pollOf(opened))).timeoutMs, 1000);
  });
});

describe("a caller's loop", () => {
  for (const kind of ["live", "replay"] as const) {
    for (const [place, way] of WAYS.entries()) {
      it(`reads a whole ${kind} chat through ${way.client} ${way.endpoint}`, async () => {
        await using room = await withChat({ kind, works: [way], pageSize: 7 });
        const ids = room.chat.say(20);
        const opened = await session(room.relay.url, { videoId: VIDEO });
        assert.deepEqual([opened.client, opened.endpoint], [way.client, way.endpoint]);
        assert.equal(opened.chatType, kind === "live" ? "liveChatRenderer" : "liveChatReplayRenderer");
        if (kind === "live") {
          ids.push(...room.chat.say(20));
          room.chat.end("reload-only");
        }
        const read = [...opened.messages, ...(await readOn(room.relay, opened))];
        assert.deepEqual(idsOf(read), ids);
        const used = chatCalls(room.relay).slice(place); // those before it failed
        assert.ok(
          used.every(({ client, kind: endpoint }) => client === way.client && endpoint === way.endpoint),
        );
      });
    }

    for (const details of [false, true]) {
      it(`gets exactly the stream's messages of a ${kind} chat, ${details ? "with" : "without"} details`, async () => {
        await using room = await withChat({ kind, tokens: "reusable" });
        room.chat.say(50);
        await using another = await startRelay({ upstream: room.relay.upstream });
        await using stream = await Stream.open(another.url, { videoId: VIDEO, backfill: 500, details });
        const opened = await session(room.relay.url, { videoId: VIDEO, details });
        if (kind === "live") {
          room.chat.say(50);
          room.chat.end("reload-only");
        }
        const read = [...opened.messages, ...(await readOn(room.relay, opened, details))];
        assert.equal((await stream.ended())?.event, "end");
        const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
        const unstored = ({ message }: (typeof stream.messages)[number]) => {
          if (!details) return message;
          const { storedAt, ...others } = message.details ?? {};
          assert.match(`${storedAt}`, isoTime);
          return { ...message, details: others };
        };
        assert.deepEqual(read, stream.messages.map(unstored));
        assert.equal(read.length, kind === "live" ? 100 : 50);
        assert.ok(read.every((message) => "details" in message === details));
      });
    }
  }
});

describe("the end of a chat", () => {
  for (const shape of END_SHAPES) {
    for (const lastWords of [false, true]) {
      it(`is token: null for a live chat that ends as ${shape}${lastWords ? " with its last words" : ""}`, async () => {
        await using room = await withChat();
        room.chat.say(2);
        const opened = await session(room.relay.url, { videoId: VIDEO });
        // An answer without any chat in it has no place for words.
        const said = shape === "no-contents" && lastWords ? [] : room.chat.say(3);
        room.chat.end(shape, { lastWords });
        assert.deepEqual(idsOf(await readOn(room.relay, opened)), said);
      });
    }

    it(`is token: null for a replay that ends as ${shape}`, async () => {
      await using room = await withChat({ kind: "replay", end: shape, pageSize: 2 });
      const ids = room.chat.say(5);
      const opened = await session(room.relay.url, { videoId: VIDEO });
      const read = [...opened.messages, ...(await readOn(room.relay, opened))];
      assert.deepEqual(idsOf(read), ids);
    });
  }

  it("can be in the first answer: the session then has a token whose poll answers null", async () => {
    await using room = await withChat({ kind: "replay" });
    const opened = await session(room.relay.url, { videoId: VIDEO });
    assert.deepEqual(opened.messages, []);
    assert.equal((await polled(room.relay, pollOf(opened))).token, null);
  });
});

describe("tokens", () => {
  it("are replaced by each poll, and a spent one is answered with 410 TOKEN_EXPIRED", async () => {
    await using room = await withChat();
    const opened = await session(room.relay.url, { videoId: VIDEO });
    const { token } = await polled(room.relay, pollOf(opened));
    assert.notEqual(token, opened.token);
    const spent = await post(room.relay.url, "/v1/poll", pollOf(opened));
    assertRefused(spent, 410, "TOKEN_EXPIRED", room.relay.upstream);
    await polled(room.relay, { ...pollOf(opened), token });
  });

  it("that are stale or invented are answered with 410 TOKEN_EXPIRED, and a new session works", async () => {
    await using room = await withChat();
    const opened = await session(room.relay.url, { videoId: VIDEO });
    room.chat.expireTokens();
    for (const token of [opened.token, "made-up", `${opened.token}x`]) {
      const answer = await post(room.relay.url, "/v1/poll", { ...pollOf(opened), token });
      assertRefused(answer, 410, "TOKEN_EXPIRED", room.relay.upstream);
    }
    await polled(room.relay, pollOf(await session(room.relay.url, { videoId: VIDEO })));
  });
});

describe("clients of a poll", () => {
  for (const [label, { host, name, pinnedVersion }] of Object.entries(CLIENTS)) {
    it(`${label}: its calls go to its host, in its version`, async () => {
      await using room = await withChat({ tokens: "reusable", works: [{}] });
      const opened = await session(room.relay.url, { videoId: VIDEO });
      await polled(room.relay, { ...pollOf(opened), client: label, webVersion: "2.99" });
      const call = chatCalls(room.relay).at(-1);
      assert.deepEqual(
        [call?.host, call?.client, call?.clientVersion],
        [host, name, pinnedVersion ?? "2.99"],
      );
    });
  }

  it("other than WEB ignore webVersion", async () => {
    await using room = await withChat({ tokens: "reusable", works: [{}] });
    const opened = await session(room.relay.url, { videoId: VIDEO });
    const odd: unknown[] = [
      undefined,
      null,
      5,
      "",
      "latest",
      [],
      {},
      { toString: 1, valueOf: 1 },
      "x".repeat(10_000),
    ];
    for (const webVersion of odd) {
      await polled(room.relay, { ...pollOf(opened), client: "TVHTML5", webVersion });
    }
    const versions = chatCalls(room.relay)
      .slice(1)
      .map(({ clientVersion }) => clientVersion);
    assert.deepEqual(new Set(versions), new Set([CLIENTS.TVHTML5.pinnedVersion]));
  });
});

it("identical concurrent polls are one upstream call, whose answer both callers get", async (t) => {
  await using room = await withChat();
  const opened = await session(room.relay.url, { videoId: VIDEO });
  room.chat.say([textAction("said-once")]);
  const before = chatCalls(room.relay).length;
  const come = countRequests(t, room.relay);
  const as = heldAnswer(() => eventually(3, come));
  room.relay.upstream.fault({ on: "get_live_chat", times: 1, as });
  const [one, other, detailed] = await Promise.all([
    polled(room.relay, pollOf(opened)),
    polled(room.relay, pollOf(opened)),
    polled(room.relay, { ...pollOf(opened), details: true }),
  ]);
  assert.deepEqual(idsOf(one.messages), ["said-once"]);
  assert.deepEqual(one, other);
  assert.deepEqual(
    [one, detailed].map(({ messages: [message] }) => "details" in (message ?? {})),
    [false, true],
  );
  assert.equal(chatCalls(room.relay).length, before + 1);
});

/** Callers whose chat calls are answered only when all of them have come. */
class Callers {
  readonly #relay: TestRelay;
  readonly #request: string;
  #due = 0;

  constructor(t: TestContext, relay: TestRelay, path: string, body: object) {
    this.#relay = relay;
    const text = JSON.stringify(body);
    const head = `POST ${path} HTTP/1.1\r\nContent-Type: application/json\r\nConnection: close`;
    this.#request = `${head}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
    const come = countRequests(t, relay);
    const as = heldAnswer(() => eventually(true, () => come() === this.#due));
    relay.upstream.fault({ on: "get_live_chat", times: Number.POSITIVE_INFINITY, as });
  }

  /** The length of the longest answer; no bytes are kept. */
  async ask(count: number): Promise<number> {
    this.#due += count;
    const lengths = Array.from({ length: count }, async () => {
      const socket = connect(Number(new URL(this.#relay.url).port), "127.0.0.1");
      socket.write(this.#request);
      let length = 0;
      for await (const bytes of socket) length += bytes.length;
      return length;
    });
    return Math.max(...(await Promise.all(lengths)));
  }

  /** The bytes that each further one of many allocates. */
  async eachAllocates(): Promise<number> {
    await this.ask(CALLERS); // compiles
    const alone = await allocatedBytes(() => this.ask(1));
    return ((await allocatedBytes(() => this.ask(CALLERS))) - alone) / (CALLERS - 1);
  }
}

describe("callers that ask for the same at the same time", { timeout: 120_000 }, () => {
  it("share the session, which is parsed, merged and written once", async (t) => {
    await using room = await withChat({ page: LONG_PAGE, overlap: LONG_PAGE });
    room.chat.say(LONG_PAGE);
    const callers = new Callers(t, room.relay, "/v1/sessions", { videoId: VIDEO, details: true });
    assert.ok((await callers.ask(1)) > 200 * KB);
    const each = await callers.eachAllocates();
    t.diagnostic(`${(each / KB).toFixed()} KB`);
    assert.ok(each < 150 * KB, `${each} bytes`);
  });

  it("share the batch of a poll, which is parsed and written once", async (t) => {
    await using room = await withChat({ tokens: "reusable" });
    const opened = await session(room.relay.url, { videoId: VIDEO });
    room.chat.say(LONG_PAGE);
    const callers = new Callers(t, room.relay, "/v1/poll", { ...pollOf(opened), details: true });
    assert.ok((await callers.ask(1)) > 200 * KB);
    const each = await callers.eachAllocates();
    t.diagnostic(`${(each / KB).toFixed()} KB`);
    assert.ok(each < 150 * KB, `${each} bytes`);
  });
});

it("sessions and polls open no room and store nothing", async () => {
  await using room = await withChat({ kind: "replay" });
  room.chat.say(30);
  await readOn(room.relay, await session(room.relay.url, { videoId: VIDEO }));
  await assertNothingKept(room.relay);
});
