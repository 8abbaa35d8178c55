/** `chat()`: what the loop and the listeners are given, in which order, and how it ends. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { type Chat, ChatError, chat, type Message } from "../../../client/index.ts";
import {
  AnsweringServer,
  cuts,
  END,
  id,
  init,
  message,
  messages,
  refuses,
  streams,
} from "../../support/answering-server.ts";

const FAST = { videoId: "v", backoff: { baseMs: 1 } };

/** Everything that happens in the room but messages and states. */
function eventsOf(room: Chat): unknown[][] {
  const events: unknown[][] = [];
  for (const event of ["init", "gap", "end", "error"] as const)
    room.on(event, (value) => events.push([event, value]));
  return events;
}

function statesOf(room: Chat): string[] {
  const states: string[] = [];
  room.on("state", (state) => states.push(state));
  return states;
}

async function cursorsOf(room: AsyncIterable<{ cursor: number }>, max = Number.POSITIVE_INFINITY) {
  const cursors: number[] = [];
  for await (const { cursor } of room) if (cursors.push(cursor) >= max) break;
  return cursors;
}

/** Resolves with the error that is reported as uncaught while the work is done. */
async function uncaughtOf(work: () => unknown): Promise<unknown> {
  const own = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  const uncaught = once(process, "uncaughtException");
  try {
    await work();
    return (await uncaught)[0];
  } finally {
    for (const listener of own) process.on("uncaughtException", listener);
  }
}

describe("a chat of the SDK", () => {
  it("asks for nothing until it is iterated or given a message listener", async () => {
    await using server = await AnsweringServer.start(streams(init(0), END));
    const room = chat(server.url, FAST);
    const states = statesOf(room);
    room.close();
    assert.deepEqual(await cursorsOf(room), []);
    assert.deepEqual([server.calls.length, states, room.end], [0, ["closed"], undefined]);
  });

  it("yields messages with their cursors, and ends when the chat ends", async () => {
    await using server = await AnsweringServer.start(streams(init(4), messages(5, 7), END));
    const room = chat(`${server.url}/prefix/`, { ...FAST, cursor: 4, backfill: 3, details: true });
    const states = statesOf(room);
    const events = eventsOf(room);
    const received: Message[] = [];
    for await (const one of room) {
      received.push(one);
      assert.equal(room.cursor, one.cursor);
    }
    assert.deepEqual(received[0], { cursor: 5, type: "chat", id: "5", message: "x" });
    assert.equal(received.length, 3);
    assert.deepEqual(states, ["connecting", "open", "closed"]);
    assert.deepEqual(room.end, { reason: "no more continuations" });
    assert.deepEqual(events, [
      ["init", { videoId: "v", chatType: "liveChatRenderer", cursor: 4 }],
      ["end", room.end],
    ]);
    assert.deepEqual(
      server.calls.map(({ path, lastEventId }) => [path, lastEventId]),
      [["/prefix/v1/stream?videoId=v&backfill=3&details=true", "4"]],
    );
  });

  it("throws TypeError at once if its arguments make no sense", () => {
    for (const url of [
      ...["", "no url", "127.0.0.1:8080", "localhost:8080", "ftp://relay", "http://user:secret@relay"],
      ...["http://relay/prefix?key=secret", "http://relay/#top"],
    ])
      assert.throws(
        () => chat(url, { videoId: "v" }),
        /^TypeError: url: must be like http:\/\/host\/path\.$/,
        url,
      );
    for (const options of [{ videoId: "" }, {}, { videoID: "v" }, undefined])
      assert.throws(
        () => Reflect.apply(chat, undefined, ["http://relay", options]),
        /^TypeError: videoId or channel: is missing or invalid\.$/,
      );
    for (const cursor of ["abc", "5 or so", -4, 1.5, Number.NaN, 1e21, "dQw4w9WgXcQ.5"])
      assert.throws(() => Reflect.apply(chat, undefined, ["http://relay", { videoId: "v", cursor }]), {
        name: "TypeError",
        message: `cursor: ${cursor} is invalid.`,
      });
  });

  it("gives listeners and the loop the same events, in the order of the stream", async () => {
    const frames = [init(0), message(1), message(2, { type: "gap", details: { gap: 1 } }), message(3), END];
    await using server = await AnsweringServer.start(streams(...frames));
    const room = chat(server.url, FAST);
    const events = eventsOf(room);
    room.on("message", ({ cursor }) => events.push(["message", cursor]));
    const off = room.on("message", () => assert.fail("it was taken off"));
    off();
    await new Promise((resolve) => room.on("end", resolve));
    assert.deepEqual(events.slice(1, -1), [
      ["message", 1],
      ["gap", { after: 1, cursor: 2, details: { gap: 1 } }],
      ["message", 2],
      ["message", 3],
    ]);
  });

  it("yields the chosen types and groups, and gaps", async () => {
    const types = ["chat", "superchat", "jewels", "poll", "gap", "deleted", "brand_new"];
    const frames = types.map((type, index) => message(index + 1, { type }));
    await using server = await AnsweringServer.start(streams(init(0), ...frames, END));
    const typesOf = async (...chosen: string[]) => {
      const given: string[] = [];
      for await (const { type } of chat(server.url, { ...FAST, types: chosen as "chat"[] })) given.push(type);
      return given;
    };
    assert.deepEqual(await typesOf("paid", "poll", "nothing"), ["superchat", "jewels", "poll", "gap"]);
    assert.deepEqual(await typesOf("gap"), ["gap"]);
    assert.deepEqual(await typesOf("nothing", "toString"), types);
    assert.deepEqual(await typesOf(), types);
  });

  it("moves its cursor past messages that were not chosen, in the order of the stream", async () => {
    const frames = ["chat", "superchat", "chat", "chat", "superchat", "chat"].map((type, index) =>
      message(index + 1, { type }),
    );
    await using server = await AnsweringServer.start(
      cuts(init(0), ...frames),
      streams(init(6), message(7), message(8), END),
    );
    const room = chat(server.url, { ...FAST, types: ["superchat"] });
    const places: unknown[] = [room.cursor];
    room.on("init", () => places.push(["init", room.cursor]));
    room.on("end", () => places.push(["end", room.cursor]));
    const loop = room[Symbol.asyncIterator]();
    const next = async () => places.push([(await loop.next()).value?.cursor, room.cursor]);
    await next();
    await server.changes.until(() => server.calls.length === 2, "the second call"); // all is in the queue
    places.push(room.cursor);
    await next();
    await next();
    assert.deepEqual(places, [
      undefined,
      ["init", 0],
      [2, 2],
      2,
      [5, 5],
      ["init", 6],
      ["end", 8],
      [undefined, 8],
    ]);
    assert.equal(server.calls[1]?.lastEventId, "6");
  });

  it("moves its cursor past messages that were not chosen, also with message listeners", async () => {
    await using server = await AnsweringServer.start(
      streams(init(3), message(4), message(5, { type: "superchat" }), message(6), message(7), END),
    );
    const room = chat(server.url, { ...FAST, types: ["superchat"] });
    const places: unknown[] = [];
    for (const event of ["init", "message", "end"] as const)
      room.on(event, () => places.push([event, room.cursor]));
    await new Promise((resolve) => room.on("end", resolve));
    assert.deepEqual(places, [
      ["init", 3],
      ["message", 5],
      ["end", 7],
    ]);
  });

  it("asks the service for its types, and moves its cursor by ids without data", async () => {
    await using server = await AnsweringServer.start(
      cuts(init(0), message(2, { type: "superchat" }), id(7), id(5)),
      streams(init(7), id(9), message(12, { type: "gap" }), id(15), END),
    );
    const room = chat(server.url, { ...FAST, types: ["paid", "raid"] });
    const places: unknown[] = [];
    for (const event of ["init", "message", "gap", "end"] as const)
      room.on(event, (value) =>
        places.push([event, room.cursor, ...("after" in value ? [value.after] : [])]),
      );
    await cursorsOf(room);
    assert.deepEqual(places, [
      ["init", 0],
      ["message", 2],
      ["init", 7],
      ["gap", 9, 11],
      ["message", 12],
      ["end", 15],
    ]);
    assert.deepEqual(
      server.calls.map(({ path, lastEventId }) => [path, lastEventId]),
      [
        ["/v1/stream?videoId=v&types=paid%2Craid", undefined],
        ["/v1/stream?videoId=v&types=paid%2Craid", "7"],
      ],
    );
  });

  it("fires gap before the first message behind it, if the service did not honour its cursor", async () => {
    await using server = await AnsweringServer.start(
      cuts(init(100), messages(101, 102)),
      cuts(init(50), messages(51, 52)),
      streams(init(52), messages(53, 53), END),
    );
    const room = chat(server.url, { ...FAST, cursor: 90 });
    const events = eventsOf(room);
    for await (const { cursor } of room) events.push(["message", cursor]);
    assert.deepEqual(
      events.filter(([event]) => event !== "init").map(([event, value]) => [event, value]),
      [
        ["gap", { after: 90, cursor: 100 }],
        ["message", 101],
        ["message", 102],
        ["gap", { after: 102, cursor: 50 }],
        ["message", 51],
        ["message", 52],
        ["message", 53],
        ["end", { reason: "no more continuations" }],
      ],
    );
  });

  it("reports no gap if it starts from cursor 0", async () => {
    await using server = await AnsweringServer.start(streams(init(100), messages(101, 101), END));
    const room = chat(server.url, { ...FAST, cursor: 0 });
    room.on("gap", () => assert.fail("a gap"));
    assert.deepEqual(await cursorsOf(room), [101]);
    assert.equal(server.calls[0]?.lastEventId, "0");
  });

  it("drops messages that it has already had", async () => {
    await using server = await AnsweringServer.start(
      streams(init(0), messages(1, 3), messages(2, 4), message(4), messages(5, 5), END),
    );
    assert.deepEqual(await cursorsOf(chat(server.url, FAST)), [1, 2, 3, 4, 5]);
  });

  it("closes the connection and drops queued messages when the loop is left", async () => {
    await using server = await AnsweringServer.start(streams(init(0), messages(1, 9)));
    const room = chat(server.url, FAST);
    assert.deepEqual(await cursorsOf(room, 2), [1, 2]);
    assert.deepEqual([room.state, room.cursor, await cursorsOf(room)], ["closed", 2, []]);
    await server.untilClosed();
  });

  it("ends a waiting loop when it is closed", async () => {
    await using server = await AnsweringServer.start(streams(init(0), message(1)));
    const room = chat(server.url, FAST);
    room.on("message", () => setImmediate(() => room.close()));
    assert.deepEqual(await cursorsOf(room), [1]);
    await server.untilClosed();
  });

  it("throws the signal's reason, and passes it to no listener", async () => {
    await using server = await AnsweringServer.start(streams(init(0), message(1)));
    const abort = new AbortController();
    const room = chat(server.url, { ...FAST, signal: abort.signal });
    const events = eventsOf(room);
    room.on("message", () => setImmediate(() => abort.abort(new RangeError("enough"))));
    await assert.rejects(cursorsOf(room), new RangeError("enough"));
    assert.deepEqual([room.state, events.length], ["closed", 1]);
    await assert.rejects(
      cursorsOf(chat(server.url, { ...FAST, signal: abort.signal })),
      new RangeError("enough"),
    );
    assert.equal(server.calls.length, 1);
    await server.untilClosed();
  });

  it("throws when the service refuses, and at an error frame", async () => {
    const failed = 'event: error\ndata: {"code":"UPSTREAM_ERROR","message":"gone"}\n\n';
    await using server = await AnsweringServer.start(
      refuses(404, { code: "NO_LIVE_CHAT", message: "none" }, { "retry-after": "30" }),
      refuses(403, "<h1>go away</h1>"),
      streams(init(0), message(1), failed),
    );
    for (const expected of [
      { code: "NO_LIVE_CHAT", message: "none", status: 404, retryAfterMs: 30_000 },
      { code: "HTTP", message: "The answer is 403.", status: 403 },
      { code: "UPSTREAM_ERROR", message: "gone", name: "ChatError" },
    ]) {
      const room = chat(server.url, FAST);
      const events = eventsOf(room);
      const error = await cursorsOf(room).catch((reason: unknown) => reason);
      assert.ok(error instanceof ChatError);
      assert.partialDeepStrictEqual({ ...error, message: error.message }, expected);
      assert.deepEqual([events.at(-1), room.state], [["error", error], "closed"]);
      assert.equal("status" in error, "status" in expected);
    }
  });

  it("reports an error as uncaught if nobody listens to it or awaits it", async () => {
    await using server = await AnsweringServer.start(
      refuses(400, { code: "INVALID_VIDEO_ID", message: "no" }),
    );
    const error = await uncaughtOf(() => chat(server.url, FAST).on("message", () => {}));
    assert.ok(error instanceof ChatError && error.code === "INVALID_VIDEO_ID");
    const room = chat(server.url, FAST);
    room.on("message", () => {});
    await new Promise((resolve) => room.on("error", resolve));
  });

  it("continues if a listener throws, and reports the error as uncaught", async () => {
    await using server = await AnsweringServer.start(streams(init(0), messages(1, 2), END));
    const room = chat(server.url, FAST);
    const broken = new Error("broken listener");
    room.on("init", () => {
      throw broken;
    });
    const error = await uncaughtOf(async () => assert.deepEqual(await cursorsOf(room), [1, 2]));
    assert.equal(error, broken);
  });
});
