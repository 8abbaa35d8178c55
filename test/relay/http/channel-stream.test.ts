/** `/v1/stream?channel=` on real sockets: its head, its frames and lines, its refusals, and a stop. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NAMED_SCHEMAS } from "../../../src/http/schemas/schemas.ts";
import { parsePlace } from "../../../src/http/streams/channel-stream.ts";
import { startTestEdge } from "../../support/edge.ts";
import { eventually } from "../../support/eventually.ts";
import { metric, startRelay, type TestRelay } from "../../support/relay.ts";

const HANDLE = "@somebody";
const VIDEO = "live-first1";
const TEXT = { chat: { kinds: ["text"] } } as const;

/** Reads an answer until it ends or is cut. */
class Reading implements AsyncDisposable {
  raw = "";
  readonly response: Response;
  readonly over: Promise<void>;
  readonly #abort: AbortController;

  static async open(
    { url }: Pick<TestRelay, "url">,
    query: string,
    headers: Record<string, string> = {},
  ): Promise<Reading> {
    const abort = new AbortController();
    const response = await fetch(`${url}/v1/stream?${query}`, { headers, signal: abort.signal });
    return new Reading(response, abort);
  }

  constructor(response: Response, abort: AbortController) {
    this.response = response;
    this.#abort = abort;
    this.over = this.#read();
  }

  async #read(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of this.response.body ?? []) this.raw += decoder.decode(bytes, { stream: true });
  }

  until(text: string | RegExp): Promise<void> {
    return eventually(true, () => (typeof text === "string" ? this.raw.includes(text) : text.test(this.raw)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    await this.over.catch(() => {});
  }
}

const channel = (text: string) => `channel=${encodeURIComponent(text)}`;

describe("the id of a channel's message", () => {
  it("is a video id and a cursor", () => {
    assert.deepEqual(parsePlace(`${VIDEO}.1795163753064`), { videoId: VIDEO, cursor: 1_795_163_753_064 });
    for (const text of [
      undefined,
      "",
      VIDEO,
      `${VIDEO}.`,
      `${VIDEO}.-1`,
      `${VIDEO}.99999999999999999`,
      "live.5",
      `x${VIDEO}.5`,
      "5",
    ])
      assert.equal(parsePlace(text), undefined, `${text}`);
  });
});

describe("a channel's stream", () => {
  for (const encoding of ["gzip", "identity"]) {
    it(`sends the channel first, then the video, and resumes by its id: ${encoding}`, async () => {
      await using relay = await startRelay();
      const { chat } = relay.upstream.channel(HANDLE).broadcast(VIDEO, TEXT);
      chat.say(3);
      const headers = { "accept-encoding": encoding };
      await using stream = await Reading.open(
        relay,
        channel(`https://www.youtube.com/${HANDLE}/live`),
        headers,
      );
      assert.equal(stream.response.headers.get("content-type"), "text/event-stream");
      assert.equal(stream.response.headers.get("content-encoding"), encoding === "gzip" ? "gzip" : null);
      await stream.until(/(id: .*\n.*\n.*\n\n){3}$/);
      const [retry, first, init, ...messages] = stream.raw.split("\n\n");
      assert.equal(retry, "retry: 3000");
      assert.match(
        first ?? "",
        /^event: channel\ndata: \{"channel":"@somebody","channelId":"UC.{22}","title":"[^"]+","state":"live","videoId":"live-first1"\}$/,
      );
      assert.match(init ?? "", /^event: init\ndata: \{"videoId":"live-first1",/);
      assert.match(
        messages[0] ?? "",
        /^id: live-first1\.\d+\nevent: message\ndata: \{"videoId":"live-first1",/,
      );
      const [, id = ""] = /id: (\S+)/.exec(messages[1] ?? "") ?? [];
      await using back = await Reading.open(relay, channel(HANDLE), { ...headers, "last-event-id": id });
      await back.until("id: ");
      await using early = await Reading.open(relay, `${channel(HANDLE)}&lastEventId=${id}`, headers);
      await early.until("id: ");
      for (const { raw } of [back, early])
        assert.deepEqual(raw.split("\n\n").slice(3), stream.raw.split("\n\n").slice(5));
    });
  }

  it("starts each video at the time of `from`, which takes precedence over a backfill", async () => {
    await using relay = await startRelay();
    const { chat } = relay.upstream.channel(HANDLE).broadcast(VIDEO, TEXT);
    chat.say(3);
    await using all = await Reading.open(relay, `${channel(HANDLE)}&from=0&backfill=1`);
    await all.until(/(id: .*\n.*\n.*\n\n){3}$/);
    await using none = await Reading.open(relay, `${channel(HANDLE)}&from=${Date.now() + 60_000}`);
    await none.until("event: init");
    chat.say(1);
    await none.until(/(id: .*\n.*\n.*\n\n){1}$/);
    assert.equal(none.raw.match(/event: message/g)?.length, 1);
  });

  it("as NDJSON has the cursor, the id, and the message's own id", async () => {
    await using relay = await startRelay({ settings: { RELAY_KEEPALIVE_MS: "100" } });
    const { chat } = relay.upstream.channel(HANDLE).broadcast(VIDEO, TEXT);
    chat.say(1);
    const accept = { accept: "application/x-ndjson" };
    await using stream = await Reading.open(relay, channel(HANDLE), accept);
    await stream.until('{"event":"keepalive"}\n');
    await stream.until('"event":"message"');
    const lines = stream.raw.trim().split("\n");
    const [first, init, message] = lines
      .filter((line) => !line.includes("keepalive"))
      .map((line) => JSON.parse(line));
    assert.deepEqual(
      [first.event, first.state, init.event, init.videoId],
      ["channel", "live", "init", VIDEO],
    );
    const { properties } = NAMED_SCHEMAS.Channel;
    assert.deepEqual(Object.keys(first).slice(1), ["channel", "channelId", "title", "state", "videoId"]);
    assert.ok(
      Object.keys(first)
        .slice(1)
        .every((field) => field in properties),
    );
    const { event, videoId, cursor, id, messageId } = message;
    assert.deepEqual(
      { event, videoId, cursor, id, messageId },
      {
        event: "message",
        videoId: VIDEO,
        cursor: init.cursor + 1,
        id: `${VIDEO}.${cursor}`,
        messageId: chat.ledger[0]?.id,
      },
    );
  });

  it("is refused without a channel, with a video or until=now beside it, and for an unknown one", async () => {
    await using relay = await startRelay();
    relay.upstream.channel("@closed", { state: "gone" });
    for (const [query, status, code, words] of [
      ["", 400, "INVALID_REQUEST", /videoId or channel/],
      [`${channel(HANDLE)}&videoId=${VIDEO}`, 400, "INVALID_REQUEST", /videoId or channel/],
      ["channel=", 400, "INVALID_REQUEST", /channel .*handle/],
      [channel("https://example.org/@somebody"), 400, "INVALID_REQUEST", /channel is a URL on a host/],
      [`${channel(HANDLE)}&until=now`, 400, "INVALID_REQUEST", /until/],
      [`${channel(HANDLE)}&backfill=x`, 400, "INVALID_REQUEST", /backfill/],
      [channel("@closed"), 404, "NO_LIVE_CHAT", /There is no channel @closed/],
    ] as const) {
      await using stream = await Reading.open(relay, query);
      const { response } = stream;
      await stream.over;
      const body = JSON.parse(stream.raw);
      assert.deepEqual([response.status, body.code], [status, code], query);
      assert.match(body.message, words);
    }
  });

  it("is closed by a stop without an end frame, waiting or reading, and frees its place", async () => {
    const settings = { RELAY_MAX_VIEWERS_PER_ADDRESS: "2" };
    await using relay = await startRelay({ settings });
    relay.upstream.channel(HANDLE).broadcast(VIDEO, TEXT).chat.say(1);
    relay.upstream.channel("@waiting");
    {
      await using left = await Reading.open(relay, channel(HANDLE));
      await left.until("event: message");
    }
    await eventually(0, () => metric(relay, "relay_viewers"));
    await eventually(0, () => metric(relay, "relay_channels"));
    const connections = () => metric(relay, 'relay_multiplexed_connections{stream="channel"}');
    assert.equal(await connections(), 0);
    await using reading = await Reading.open(relay, channel(HANDLE));
    await using waiting = await Reading.open(relay, channel("@waiting"));
    await reading.until("event: message");
    await waiting.until('"state":"waiting"');
    assert.deepEqual([await metric(relay, "relay_viewers"), await connections()], [2, 2]);
    assert.equal((await fetch(`${relay.url}/v1/stream?${channel(HANDLE)}`)).status, 503);
    await relay.service.stop();
    await Promise.all([reading.over, waiting.over]);
    for (const { raw } of [reading, waiting]) assert.doesNotMatch(raw, /event: (end|error)/);
  });
});

describe("a channel with several live streams", () => {
  it("names all of them to a client that asks, here and at an edge, and again as they change", async () => {
    await using relay = await startRelay({ settings: { RELAY_CHANNEL_MS: "1000" } });
    const somebody = relay.upstream.channel(HANDLE);
    const [first] = [VIDEO, "live-secon2"].map((videoId) => somebody.broadcast(videoId, TEXT));
    await using edge = await startTestEdge(relay.url);
    const asked = `${channel(HANDLE)}&backfill=0&types=gap`;
    await using plain = await Reading.open(relay, asked);
    const all = [await Reading.open(relay, `${asked}&all=on`), await Reading.open(edge, `${asked}&all=on`)];
    const live = (...videoIds: string[]) => `"live":${JSON.stringify(videoIds)}`;
    for (const each of all) await each.until(live(VIDEO, "live-secon2"));
    somebody.broadcast("live-third3", TEXT);
    for (const each of all) await each.until(live(VIDEO, "live-secon2", "live-third3"));
    first?.end();
    for (const each of all) await each.until(live("live-secon2", "live-third3"));
    assert.doesNotMatch(plain.raw, /"live":\[/);
    for (const each of all) await each[Symbol.asyncDispose]();
  });
});
