/** The SDK's option `token`: which requests carry it, when it is asked for, and what a refusal means. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type ChatError,
  type ChatOptions,
  chat,
  history,
  merged,
  poll,
  probe,
} from "../../../client/index.ts";
import {
  type Answer,
  AnsweringServer,
  cuts,
  END,
  holds,
  init,
  messages,
  refuses,
  streams,
} from "../../support/answering-server.ts";

const FAST = { videoId: "v", backoff: { baseMs: 1 } };
const WHOLE = streams(init(0), messages(1, 3), END);
const REST = streams(init(2), messages(3, 3), END);
const SESSION = refuses(200, { token: "t", timeoutMs: 0, messages: [] });
const REFUSED = refuses(401, { code: "UNAUTHORIZED", message: "The token has expired." });

/** Gives t1, then t2, and so on; every second one later. */
function counting(): { token: () => string | Promise<string>; given: string[] } {
  const given: string[] = [];
  const token = () => {
    const text = `t${given.length + 1}`;
    given.push(text);
    return given.length % 2 ? text : Promise.resolve(text);
  };
  return { token, given };
}

/** What the server was sent, what the loop yielded, the failures that `retry` saw, and how the loop ended. */
async function follow(answers: Answer[], options: Partial<ChatOptions>) {
  await using server = await AnsweringServer.start(...answers);
  const failures: ChatError[] = [];
  const retry = (error: ChatError) => void failures.push(error);
  const cursors: number[] = [];
  let thrown: unknown;
  try {
    for await (const { cursor } of chat(server.url, { ...FAST, transport: "sse", retry, ...options }))
      cursors.push(cursor);
  } catch (error) {
    thrown = error;
  }
  await server.untilClosed();
  const sent = server.calls.map(({ headers }) => headers.authorization);
  return { sent, cursors, failures, thrown: thrown as ChatError | undefined, calls: server.calls };
}

describe("a token given to the SDK", () => {
  const requests: [
    what: string,
    answers: Answer[],
    read: (url: string, token: string) => Promise<unknown>,
  ][] = [
    [
      "the chat of a video",
      [WHOLE],
      (url, token) =>
        chat(url, { ...FAST, token })
          [Symbol.asyncIterator]()
          .next(),
    ],
    [
      "the chat of a channel",
      [refuses(404, {})],
      (url, token) => chat(url, { channel: "@c", token })[Symbol.asyncIterator]().next(),
    ],
    [
      "several chats",
      [refuses(404, {})],
      (url, token) =>
        merged(url, { videoIds: ["dQw4w9WgXcQ"], token })
          [Symbol.asyncIterator]()
          .next(),
    ],
    ["the history", [holds(1)], (url, token) => history(url, { ...FAST, token }).next()],
    ["a session", [refuses(404, {})], (url, token) => poll(url, { ...FAST, token }).next()],
    [
      "a poll",
      [SESSION, refuses(404, {})],
      (url, token) => poll(url, { ...FAST, minDelayMs: 0, token }).next(),
    ],
    ["a probe", [refuses(200, { rows: [] })], (url, token) => probe(url, { videoId: "v", token })],
  ];
  for (const [what, answers, read] of requests) {
    it(`is sent with the request for ${what}, in its header alone`, async () => {
      await using server = await AnsweringServer.start(...answers);
      await read(server.url, "secret-t").catch(() => {});
      assert.equal(server.calls.length, answers.length);
      for (const { path, headers, body } of server.calls) {
        assert.equal(headers.authorization, "Bearer secret-t");
        assert.ok(!`${path}${JSON.stringify(body)}`.includes("secret-t"), path);
      }
    });
  }

  it("goes before the Authorization among the headers, and an empty one does not", async () => {
    const headers = { Authorization: "Basic x" };
    const { sent } = await follow([WHOLE], { headers, token: "t" });
    const { sent: own } = await follow([WHOLE], { headers, token: () => "" });
    assert.deepEqual([sent, own], [["Bearer t"], ["Basic x"]]);
  });

  it("is asked for before each connection", async () => {
    const { token } = counting();
    const { sent, cursors } = await follow([cuts(init(0), messages(1, 2)), cuts(init(2)), REST], { token });
    assert.deepEqual(
      [sent, cursors],
      [
        ["Bearer t1", "Bearer t2", "Bearer t3"],
        [1, 2, 3],
      ],
    );
  });

  it("ends a stream as a cut does: retry is asked, and the next token after its wait", async () => {
    const ends =
      (...frames: string[]): Answer =>
      (response) =>
        response.writeHead(200, { "content-type": "text/event-stream" }).end(frames.join(""));
    const answers = [ends(init(0), messages(1, 2)), ends(init(2)), REST];
    for (const waitMs of [undefined, 2]) {
      const failures: [code: string, attempt: number][] = [];
      const retry = ({ code }: ChatError, attempt: number) => {
        failures.push([code, attempt]);
        return waitMs;
      };
      const { sent, cursors } = await follow(answers, { token: counting().token, retry });
      assert.deepEqual(
        [sent, cursors],
        [
          ["Bearer t1", "Bearer t2", "Bearer t3"],
          [1, 2, 3],
        ],
      );
      assert.deepEqual(failures, [
        ["NETWORK", 0],
        ["NETWORK", 1],
      ]);
    }
    const { cursors, thrown } = await follow(answers, { token: "t", retry: () => false });
    assert.deepEqual([cursors, thrown?.message], [[1, 2], "The connection was cut."]);
  });

  it("is asked for once more after a 401, which then does not count as a failure", async () => {
    const { token } = counting();
    const answers = [REFUSED, cuts(init(0), messages(1, 2)), REFUSED, REST];
    const { sent, cursors, failures } = await follow(answers, { token });
    assert.deepEqual(sent, ["Bearer t1", "Bearer t2", "Bearer t3", "Bearer t4"]);
    assert.deepEqual([cursors, failures.map(({ code }) => code)], [[1, 2, 3], ["NETWORK"]]);
  });

  it("is refused for good by a second 401 in a row", async () => {
    const { token, given } = counting();
    const { sent, thrown } = await follow([REFUSED], { token });
    assert.deepEqual(
      [sent, given],
      [
        ["Bearer t1", "Bearer t2"],
        ["t1", "t2"],
      ],
    );
    const { code, status, message, isFinal } = thrown ?? assert.fail("no error");
    assert.deepEqual([code, status, message, isFinal], ["UNAUTHORIZED", 401, "The token has expired.", true]);
  });

  it("is refused for good by one 401 if it is a text: asked again, it would be the same", async () => {
    const { sent, thrown } = await follow([REFUSED], { token: "t" });
    assert.deepEqual([sent, thrown?.code], [["Bearer t"], "UNAUTHORIZED"]);
  });

  it("that is not valid yet is tried again, as the clock of its issuer may be ahead", async () => {
    const early = refuses(401, { code: "UNAUTHORIZED", message: "The token is not valid yet." });
    for (const token of ["t", () => "t"]) {
      const { cursors, failures, thrown } = await follow([early, early, early, WHOLE], { token });
      assert.deepEqual([cursors, thrown], [[1, 2, 3], undefined]);
      assert.ok(failures.length > 0 && failures.every(({ isFinal }) => !isFinal));
    }
  });

  it("is refused for good by a 403, and not asked for again", async () => {
    const { token, given } = counting();
    const forbidden = refuses(403, { code: "FORBIDDEN", message: "The token has no right to it." });
    const { thrown } = await follow([forbidden], { token });
    assert.deepEqual([given, thrown?.status, thrown?.isFinal], [["t1"], 403, true]);
  });

  it("is asked for again for the history and for polls, too", async () => {
    await using pages = await AnsweringServer.start(REFUSED, holds(1));
    const { value } = await history(pages.url, { ...FAST, token: counting().token }).next();
    assert.equal(value?.cursor, 1);
    const posted = refuses(200, { token: null, timeoutMs: 0, messages: [{ id: "a", type: "chat" }] });
    await using polls = await AnsweringServer.start(SESSION, REFUSED, posted);
    const polled = poll(polls.url, { ...FAST, minDelayMs: 0, token: counting().token });
    assert.equal((await polled.next()).value?.id, "a");
    const [, first, second] = polls.calls;
    assert.deepEqual([first?.body, first?.path], [second?.body, "/v1/poll"]);
    const sent = polls.calls.map(({ headers }) => headers.authorization);
    assert.deepEqual(sent, ["Bearer t1", "Bearer t2", "Bearer t3"]);
  });
});

describe("the function that gives a token to the SDK", () => {
  for (const [what, fail] of [
    ["throws", () => assert.fail("no session")],
    ["rejects", () => Promise.reject(new Error("no session"))],
  ] as const) {
    it(`is asked again, as after a failed connection, if it ${what}`, async () => {
      let asked = 0;
      const token = () => (++asked < 3 ? fail() : "t");
      const { sent, cursors, failures } = await follow([WHOLE], { token });
      assert.deepEqual([asked, sent, cursors], [3, ["Bearer t"], [1, 2, 3]]);
      const [{ code, message, cause } = assert.fail("no failure")] = failures;
      assert.deepEqual([code, message], ["NETWORK", "The token cannot be read."]);
      assert.match(`${cause}`, /no session/);
    });
  }

  it("may take no longer than a connection may be silent", async () => {
    let asked = 0;
    const token = () => (asked++ ? "t" : new Promise<string>(() => {}));
    const { cursors, failures } = await follow([WHOLE], { token, idleMs: 500 });
    assert.deepEqual([cursors, failures.map(({ message }) => message)], [[1, 2, 3], ["No byte for 500 ms."]]);
  });

  it("is not waited for after an abort", async () => {
    const stop = new AbortController();
    const token = () => {
      setImmediate(() => stop.abort("enough"));
      return new Promise<string>(() => {});
    };
    const { sent, thrown } = await follow([WHOLE], { token, signal: stop.signal });
    assert.deepEqual([sent, thrown], [[], "enough"]);
  });
});
