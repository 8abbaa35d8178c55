/** What a chat of the SDK does after each kind of failure, and when. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChatError, type ChatOptions, chat } from "../../../client/index.ts";
import { Retries } from "../../../client/retries.ts";
import { type Clock, systemClock } from "../../../client/sdk-clock.ts";
import {
  AnsweringFetch,
  busy,
  silent,
  streamed,
  type Answer as VirtualAnswer,
} from "../../support/answering-fetch.ts";
import {
  type Answer,
  AnsweringServer,
  cuts,
  END,
  init,
  message,
  messages,
  refuses,
  streams,
} from "../../support/answering-server.ts";
import { countedClock } from "../../support/counted-clock.ts";
import { PATIENCE_MS } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const FAST = { videoId: "v", backoff: { baseMs: 1 } };
const WHOLE = streams(init(0), messages(1, 3), END);

/** What the loop was given, with each failure that was asked about. */
async function follow(url: string, options: Partial<ChatOptions> = {}, clock: Clock = systemClock) {
  const failures: ChatError[] = [];
  const retry = (error: ChatError) => void failures.push(error);
  const cursors: number[] = [];
  for await (const { cursor } of chat(url, { ...FAST, retry, ...options }, clock)) cursors.push(cursor);
  return { cursors, failures, codes: failures.map(({ code, status }) => [code, status]) };
}

describe("a chat of the SDK that fails for a while", () => {
  const proxyPage = "<h1>Bad gateway</h1>";
  const transient: [what: string, answer: Answer, code: string, status?: number][] = [
    ["a connection that is cut before the answer", (response) => response.socket?.destroy(), "NETWORK"],
    ["a stream that is cut", cuts(init(0)), "NETWORK"],
    [
      "a stream that ends without an end",
      (response, call) => {
        streams(init(0))(response, call);
        response.end();
      },
      "NETWORK",
    ],
    ["a frame that cannot be read", streams(init(0), "id: 1\ndata: {\n\n"), "NETWORK"],
    ...["init", "message", "end", "error"].flatMap((event) =>
      ["null", "5", '"text"', "[]", "{}"].map((data): [string, Answer, string] => [
        `a frame ${event} whose data are ${data}`,
        streams(...(event === "init" ? [] : [init(0)]), `id: 1\nevent: ${event}\ndata: ${data}\n\n`),
        "NETWORK",
      ]),
    ),
    ...["x", "", "-1", "1.5", "99999999999999999999"].map((id): [string, Answer, string] => [
      `a message whose id is ${JSON.stringify(id)}`,
      streams(init(0), `id: ${id}\nevent: message\ndata: {"type":"chat"}\n\n`),
      "NETWORK",
    ]),
    [
      "a line that does not end",
      (response, call) => {
        streams(init(0), `data: ${"x".repeat(17 * 2 ** 20)}`)(response, call);
      },
      "NETWORK",
    ],
    [
      "a 200 that is no event stream, and does not end",
      (response) => {
        response.writeHead(200, { "content-type": "text/html" }).write(proxyPage);
      },
      "HTTP",
      200,
    ],
    ["a 204", refuses(204, ""), "HTTP", 204],
    ["408", refuses(408, { code: "REQUEST_TIMEOUT", message: "m" }), "REQUEST_TIMEOUT", 408],
    ["429", refuses(429, { code: "RATE_LIMITED", message: "m" }), "RATE_LIMITED", 429],
    ["a proxy's 502", refuses(502, proxyPage), "HTTP", 502],
    ["503", refuses(503, { code: "CAPACITY", message: "m" }), "CAPACITY", 503],
    [
      "an error without an end",
      (response) => {
        response.writeHead(500);
        response.write("x".repeat(100_000));
      },
      "HTTP",
      500,
    ],
  ];
  for (const [what, answer, code, status] of transient) {
    it(`reconnects after ${what}`, async () => {
      await using server = await AnsweringServer.start(answer, WHOLE);
      const { cursors, codes } = await follow(server.url);
      assert.deepEqual([cursors, codes], [[1, 2, 3], [[code, status]]]);
      await server.untilClosed();
    });
  }

  for (const [what, isCut] of [
    ["is cut", true],
    ["stalls", false],
  ] as const) {
    it(`gives up after a refusal whose JSON ${what}`, async () => {
      // Every call gets it: on a busy machine, the first may be later than `idleMs`.
      await using server = await AnsweringServer.start((response) => {
        const head = response.writeHead(404, { "content-type": "application/json" });
        head.write('{"code":', () => isCut && response.destroy());
      });
      const options = { idleMs: 100, signal: AbortSignal.timeout(PATIENCE_MS) };
      await assert.rejects(follow(server.url, options), { code: "HTTP", status: 404 });
      await server.untilClosed();
    });
  }

  it("takes no cursor without a message that later ones could not pass", async () => {
    const far = "id: 99999999999999999999\n\n";
    await using server = await AnsweringServer.start(streams(init(0), message(1), far, message(2), END));
    assert.deepEqual((await follow(server.url)).cursors, [1, 2]);
  });

  it("tries again even if nobody listens", async () => {
    const server = await AnsweringServer.start(WHOLE);
    const { url } = server;
    await server[Symbol.asyncDispose]();
    const abort = new AbortController();
    const retry = ({ code }: ChatError, attempt: number) => {
      if (attempt === 3) abort.abort(code);
      return 1;
    };
    await assert.rejects(follow(url, { retry, signal: abort.signal }), (reason) => reason === "NETWORK");
  });

  it("sends Last-Event-ID and yields each message once, however often the connection is cut", async () => {
    await using server = await AnsweringServer.start(
      cuts(init(10), messages(11, 13)),
      cuts(init(13)),
      cuts(init(13), messages(12, 15), message(14)),
      streams(init(15), messages(16, 17), END),
    );
    const { cursors } = await follow(server.url);
    assert.deepEqual(cursors, [11, 12, 13, 14, 15, 16, 17]);
    assert.deepEqual(
      server.calls.map(({ lastEventId }) => lastEventId),
      [undefined, "13", "13", "15"],
    );
  });

  it("resumes after its init if no message has come yet", async () => {
    await using server = await AnsweringServer.start(cuts(init(10)), streams(init(10), END));
    const room = chat(server.url, FAST);
    room.on("gap", () => assert.fail("a gap"));
    for await (const _ of room) assert.fail("a message");
    assert.equal(server.calls[1]?.lastEventId, "10");
  });

  it("calls retry at every failure, and does what it returns", async () => {
    const refusal = refuses(404, { code: "NO_LIVE_CHAT", message: "none" });
    await using server = await AnsweringServer.start(
      refusal,
      refusal,
      cuts(init(0), message(1)),
      refuses(503, ""),
    );
    const asked: [string, number][] = [];
    const retry = ({ code }: ChatError, attempt: number) => {
      asked.push([code, attempt]);
      return asked.length > 3 ? false : 1;
    };
    await assert.rejects(follow(server.url, { retry }), { code: "HTTP", status: 503 });
    assert.deepEqual(asked, [
      ["NO_LIVE_CHAT", 0],
      ["NO_LIVE_CHAT", 1],
      ["NETWORK", 0],
      ["HTTP", 1],
    ]);
  });

  it("shows its states", async () => {
    await using server = await AnsweringServer.start(
      refuses(503, ""),
      cuts(init(0)),
      refuses(503, ""),
      WHOLE,
    );
    const room = chat(server.url, FAST);
    const states: string[] = [];
    room.on("state", (state) => states.push(state));
    for await (const _ of room);
    assert.deepEqual(states, ["connecting", "open", "reconnecting", "open", "closed"]);
  });

  it("ends a wait at once when it is closed or aborted", async () => {
    await using server = await AnsweringServer.start(refuses(503, "", { "retry-after": "60" }));
    const abort = new AbortController();
    const room = chat(server.url, { ...FAST, signal: abort.signal });
    room.on("message", () => {});
    const looping = room[Symbol.asyncIterator]().next();
    await server.changes.until(() => server.calls.length === 1, "a call");
    abort.abort("enough");
    await assert.rejects(looping, (reason) => reason === "enough");
  });
});

describe("a chat of the SDK, in virtual time", () => {
  const RETRY_MS = 2250; // three quarters of 3 s: the chance is a half

  /** Follows the answers for this long, and at their default waits. */
  async function play(
    forMs: number,
    answersBy: (clock: FakeClock) => VirtualAnswer[],
    options: Partial<ChatOptions> = {},
  ) {
    const clock = new FakeClock();
    const { fetch, calls } = new AnsweringFetch(clock, ...answersBy(clock), streamed(clock, init(0), END));
    const following = follow("http://relay", { backoff: {}, fetch, ...options }, clock);
    await clock.advance(forMs);
    return { ...(await following), calls };
  }

  it("closes a connection that sends no byte for 45 s, whether or not it has opened", async () => {
    const { calls, failures } = await play(100_000, (clock) => [silent, streamed(clock, init(0), 90_000)]);
    assert.deepEqual(calls, [0, 45_000 + RETRY_MS, 2 * (45_000 + RETRY_MS)]);
    assert.deepEqual(
      failures.map(({ code, message }) => [code, message]),
      Array(2).fill(["NETWORK", "No byte for 45000 ms."]),
    );
  });

  it("keeps a connection that sends only keepalives", async () => {
    const keepalives = Array<(string | number)[]>(10).fill([44_999, ": keepalive\n\n"]).flat();
    const { calls, codes } = await play(500_000, (clock) => [streamed(clock, ...keepalives, END)]);
    assert.deepEqual([calls, codes], [[0], []]);
  });

  for (const [openMs, thirdAttempt] of [
    [4999, 2],
    [5000, 0],
  ] as const) {
    it(`counts a stream that is open for ${openMs} ms and sends nothing as attempt ${thirdAttempt}`, async () => {
      const attempts: number[] = [];
      await play(30_000, (clock) => [busy(), streamed(clock, init(0)), streamed(clock, init(0), openMs)], {
        retry: (_, attempt) => void attempts.push(attempt),
      });
      assert.deepEqual(attempts, [0, 1, thirdAttempt]);
    });
  }

  it("never reconnects before Retry-After, in seconds or as a date, whatever retry returns", async () => {
    const asked: unknown[] = [];
    const { calls } = await play(
      100_000,
      (clock) => [busy("7"), () => busy(new Date(clock.now() + 60_000).toUTCString())()],
      { retry: ({ retryAfterMs }) => asked.push(retryAfterMs) * 0 },
    );
    assert.deepEqual(
      [calls, asked],
      [
        [0, 7000, 67_000],
        [7000, 60_000],
      ],
    );
  });

  for (const [what, header, expected] of [
    ["0 for no wait", "0", 0],
    ["0 for a date in the past", "Thu, 01 Jan 1970 00:00:00 GMT", 0],
    ["nothing for neither seconds nor a date", "soon", undefined],
    ["nothing for an empty header", "", undefined],
    ["nothing without a header", undefined, undefined],
  ] as const)
    it(`reports ${what} of a Retry-After`, async () => {
      const errors: ChatError[] = [];
      await play(1, () => [busy(header)], { retry: (error) => errors.push(error) * 0 });
      assert.equal(errors[0]?.retryAfterMs, expected);
      assert.equal("retryAfterMs" in (errors[0] ?? {}), expected !== undefined);
    });

  it("waits as long as the stream asks, unless it has a base of its own", async () => {
    const cut = (clock: FakeClock) => [streamed(clock, "retry: 100\n\n", init(0))];
    assert.deepEqual((await play(1000, cut)).calls, [0, 75]);
    assert.deepEqual((await play(1000, cut, { backoff: { baseMs: 40 } })).calls, [0, 30]);
  });

  it("asks again as soon after the end of a token as after a cut, or when retry says", async () => {
    const ended = (clock: FakeClock) => [streamed(clock, init(0), 600_000)];
    const keeps = { token: "t", idleMs: 700_000 };
    assert.deepEqual((await play(700_000, ended, keeps)).calls, [0, 600_000 + RETRY_MS]);
    assert.deepEqual((await play(700_000, ended, { ...keeps, retry: () => 50 })).calls, [0, 600_050]);
  });

  it("leaves no wait if a listener closes it when the connection is lost", async () => {
    const fake = new FakeClock();
    const clock = countedClock(fake);
    const { fetch } = new AnsweringFetch(fake, streamed(fake, init(0)));
    const room = chat("http://relay", { videoId: "v", fetch }, clock);
    room.on("message", () => {});
    room.on("state", (state) => state === "reconnecting" && room.close());
    await fake.advance(10);
    assert.deepEqual([room.state, clock.pending(RETRY_MS)], ["closed", 0]);
  });
});

describe("the waits between attempts", () => {
  const failure = new ChatError("NETWORK", "m");
  const waitsOf = (retries: Retries, count: number) =>
    Array.from({ length: count }, () => retries.fail(failure));

  it("are between half and all of base × 2^n, at most maxMs, and start over after a success", () => {
    for (const [backoff, baseMs, maxMs] of [
      [{}, 3000, 30_000],
      [{ baseMs: 10, maxMs: 50 }, 10, 50],
    ] as const) {
      const retries = new Retries({ backoff }, systemClock);
      for (let round = 0; round < 50; round++) {
        for (const [n, wait] of waitsOf(retries, 6).entries()) {
          const full = Math.min(maxMs, baseMs * 2 ** n);
          assert.ok(wait >= full / 2 && wait <= full, `wait ${n}: ${wait} of ${full}`);
        }
        retries.succeed();
      }
    }
  });

  it("stay finite after thousands of failures, and if retry returns no number", () => {
    const retries = new Retries({ retry: () => Number.NaN, backoff: { baseMs: 0 } }, systemClock);
    assert.deepEqual(new Set(waitsOf(retries, 2000)), new Set([0]));
  });

  it("last as long as requested, and leave no timer if they are cut short", async () => {
    const abort = new AbortController();
    const longest = systemClock.sleep(2 ** 40, abort.signal);
    // A wait too long for a timer would be over after 1 ms, before one of 1 ms that begins later.
    await Promise.race([longest.then(() => assert.fail("it did not wait")), systemClock.sleep(1)]);
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const before = timers(); // no timer of another test can be over until the end of this turn
    abort.abort("enough");
    await assert.rejects(longest, (reason) => reason === "enough");
    assert.equal(timers(), before - 1);
  });
});
