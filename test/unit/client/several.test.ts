/** `chat()` of a channel, and `merged()`: streams of several chats, and how each of them resumes. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { type ChatError, chat, merged, type OfVideo } from "../../../client/index.ts";
import {
  AnsweringServer,
  began,
  cuts,
  frame,
  inChannel,
  refuses,
  streams,
} from "../../support/answering-server.ts";

const [A, B, C] = ["video-aaaaa", "video-bbbbb", "video-ccccc"] as const;
const FAST = { backoff: { baseMs: 1 } };
const CHANNEL = { ...FAST, channel: "@somebody" };
const MERGED = { ...FAST, videoIds: [A, B] };

const said = (videoId: string, id: string, more: object = {}) =>
  frame("message", { videoId, type: "chat", id: `said ${id}`, message: "x", ...more }, id);
const over = (videoId: string) => frame("end", { videoId, reason: "no more continuations" });
const failed = (videoId: string, code: string) => frame("error", { videoId, code, message: "m" });

const news = (state: string, videoId?: string) => frame("channel", { channel: "@somebody", state, videoId });
/** On a merged connection: after this message, the cursors are these. */
const inMerged = (videoId: string, ...cursors: (number | undefined)[]) => said(videoId, vector(...cursors));
const vector = (...cursors: (number | undefined)[]) =>
  cursors.map((cursor) => cursor?.toString(36) ?? "_").join(".");

/** The messages up to one of them, in short. */
async function placesOf(room: AsyncIterable<OfVideo<{ cursor: number }>>, max = Number.POSITIVE_INFINITY) {
  const places: string[] = [];
  for await (const { videoId, cursor } of room) if (places.push(`${videoId}.${cursor}`) >= max) break;
  return places;
}

const callsOf = ({ calls }: AnsweringServer) =>
  calls.map(({ path, lastEventId }) => [decodeURIComponent(path), lastEventId]);

describe("the chat of a channel", () => {
  it("yields the chats of its streams with the channel's events, and does not end with one of them", async () => {
    await using server = await AnsweringServer.start(
      streams(
        ...[news("live", A), began(A, 4), inChannel(A, 5, 6)],
        ...[news("waiting"), news("upcoming", B), began(B, 9), inChannel(B, 10)],
      ),
    );
    const room = chat(server.url, { ...CHANNEL, backfill: 3, details: true });
    const events: unknown[] = [];
    room.on("channel", ({ channel, state, videoId }) => events.push([channel, state, videoId, room.cursor]));
    room.on("init", ({ videoId, cursor }) => events.push([videoId, cursor, room.cursor]));
    for await (const { videoId, cursor, id } of room) {
      events.push([videoId, cursor, id, room.cursor]);
      if (cursor === 10) break;
    }
    assert.deepEqual(events, [
      ["@somebody", "live", A, undefined],
      [A, 4, `${A}.4`],
      [A, 5, `said ${A}.5`, `${A}.5`],
      [A, 6, `said ${A}.6`, `${A}.6`],
      ["@somebody", "waiting", undefined, `${A}.6`],
      ["@somebody", "upcoming", B, `${A}.6`],
      [B, 9, `${B}.9`],
      [B, 10, `said ${B}.10`, `${B}.10`],
    ]);
    assert.deepEqual(callsOf(server), [["/v1/stream?channel=@somebody&backfill=3&details=true", undefined]]);
    assert.deepEqual([room.state, room.end], ["closed", undefined]);
  });

  it("resumes by the id of its last message, or after an init if no message has come", async () => {
    await using server = await AnsweringServer.start(
      cuts(news("live", A), began(A, 4), inChannel(A, 5, 6)),
      cuts(news("live", A), began(A, 6), inChannel(A, 6, 7), news("live", B), began(B, 20)),
      cuts(news("waiting")),
      streams(news("live", B), began(B, 20), inChannel(B, 21)),
    );
    const room = chat(server.url, CHANNEL);
    room.on("gap", () => assert.fail("a gap"));
    assert.deepEqual(await placesOf(room, 4), [`${A}.5`, `${A}.6`, `${A}.7`, `${B}.21`]);
    assert.deepEqual(
      callsOf(server).map(([, id]) => id),
      [undefined, `${A}.6`, `${B}.20`, `${B}.20`],
    );
  });

  it("resumes after the cursor of an earlier room, in the video of that cursor", async () => {
    await using server = await AnsweringServer.start(
      streams(began(A, 6), inChannel(A, 7), news("live", B), began(B, 1), inChannel(B, 2)),
    );
    const room = chat(server.url, { ...CHANNEL, cursor: `${A}.6` });
    room.on("gap", () => assert.fail("a gap"));
    assert.equal(room.cursor, `${A}.6`);
    assert.deepEqual(await placesOf(room, 2), [`${A}.7`, `${B}.2`]);
    assert.equal(server.calls[0]?.lastEventId, `${A}.6`);
  });

  it("yields each message once if the channel returns to a video whose backfill it has had", async () => {
    await using server = await AnsweringServer.start(
      cuts(began(A, 10), inChannel(A, 11, 14), began(B, 50), inChannel(B, 51)),
      streams(began(B, 51), began(A, 12), inChannel(A, 13, 16)),
    );
    const room = chat(server.url, CHANNEL);
    room.on("gap", () => assert.fail("a gap"));
    const cursors: unknown[] = [];
    room.on("init", () => cursors.push(room.cursor));
    const places = [...[11, 12, 13, 14].map((n) => `${A}.${n}`), `${B}.51`, `${A}.15`, `${A}.16`];
    assert.deepEqual(await placesOf(room, 7), places);
    assert.deepEqual(cursors, [`${A}.10`, `${B}.50`, `${B}.51`, `${A}.14`]);
    assert.equal(server.calls[1]?.lastEventId, `${B}.51`);
  });

  it("reports a gap with its video if the service did not honour a cursor, and for each gap message", async () => {
    await using server = await AnsweringServer.start(
      cuts(began(A, 10), inChannel(A, 11), began(B, 50), inChannel(B, 51)),
      streams(
        ...[began(B, 40), inChannel(B, 41), began(A, 20)],
        said(A, `${A}.21`, { type: "gap", details: { gap: 1 } }),
      ),
    );
    const room = chat(server.url, CHANNEL);
    const events: unknown[] = [];
    room.on("gap", (gap) => events.push(gap));
    room.on("message", ({ videoId, cursor }) => events.push(`${videoId}.${cursor}`));
    assert.equal((await placesOf(room, 4)).length, 4);
    assert.deepEqual(events.slice(2), [
      { videoId: B, after: 51, cursor: 40 },
      `${B}.41`,
      { videoId: A, after: 11, cursor: 20 },
      { videoId: A, after: 20, cursor: 21, details: { gap: 1 } },
      `${A}.21`,
    ]);
  });

  it("moves its cursor past messages that the service has filtered out", async () => {
    await using server = await AnsweringServer.start(
      cuts(began(A, 10), `id: ${A}.15\n\n`),
      streams(began(A, 15), inChannel(A, 16)),
    );
    const room = chat(server.url, { ...CHANNEL, types: ["chat"] });
    assert.deepEqual(await placesOf(room, 1), [`${A}.16`]);
    assert.deepEqual(callsOf(server), [
      ["/v1/stream?channel=@somebody&types=chat", undefined],
      ["/v1/stream?channel=@somebody&types=chat", `${A}.15`],
    ]);
  });

  it("throws if the channel does not exist, at once or later", async () => {
    const gone = { code: "NO_LIVE_CHAT", message: "none" };
    await using server = await AnsweringServer.start(refuses(404, gone), streams(frame("error", gone)));
    await assert.rejects(placesOf(chat(server.url, CHANNEL)), { ...gone, status: 404 });
    await assert.rejects(placesOf(chat(server.url, CHANNEL)), gone);
  });

  it("throws TypeError at once without a channel, and if its cursor is of no channel", () => {
    for (const cursor of ["nonsense", "5", 5, `${A}.`, `${A}.-4`, `${A}.5.6`])
      assert.throws(() => Reflect.apply(chat, undefined, ["http://relay", { ...CHANNEL, cursor }]), {
        name: "TypeError",
        message: `cursor: ${cursor} is invalid.`,
      });
    for (const channel of ["", " ", []])
      assert.throws(
        () => Reflect.apply(chat, undefined, ["http://relay", { channel }]),
        /^TypeError: channel:/,
      );
  });
});

describe("several chats of the SDK on one connection", () => {
  it("yield each chat in its order, and end with the last one", async () => {
    await using server = await AnsweringServer.start(
      streams(
        ...[began(A, 10), inMerged(A, 11, undefined), began(B, 500), inMerged(B, 11, 501)],
        ...[inMerged(A, 12, 501), over(A), inMerged(B, 12, 502), over(B)],
      ),
    );
    const room = merged(server.url, { ...MERGED, backfill: 3, until: "now" });
    const events: unknown[] = [];
    room.on("init", ({ videoId }) => events.push(["init", videoId, room.cursor]));
    room.on("end", (end) => events.push([end, room.cursor, room.state]));
    for await (const { videoId, cursor, id } of room) events.push([videoId, cursor, id, room.cursor]);
    assert.deepEqual(events, [
      ["init", A, vector(10, undefined)],
      [A, 11, `said ${vector(11, undefined)}`, vector(11, undefined)],
      ["init", B, vector(11, 500)],
      [B, 501, `said ${vector(11, 501)}`, vector(11, 501)],
      [A, 12, `said ${vector(12, 501)}`, vector(12, 501)],
      [{ videoId: A, reason: "no more continuations" }, vector(12, 501), "open"],
      [B, 502, `said ${vector(12, 502)}`, vector(12, 502)],
      [{ videoId: B, reason: "no more continuations" }, vector(12, 502), "open"],
    ]);
    assert.deepEqual([room.state, room.end?.reason], ["closed", "no more continuations"]);
    assert.deepEqual(callsOf(server), [[`/v1/merged?videoIds=${A},${B}&backfill=3&until=now`, undefined]]);
    await server.untilClosed();
  });

  it("resume each chat by a vector, without finished ones, and yield each message once", async () => {
    await using server = await AnsweringServer.start(
      cuts(began(A, 10), inMerged(A, 11, undefined, undefined), began(B, 500), began(C, 7), over(C)),
      cuts(began(A, 11), inMerged(A, 11, 500), inMerged(A, 12, 500), began(B, 500), over(B)),
      streams(began(A, 12), inMerged(A, 13), over(A)),
    );
    const room = merged(server.url, { ...FAST, videoIds: [A, B, C] });
    room.on("gap", () => assert.fail("a gap"));
    assert.deepEqual(await placesOf(room), [`${A}.11`, `${A}.12`, `${A}.13`]);
    assert.deepEqual(callsOf(server), [
      [`/v1/merged?videoIds=${A},${B},${C}`, undefined],
      [`/v1/merged?videoIds=${A},${B}`, vector(11, 500)],
      [`/v1/merged?videoIds=${A}`, vector(12)],
    ]);
    assert.equal(room.cursor, vector(13, 500, 7));
  });

  it("resume after the cursor of an earlier room, and report the gap of each chat", async () => {
    await using server = await AnsweringServer.start(
      streams(
        ...[began(A, 10), inMerged(A, 11, 500, 9), began(B, 600), inMerged(B, 11, 601, 9)],
        ...[began(C, 5), inMerged(C, 11, 601, 6), over(A), over(B), over(C)],
      ),
    );
    const room = merged(server.url, { ...FAST, videoIds: [A, B, C], cursor: vector(10, 500, 9) });
    const gaps: unknown[] = [];
    room.on("gap", (gap) => gaps.push(gap));
    assert.deepEqual(await placesOf(room), [`${A}.11`, `${B}.601`, `${C}.6`]);
    assert.deepEqual(gaps, [
      { videoId: B, after: 500, cursor: 600 },
      { videoId: C, after: 9, cursor: 5 },
    ]);
    assert.equal(server.calls[0]?.lastEventId, vector(10, 500, 9));
  });

  it("move their cursors by ids without data", async () => {
    await using server = await AnsweringServer.start(
      cuts(began(A, 10), began(B, 500), `id: ${vector(10, 520)}\n\n`),
      streams(
        began(A, 10),
        began(B, 520),
        inMerged(A, 11, 525),
        over(A),
        `id: ${vector(11, 530)}\n\n`,
        over(B),
      ),
    );
    const room = merged(server.url, MERGED);
    assert.deepEqual([await placesOf(room), room.cursor], [[`${A}.11`], vector(11, 530)]);
    assert.equal(server.calls[1]?.lastEventId, vector(10, 520));
  });

  it("continue the others if one chat fails or does not exist, and do not ask for it again", async () => {
    await using server = await AnsweringServer.start(
      cuts(failed(A, "NO_LIVE_CHAT"), began(B, 1), began(C, 1), failed(C, "UPSTREAM_ERROR")),
      streams(began(B, 1), inMerged(B, 2), over(B)),
    );
    const room = merged(server.url, { ...FAST, videoIds: [A, B, C] });
    const errors: unknown[] = [];
    room.on("error", ({ videoId, code, message, name }) => errors.push([videoId, code, message, name]));
    assert.deepEqual(await placesOf(room), [`${B}.2`]);
    assert.deepEqual(errors, [
      [A, "NO_LIVE_CHAT", "m", "ChatError"],
      [C, "UPSTREAM_ERROR", "m", "ChatError"],
    ]);
    assert.deepEqual(callsOf(server)[1], [`/v1/merged?videoIds=${B}`, vector(1)]);
  });

  it("end if the last chat fails, without throwing", async () => {
    await using server = await AnsweringServer.start(
      streams(failed(A, "NO_LIVE_CHAT"), failed(B, "NOT_STORED")),
    );
    const room = merged(server.url, MERGED);
    const errors: (string | undefined)[] = [];
    room.on("error", ({ videoId }) => errors.push(videoId));
    assert.deepEqual([await placesOf(room), errors, room.end], [[], [A, B], undefined]);
  });

  it("wait for a chat that the service tries to open again, and ask for it again after a cut", async () => {
    await using server = await AnsweringServer.start(
      cuts(failed(A, "CAPACITY"), began(B, 1), over(B)),
      cuts(failed(A, "RATE_LIMITED"), began(A, 5), inMerged(A, 6)),
      streams(failed(A, "UPSTREAM_ERROR"), began(A, 6), inMerged(A, 7), over(A)),
    );
    const room = merged(server.url, MERGED); // without a listener: these failures are not final
    assert.deepEqual(await placesOf(room), [`${A}.6`, `${A}.7`]);
    assert.deepEqual(callsOf(server).slice(1), [
      [`/v1/merged?videoIds=${A}`, "_"],
      [`/v1/merged?videoIds=${A}`, vector(6)],
    ]);
  });

  it("continue with a chat that the service reads again after its failure", async () => {
    await using server = await AnsweringServer.start(
      streams(
        ...[began(A, 1), failed(A, "UPSTREAM_ERROR"), began(A, 1), over(B)],
        ...[inMerged(A, 2, undefined), over(A)],
      ),
    );
    const room = merged(server.url, MERGED);
    room.on("error", () => {});
    assert.deepEqual(await placesOf(room), [`${A}.2`]);
  });

  it("yield a chat that fails as a value of the loop if nobody listens for errors, and go on", async () => {
    await using server = await AnsweringServer.start(
      streams(
        ...[began(A, 10), began(B, 1), inMerged(A, 11, 1), failed(A, "UPSTREAM_ERROR")],
        ...[inMerged(B, 11, 2), over(B)],
      ),
    );
    const room = merged(server.url, { ...MERGED, details: true });
    const values: unknown[] = [];
    for await (const m of room) {
      if (m.type !== "error") values.push(m.id);
      else values.push([m.videoId, m.cursor, m.message, m.error.code, m.error.videoId, m.parts, m.details]);
    }
    assert.deepEqual(values, [
      `said ${vector(11, 1)}`,
      [A, 11, "m", "UPSTREAM_ERROR", A, [], {}],
      `said ${vector(11, 2)}`,
    ]);
  });

  it("yield nothing of a chat that the service tries to open again", async () => {
    await using server = await AnsweringServer.start(
      streams(failed(A, "CAPACITY"), began(B, 1), inMerged(B, undefined, 2), over(B), began(A, 5), over(A)),
    );
    assert.deepEqual(await placesOf(merged(server.url, MERGED)), [`${B}.2`]);
  });

  it("continue after the cursors of each video, in any order and with other videos", async () => {
    await using server = await AnsweringServer.start(
      streams(began(B, 500), began(C, 9), inMerged(B, 501, undefined, 9), over(A), over(B), over(C)),
    );
    const cursors = { [A]: 7, [C]: 9, [B]: 500, "video-ddddd": 3 };
    const room = merged(server.url, { ...FAST, videoIds: [B, A, C], cursors });
    room.on("gap", () => assert.fail("a gap"));
    assert.deepEqual(room.cursors, { [A]: 7, [C]: 9, [B]: 500 });
    assert.deepEqual(await placesOf(room), [`${B}.501`]);
    assert.equal(server.calls[0]?.lastEventId, vector(500, 7, 9));
    assert.deepEqual(room.cursors, { [A]: 7, [C]: 9, [B]: 501 });
  });

  it("follow channels beside videos, and resume each channel in its last video by one id", async () => {
    const live = { channel: "@somebody", state: "live", videoId: B };
    const begins = (videoId: string, cursor: number) =>
      frame("init", { videoId, channel: "@somebody", chatType: "liveChatRenderer", cursor });
    const idOf = (a: number, video: string, cursor: number) => `${vector(a)}.${vector(cursor)}:${video}`;
    await using server = await AnsweringServer.start(
      cuts(
        ...[frame("channel", live), began(A, 10), begins(B, 4), said(B, idOf(10, B, 5))],
        said(A, idOf(11, B, 5)),
      ),
      cuts(began(A, 11), begins(B, 5), said(B, idOf(11, B, 6)), begins(C, 20)),
      streams(began(A, 11), begins(C, 20), said(C, idOf(11, C, 21)), over(A), said(C, idOf(11, C, 22))),
    );
    const room = merged(server.url, { ...FAST, videoIds: [A], channels: ["@Somebody"], cursors: { [A]: 7 } });
    room.on("gap", ({ videoId }) => assert.equal(videoId, A)); // from its cursor to the first init
    const states: unknown[] = [];
    room.on("channel", ({ channel, state }) => states.push(`${channel} ${state}`));
    assert.deepEqual(await placesOf(room, 5), [`${B}.5`, `${A}.11`, `${B}.6`, `${C}.21`, `${C}.22`]);
    const path = `/v1/merged?videoIds=${A}&channels=@somebody&cursors=${A}:7`;
    assert.deepEqual(callsOf(server), [
      [path, `${vector(7)}._`],
      [path, idOf(11, B, 5)],
      [path, idOf(11, C, 20)],
    ]);
    assert.deepEqual(states, ["@somebody live"]);
    assert.deepEqual([room.cursor, room.cursors], [idOf(11, C, 22), { [A]: 11, [B]: 6, [C]: 22 }]);
    const again = merged(server.url, { videoIds: [A], channels: ["@Somebody"], cursor: `${room.cursor}` });
    assert.equal(again.cursor, room.cursor);
  });

  it("yield a channel that does not exist as a value of the loop, once, and end with the last name", async () => {
    const gone = frame("error", { channel: "@gone", code: "NO_LIVE_CHAT", message: "none" });
    await using server = await AnsweringServer.start(
      cuts(gone, began(A, 10)),
      streams(gone, began(A, 10), said(A, `${vector(11)}._`), over(A)),
    );
    const values: unknown[] = [];
    for await (const m of merged(server.url, { ...FAST, videoIds: [A], channels: ["@Gone"] }))
      values.push(m.type === "error" ? [m.videoId, m.message, m.error.videoId] : m.cursor);
    assert.deepEqual(values, [["@gone", "none", "@gone"], 11]);
  });

  it("pass the cursors of a channel's videos on to the service", async () => {
    await using server = await AnsweringServer.start(streams(began(B, 500), said(B, `${vector(501)}:${B}`)));
    const room = merged(server.url, { ...FAST, channels: ["@somebody"], cursors: { [B]: 500, [C]: 9 } });
    room.on("gap", () => assert.fail("a gap"));
    assert.deepEqual(await placesOf(room, 1), [`${B}.501`]);
    assert.deepEqual(callsOf(server), [[`/v1/merged?channels=@somebody&cursors=${B}:500,${C}:9`, "_"]]);
  });

  it("report a chat's error as uncaught if there is neither a loop nor a listener for errors", async () => {
    await using server = await AnsweringServer.start(
      streams(began(B, 1), failed(A, "NO_LIVE_CHAT"), inMerged(B, undefined, 2), over(B)),
    );
    const own = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    try {
      const uncaught = once(process, "uncaughtException");
      const room = merged(server.url, MERGED);
      room.on("message", () => {});
      await new Promise((resolve) => room.on("end", resolve));
      const [error] = (await uncaught) as [ChatError];
      assert.deepEqual([error.code, error.videoId], ["NO_LIVE_CHAT", A]);
    } finally {
      for (const listener of own) process.on("uncaughtException", listener);
    }
  });

  it("throw when the service refuses", async () => {
    await using server = await AnsweringServer.start(
      refuses(400, { code: "INVALID_REQUEST", message: "videoIds: names it twice." }),
    );
    const error = { code: "INVALID_REQUEST", status: 400 };
    await assert.rejects(placesOf(merged(server.url, { ...FAST, videoIds: [A, A] })), error);
  });

  it("throw TypeError at once without a name", () => {
    for (const args of [["http://relay"], ["http://relay", {}], ["http://relay", { channels: [""] }]])
      assert.throws(() => Reflect.apply(merged, undefined, args), /^TypeError: videoIds: is missing/);
    for (const channels of ["@a", [null], 5])
      assert.throws(() => Reflect.apply(merged, undefined, ["http://relay", { channels }]), TypeError);
  });

  it("throw TypeError at once if videoIds are not ids, or if the cursor is not theirs", () => {
    for (const cursor of ["nonsense", "5", "1.2.3", "1.-2", "_._"])
      assert.throws(() => merged("http://relay", { videoIds: [A, B], cursor }), {
        name: "TypeError",
        message: `cursor: ${cursor} is invalid.`,
      });
    for (const cursor of [1.5, -1, Number.NaN, "5"])
      assert.throws(
        () => Reflect.apply(merged, undefined, ["http://relay", { videoIds: [A], cursors: { [A]: cursor } }]),
        { name: "TypeError", message: `cursors: ${A}: ${cursor} is invalid.` },
      );
    for (const videoIds of [undefined, [], [A, ""], [A, `https://youtu.be/${B}`], [`${A},`]])
      assert.throws(
        () => Reflect.apply(merged, undefined, ["http://relay", { videoIds }]),
        /^TypeError: videoIds:/,
        `${videoIds}`,
      );
  });
});

describe("the standing of a chat", () => {
  it("is an event of every chat whose stream has it, and moves no cursor", async () => {
    const waiting = { videoId: A, state: "waiting", reason: "the video is private" };
    await using server = await AnsweringServer.start(
      streams(
        ...[news("live", A), began(A, 4), frame("standing", waiting), frame("of a later version", { x: 1 })],
        ...[frame("standing", { videoId: A, state: "live" }), inChannel(A, 5)],
      ),
    );
    const room = chat(server.url, CHANNEL);
    const seen: unknown[] = [];
    room.on("standing", (standing) => seen.push([standing, room.cursor]));
    for await (const { cursor } of room) if (cursor === 5) break;
    assert.deepEqual(seen, [
      [waiting, `${A}.4`],
      [{ videoId: A, state: "live" }, `${A}.4`],
    ]);
  });
});

describe("the featured message", () => {
  it("is an event of every chat whose stream has it, and moves no cursor", async () => {
    const message = { type: "chat", id: "m", message: "hello" };
    await using server = await AnsweringServer.start(
      streams(
        ...[news("live", A), began(A, 4), frame("featured", { videoId: A, message: null })],
        ...[frame("featured", { videoId: A, message, featuredAt: "2026-11-20T20:00:00.000Z" })],
        inChannel(A, 5),
      ),
    );
    const room = chat(server.url, CHANNEL);
    const seen: unknown[] = [];
    room.on("featured", ({ videoId, message: shown, featuredAt }) =>
      seen.push([videoId, shown?.id ?? null, featuredAt, room.cursor]),
    );
    for await (const { cursor } of room) if (cursor === 5) break;
    assert.deepEqual(seen, [
      [A, null, undefined, `${A}.4`],
      [A, "m", "2026-11-20T20:00:00.000Z", `${A}.4`],
    ]);
  });
});
