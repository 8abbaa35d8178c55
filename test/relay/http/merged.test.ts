/** `GET /v1/merged`: several chats on one connection, each of them whole and in order, over any cut. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createParser } from "eventsource-parser";
import { Random } from "../../../simulator/random.ts";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { mergedAsked, openMerged } from "../../../src/http/streams/merged.ts";
import { parseVector, vectorOf } from "../../../src/protocol/merged-id.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { SimulatedSink } from "../../harness/sink.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { eventually } from "../../support/eventually.ts";
import { metric, startRelay, type TestRelay } from "../../support/relay.ts";
import { VIDEO, virtualRoom } from "../../support/virtual-room.ts";

const VIDEOS = ["merged-one1", "merged-two2", "merged-thr3"] as const;
const MINUTE = 60_000;
const TEXT = { kinds: ["text"] } as const;

interface Event {
  event: string;
  id: string | undefined;
  data: { videoId: string; id: string; cursor: number; code: string; reason: string };
}

/** One connection, until it is cut. */
class Merged implements AsyncDisposable {
  readonly events: Event[] = [];
  raw = "";
  readonly response: Response;
  readonly #abort: AbortController;
  readonly over: Promise<void>;
  isOver = false;

  static async open(
    { url }: TestRelay,
    query: Record<string, string>,
    headers: Record<string, string> = {},
    cutAfter = Number.POSITIVE_INFINITY,
  ): Promise<Merged> {
    const abort = new AbortController();
    const asked = new URLSearchParams({ videoIds: VIDEOS.join(), ...query });
    const response = await fetch(`${url}/v1/merged?${asked}`, { headers, signal: abort.signal });
    return new Merged(response, abort, cutAfter);
  }

  constructor(response: Response, abort: AbortController, cutAfter: number) {
    this.response = response;
    this.#abort = abort;
    this.over = this.#read(cutAfter)
      .catch(() => {})
      .finally(() => {
        this.isOver = true;
      });
  }

  async #read(cutAfter: number): Promise<void> {
    const parser = createParser({
      onEvent: ({ event = "", id, data }) => this.events.push({ event, id, data: JSON.parse(data) }),
    });
    let left = cutAfter;
    for await (const bytes of this.response.body ?? []) {
      const text = new TextDecoder().decode(bytes.subarray(0, left));
      this.raw += text;
      parser.feed(text);
      left -= bytes.length;
      if (left <= 0) break;
    }
    this.#abort.abort();
  }

  get lastId(): string | undefined {
    return this.events.findLast(({ id }) => id !== undefined)?.id;
  }

  of(videoId: string, event = "message"): Event[] {
    return this.events.filter((one) => one.event === event && one.data.videoId === videoId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.over;
  }
}

const said = (chat: Chat) => chat.ledger.map(({ id }) => id);

describe("a vector of cursors", () => {
  it("is read as it is written", () => {
    const cursors = [1_795_163_753_064, undefined, 0];
    assert.deepEqual(parseVector(vectorOf(cursors), 3), cursors);
    assert.equal(vectorOf(cursors), "mwp5s6ko._.0".replace("mwp5s6ko", (1_795_163_753_064).toString(36)));
  });

  for (const text of [
    undefined,
    "",
    "1.2",
    "1.2.3.4",
    "1.2.-3",
    "1.2.A",
    "1..3",
    "1.2.zzzzzzzzzzz",
    "1.2. 3",
    "1.2.03",
    "1.2.3_",
  ]) {
    it(`of another form or length is ignored: ${text}`, () => assert.equal(parseVector(text, 3), undefined));
  }
});

describe("several chats on one connection", () => {
  it("arrive complete and in order across cuts at any byte, each message once", async () => {
    const random = new Random(7, "cuts");
    await using relay = await startRelay();
    const chats = VIDEOS.map((video) => relay.upstream.chat(video, { ...TEXT, page: 200 }));
    for (const chat of chats) chat.say(20);
    const got = new Map(VIDEOS.map((video) => [video as string, [] as string[]]));
    let lastId: string | undefined;
    for (let cut = 0; cut < 12; cut++) {
      const isLast = cut === 11;
      const headers = lastId === undefined ? {} : { "last-event-id": lastId };
      await using line = await Merged.open(
        relay,
        { backfill: "500" },
        headers,
        isLast ? undefined : 500 + Math.floor(random.below(9000)),
      );
      for (const chat of chats) chat.say(1 + Math.floor(random.below(4)));
      const isComplete = () =>
        chats.every((chat, place) => {
          const video = VIDEOS[place] ?? "";
          return (got.get(video)?.length ?? 0) + line.of(video).length >= said(chat).length;
        });
      await eventually(true, () => line.isOver || isComplete());
      for (const { event, data } of line.events)
        if (event === "message") got.get(data.videoId)?.push(data.id);
      lastId = line.lastId ?? lastId;
    }
    for (const [place, chat] of chats.entries()) assert.deepEqual(got.get(VIDEOS[place] ?? ""), said(chat));
  });

  it("count as one viewer each, and as one connection until it is cut", async () => {
    await using relay = await startRelay();
    for (const video of VIDEOS) relay.upstream.chat(video, TEXT).say(1);
    const connections = () => metric(relay, 'relay_multiplexed_connections{stream="merged"}');
    assert.equal(await connections(), 0);
    {
      await using _ = await Merged.open(relay, {});
      await eventually(VIDEOS.length, () => metric(relay, "relay_viewers"));
      assert.equal(await connections(), 1);
    }
    await eventually(0, connections);
  });

  it("stop counting as viewers if the client leaves while the store looks up where they begin", async () => {
    const { relay, viewer } = await virtualRoom(3);
    const sink = new SimulatedSink(FORMS.sse.plain.bare, () => {});
    const asked = mergedAsked({ query: { videoIds: VIDEO, backfill: "3" }, headers: {} });
    openMerged(asked, "viewer", relay.service, () => sink);
    sink.leave();
    viewer.leave();
    await relay.advance(relay.config.rooms.graceMs + 1000);
    assert.equal(relay.rooms.viewerCount, 0);
    const [room] = await relay.when(relay.list.all());
    assert.equal(room?.state, "released");
  });

  it("count as one viewer each while they are refused, until they are over", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_MAX_VIEWERS: "3" } });
    const wall = relay.upstream.fault({ on: ["sw.js"], times: 1, as: { status: 429 } });
    const open = () => {
      const sink = new SimulatedSink(FORMS.sse.plain.bare, () => {});
      const asked = mergedAsked({ query: { videoIds: VIDEOS.join() }, headers: {} });
      openMerged(asked, "viewer", relay.service, () => sink);
      return sink;
    };
    const sink = open();
    await relay.advance(10_000);
    assert.deepEqual([wall.fired, relay.rooms.viewerCount], [1, VIDEOS.length]);
    assert.throws(open, { code: "CAPACITY" });
    await relay.advance(MINUTE);
    assert.deepEqual([sink.closedBy, relay.rooms.viewerCount], ["end", 0], "none of them has a chat");
  });

  it("are tried again within 15 s once YouTube may be asked again, however long that took", async () => {
    const relay = new VirtualRelay();
    relay.upstream.fault({ on: ["sw.js"], times: 1, as: { status: 429, headers: { "retry-after": "600" } } });
    const sink = new SimulatedSink(FORMS.sse.plain.bare, () => {});
    const asked = mergedAsked({ query: { videoIds: VIDEOS.join() }, headers: {} });
    openMerged(asked, "viewer", relay.service, () => sink);
    await relay.advance(10 * MINUTE - 1000);
    assert.deepEqual([sink.closedBy, relay.rooms.viewerCount], [undefined, VIDEOS.length]);
    await relay.advance(20_000);
    assert.deepEqual([sink.closedBy, relay.rooms.viewerCount], ["end", 0], "none of them has a chat");
  });

  it("count as openings of their address while they wait for another try", async () => {
    const relay = new VirtualRelay();
    relay.upstream.fault({ on: ["popout", "watch"], times: Number.POSITIVE_INFINITY, as: "silent" });
    const open = (line: number, address = "flood") => {
      const names = Array.from({ length: 20 }, (_, i) => `made-up${String(20 * line + i).padStart(4, "0")}`);
      const sink = new SimulatedSink(FORMS.sse.plain.bare, () => {});
      const asked = mergedAsked({ query: { videoIds: names.join() }, headers: {} });
      openMerged(asked, address, relay.service, () => sink);
      return sink;
    };
    const sinks: SimulatedSink[] = [];
    for (let line = 0; line < 25; line++) {
      sinks.push(open(line));
      await relay.advance(1);
    }
    await relay.advance(45_000); // all are refused: none of them waits for its turn any more
    assert.throws(() => open(25), { code: "CAPACITY", capacityCause: "openings" });
    open(25, "another");
    sinks[0]?.leave();
    await relay.advance(1);
    open(26);
  });

  it("begin with one init each, and every event begins with its video", async () => {
    await using relay = await startRelay();
    for (const video of VIDEOS) relay.upstream.chat(video, TEXT).say(2);
    await using line = await Merged.open(relay, {});
    await eventually(true, () => VIDEOS.every((video) => line.of(video).length === 2));
    for (const video of VIDEOS) assert.equal(line.of(video, "init").length, 1);
    const data = [...line.raw.matchAll(/^data: (.*)$/gm)].map(([, json]) => json ?? "");
    assert.ok(data.length >= 9 && data.every((json) => json.startsWith('{"videoId":"merged-')), line.raw);
    assert.match(line.raw, /^retry: 3000\n\n/);
    const last = line.events.at(-1);
    assert.match(last?.id ?? "", /^[0-9a-z]+\.[0-9a-z]+\.[0-9a-z]+$/);
  });

  it("end one by one, and the connection with the last", async () => {
    await using relay = await startRelay();
    const [one, two] = VIDEOS.map((video) => video !== VIDEOS[2] && relay.upstream.chat(video, TEXT));
    assert.ok(one && two);
    one.say(2);
    two.say(3);
    await using line = await Merged.open(relay, {});
    await eventually(true, () => line.of(VIDEOS[2], "error").length === 1 && line.of(VIDEOS[1]).length === 3);
    assert.equal(line.of(VIDEOS[2], "error")[0]?.data.code, "NO_LIVE_CHAT");
    assert.deepEqual(line.of(VIDEOS[2], "init"), []);
    one.end("reload-only");
    await eventually(true, () => line.of(VIDEOS[0], "end").length === 1);
    two.say(1);
    await eventually(true, () => line.of(VIDEOS[1]).length === 4);
    assert.match(line.lastId ?? "", /^[0-9a-z]+\.[0-9a-z]+\._$/, "a chat without a cursor has none");
    two.end("reload-only");
    await line.over;
    assert.deepEqual(line.of(VIDEOS[1], "end")[0]?.data, {
      videoId: VIDEOS[1],
      reason: "no more continuations",
    });
  });

  it("keep the cursor of a chat that is not open as the client sent it", async () => {
    await using relay = await startRelay();
    relay.upstream.chat(VIDEOS[0], TEXT).say(1);
    await using line = await Merged.open(relay, {}, { "last-event-id": "_.abc._" });
    await eventually(true, () => line.of(VIDEOS[0]).length === 1 && line.of(VIDEOS[1], "error").length === 1);
    assert.match(line.of(VIDEOS[0])[0]?.id ?? "", /^[0-9a-z]+\.abc\._$/);
  });

  it("are filtered, and the id moves past messages that are not sent", async () => {
    await using relay = await startRelay({ settings: { RELAY_KEEPALIVE_MS: "100" } });
    const chats = VIDEOS.map((video) => relay.upstream.chat(video, TEXT));
    await using line = await Merged.open(relay, { types: "paid" });
    await eventually(true, () => VIDEOS.every((video) => line.of(video, "init").length === 1));
    for (const chat of chats) chat.say(5);
    const cursors = VIDEOS.map((video) => (line.of(video, "init")[0]?.data.cursor ?? 0) + 5);
    await eventually(true, () => line.raw.includes(`id: ${vectorOf(cursors)}\n\n`));
    assert.ok(line.raw.includes(": keepalive\n\n"));
    assert.equal(line.events.filter(({ event }) => event === "message").length, 0);
  });

  it("begin at a time, and end with the stored messages of each", async () => {
    await using relay = await startRelay();
    const [one, two, never] = VIDEOS;
    const chats = [one, two].map((video) => relay.upstream.chat(video, TEXT));
    for (const chat of chats) chat.say(3);
    await using open = await Merged.open(relay, { videoIds: `${one},${two}` });
    await eventually(6, () => open.events.filter(({ event }) => event === "message").length);
    for (const [from, count] of [
      [0, 3],
      [Date.now() + 60_000, 0],
    ] as const) {
      await using line = await Merged.open(relay, { from: `${from}`, until: "now", backfill: "1" });
      await line.over;
      assert.deepEqual(
        [one, two].map((video) => [line.of(video).length, line.of(video, "end")[0]?.data.reason]),
        [one, two].map(() => [count, "until"]),
      );
      assert.deepEqual(
        line.of(never, "error").map(({ data }) => data.code),
        ["NOT_STORED"],
      );
    }
  });

  it("in NDJSON have the chat's own cursor, the vector as id, and the message's id", async () => {
    await using relay = await startRelay();
    const chats = VIDEOS.map((video) => relay.upstream.chat(video, TEXT));
    for (const chat of chats) chat.say(2);
    await using line = await Merged.open(relay, {}, { accept: "application/x-ndjson" });
    assert.equal(line.response.headers.get("content-type"), "application/x-ndjson");
    await eventually(true, () => line.raw.split('"event":"message"').length === 7);
    const lines = line.raw
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text));
    for (const [place, video] of VIDEOS.entries()) {
      const messages = lines.filter(({ event, videoId }) => event === "message" && videoId === video);
      assert.deepEqual(
        messages.map(({ messageId }) => messageId),
        chats[place] && said(chats[place]),
      );
      for (const { cursor, id } of messages) assert.equal(parseVector(id, 3)?.[place], cursor);
    }
  });

  it("can be up to twenty, named by URLs as a browser shows them", async () => {
    await using relay = await startRelay();
    const videos = Array.from({ length: 20 }, (_, n) => `video-of-${n + 10}`);
    const urls = videos.map(
      (video) =>
        `https://www.youtube.com/watch?v=${video}&list=PL${"x".repeat(32)}&index=10&pp=iAQB0gcJCcEJAYcqIYzv`,
    );
    await using line = await Merged.open(relay, { videoIds: urls.join(), until: "now" });
    await line.over;
    assert.deepEqual(
      line.events.map(({ data }) => `${data.code} ${data.videoId}`).sort(),
      videos.map((video) => `NOT_STORED ${video}`),
    );
  });

  it("refuse invalid parameters", async () => {
    await using relay = await startRelay({ settings: { RELAY_MAX_VIEWERS: "2" } });
    const ask = async (query: string) => {
      const response = await fetch(`${relay.url}/v1/merged?${query}`);
      return [response.status, (await response.json()) as { code: string; message: string }] as const;
    };
    const [one, two, three] = VIDEOS;
    for (const [query, status, code, words] of [
      ["", 400, "INVALID_REQUEST", /videoIds/],
      ["videoIds=", 400, "INVALID_VIDEO_ID", /“” is neither/],
      ["videoIds=some-video1,nope", 400, "INVALID_VIDEO_ID", /^“nope” is neither a video id/],
      [`videoIds=${one},https://youtu.be/${one}`, 400, "INVALID_REQUEST", /names merged-one1 twice/],
      [`videoIds=${Array(21).fill(one)}`, 400, "INVALID_REQUEST", /more than 20/],
      [`videoIds=${one}&backfil=3`, 400, "INVALID_REQUEST", /backfil: .*backfill/],
      [`videoIds=${one},${two},${three}`, 503, "CAPACITY", /viewers/],
    ] as const) {
      const [got, body] = await ask(query);
      assert.deepEqual([got, body.code], [status, code], query);
      assert.match(body.message, words);
    }
  });
});
