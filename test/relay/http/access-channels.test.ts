/** The right to watch the videos of one channel: its calls to the upstream, and its refusals. */
import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Simulator, startSimulator } from "../../../simulator/index.ts";
import { OriginAwayError } from "../../../src/origin/origin-refusal.ts";
import { atCapacity } from "../../../src/protocol/capacity.ts";
import { type VideoChannelSources, VideoChannels } from "../../../src/rooms/channels/video-channels.ts";
import { OpeningQueue } from "../../../src/rooms/opening/opening-queue.ts";
import type { OpeningTurn } from "../../../src/upstream/egress/pool.ts";
import { UpstreamError } from "../../../src/upstream/upstream-error.ts";
import { ask } from "../../support/api.ts";
import { startTestEdge } from "../../support/edge.ts";
import { eventually } from "../../support/eventually.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { metric, roomsIn, startRelay, type TestRelay } from "../../support/relay.ts";
import { temporaryFile } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";
import { bearer, SECRET, signed } from "../../support/tokens.ts";

const MINE = "mine-video1";
const STORED = "other-video";
const UNSTORED = "never-asked";
const HIDDEN = "hidden-mine";

let upstream: Simulator;
let mine: string;
before(async () => {
  upstream = await startSimulator();
  const channel = upstream.channel("@mine");
  mine = channel.channelId;
  channel.broadcast(MINE, { chat: { kinds: ["text"] } }).chat.say(3);
  channel.broadcast(HIDDEN).chat.change({ kind: "private" });
  const other = upstream.channel("@other");
  for (const video of [STORED, UNSTORED]) other.broadcast(video, { chat: { kinds: ["text"] } }).chat.say(3);
});
after(() => upstream[Symbol.asyncDispose]());

/** A store in which `STORED` and `MINE` were read and released, and which knows their channels. */
async function filledStore(t: TestContext): Promise<string> {
  const RELAY_STORE = `sqlite:${await temporaryFile(t)}`;
  await using open = await startRelay({
    upstream,
    settings: { RELAY_STORE, RELAY_PUBLIC: "watch:@mine,watch:@other", RELAY_GRACE_MS: "1" },
  });
  for (const videoId of [STORED, MINE]) {
    await using stream = await Stream.open(open.url, { videoId });
    await stream.untilMessages(3);
    assert.equal(await statusOf(open, `/v1/messages?videoId=${videoId}`), 200);
  }
  for (const state of ["polling", "lingering", "released"]) await roomsIn(open, state, 0);
  return RELAY_STORE;
}

const limited = (rights: string, more: object = {}) =>
  startRelay({ upstream, settings: { RELAY_PUBLIC: rights, ...more } });

/** How many watch pages of a video were loaded until now. */
const watchPages = (videoId: string) =>
  upstream.requests.filter(({ kind, videoId: asked }) => kind === "watch" && asked === videoId).length;

const routesOf = (videoId: string) => [
  `/v1/stream?videoId=${videoId}`,
  `/v1/merged?videoIds=${videoId}`,
  `/v1/messages?videoId=${videoId}`,
  `/v1/log/${videoId}`,
  `/v1/log/${videoId}?live=long-poll&offset=-1`,
  `/v1/rooms/${videoId}`,
  `/v1/videos/${videoId}`,
];

async function statusOf({ url }: Pick<TestRelay, "url">, path: string, headers = {}): Promise<number> {
  const cut = new AbortController();
  const { status } = await fetch(url + path, { headers, signal: cut.signal });
  cut.abort();
  return status;
}

describe("a right to watch the videos of a channel", () => {
  for (const name of ["@mine", "UC…"]) {
    it(`opens those that the page of the video gives to it, and no others (${name})`, async () => {
      const right = `watch:${name === "@mine" ? name : mine}`;
      await using relay = await limited(right);
      await using stream = await Stream.open(relay.url, { videoId: MINE });
      await stream.untilMessages(3);
      for (const path of routesOf(MINE)) assert.equal(await statusOf(relay, path), 200, path);
      for (const path of routesOf(STORED)) assert.equal(await statusOf(relay, path), 401, path);
      assert.equal(await statusOf(relay, `/v1/merged?videoIds=${MINE},${STORED}`), 401);
      assert.equal(await statusOf(relay, "/v1/stream?channel=@other"), 401);
      assert.equal(await statusOf(relay, "/v1/merged?channels=@other"), 401);
      for (const named of ["@mine", mine]) {
        // The page of the video has both names.
        assert.equal(await statusOf(relay, `/v1/stream?channel=${named}`), 200);
        assert.equal(await statusOf(relay, `/v1/merged?videoIds=${MINE}&channels=${named},@other`), 401);
        assert.equal(await statusOf(relay, `/v1/merged?videoIds=${MINE}&channels=${named}`), 200);
      }
    });
  }

  it("opens the handle of a channel that it names by id once the channel's pages have shown it", async () => {
    await using relay = await limited(`watch:${mine}`);
    assert.equal(await statusOf(relay, "/v1/stream?channel=@mine"), 401);
    assert.equal(await statusOf(relay, `/v1/stream?channel=${mine}`), 200);
    assert.equal(await statusOf(relay, "/v1/stream?channel=@mine"), 200);
  });

  for (const where of ["an instance", "an edge"])
    it(`opens the channel under another name once a page has shown that both are one, at ${where}`, async () => {
      const RELAY_ADMIN_TOKEN = "an-admin-of-all-rights";
      const settings = { RELAY_ADMIN_TOKEN, RELAY_PUBLIC: "watch:@mine" };
      const admin = bearer(RELAY_ADMIN_TOKEN);
      await using own = await startRelay({ upstream, settings });
      await using edge = await startTestEdge(own.url, { ...settings, RELAY_ORIGIN_TOKEN: RELAY_ADMIN_TOKEN });
      const relay = where === "an edge" ? edge : own;
      assert.equal(await statusOf(relay, "/v1/stream?channel=@mine"), 200);
      for (const name of [mine, "c/mine"]) {
        const path = `/v1/stream?channel=${name}`;
        if (name !== mine) assert.equal(await statusOf(relay, path), 401, "nothing is known of it");
        assert.equal(await statusOf(relay, path, admin), 200);
        assert.equal(await statusOf(relay, path), 200);
      }
      assert.equal(await statusOf(relay, "/v1/stream?channel=c/other", admin), 200);
      assert.equal(await statusOf(relay, "/v1/stream?channel=c/other"), 401);
    });

  it("opens stored messages without a call, also after a restart", async (t) => {
    const RELAY_STORE = await filledStore(t);
    const page = `/v1/messages?videoId=${MINE}`;
    await using relay = await limited("watch:@mine", { RELAY_STORE });
    const before = watchPages(MINE);
    assert.equal(await statusOf(relay, page), 200);
    assert.equal(watchPages(MINE), before);
  });

  it("costs one call for another channel's video, however often and by whatever route asked for", async () => {
    await using relay = await limited("watch:@mine");
    const before = watchPages(UNSTORED);
    const asked = [...routesOf(UNSTORED), ...routesOf(UNSTORED)];
    const statuses = await Promise.all(asked.map((path) => statusOf(relay, path)));
    assert.deepEqual(new Set(statuses), new Set([401]));
    assert.equal(await statusOf(relay, `/v1/stream?videoId=${UNSTORED}`), 401);
    assert.equal(watchPages(UNSTORED), before + 1);
    assert.equal(await statusOf(relay, "/v1/messages?videoId=no-such-vid"), 401);
  });

  it("is not denied by the page of a hidden video, which does not name its channel", async () => {
    await using relay = await limited("watch:@mine");
    const { status, body } = await ask<{ code: string; message: string }>(
      relay.url,
      `/v1/messages?videoId=${HIDDEN}`,
    );
    assert.deepEqual([status, body.code], [502, "UPSTREAM_ERROR"]);
    assert.match(body.message, /^The channel of the video could not be found out: .*private/);
  });

  it("in a token is checked by an edge of an edge, which asks its origin once", async () => {
    await using origin = await limited("watch", { RELAY_TOKEN_KEY: SECRET });
    await using between = await startTestEdge(origin.url);
    const settings = { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET };
    await using edge = await startTestEdge(between.url, settings);
    const headers = bearer(await signed({ relay: ["watch:@mine"] }));
    const before = watchPages(UNSTORED);
    for (let call = 0; call < 3; call++) {
      assert.equal(await statusOf(edge, `/v1/stream?videoId=${MINE}`, headers), 200);
      assert.equal(await statusOf(edge, `/v1/messages?videoId=${UNSTORED}`, headers), 403);
      assert.equal(await statusOf(edge, `/v1/messages?videoId=${UNSTORED}`), 401);
    }
    assert.equal(watchPages(UNSTORED), before + 1);
  });

  it("at an edge is enough for its own line, if the origin wants a token", async () => {
    const keys = { RELAY_TOKEN_KEY: SECRET };
    await using origin = await limited("none", keys);
    const RELAY_ORIGIN_TOKEN = await signed({ relay: ["watch", "rooms"] });
    await using edge = await startTestEdge(origin.url, { RELAY_ORIGIN_TOKEN, RELAY_PUBLIC: "watch,rooms" });
    await using stream = await Stream.open(edge.url, { videoId: MINE });
    await stream.untilMessages(3);
    assert.equal(await statusOf(edge, `/v1/messages?videoId=${MINE}`), 200);
    assert.equal(await statusOf(edge, "/v1/rooms"), 200);
  });

  it("at an edge without a token for its origin is answered 503: no viewer's token is to blame", async () => {
    await using origin = await limited("none", { RELAY_TOKEN_KEY: SECRET });
    for (const RELAY_ORIGIN_TOKEN of ["", await signed({ relay: ["watch"], exp: 1 })]) {
      await using edge = await startTestEdge(origin.url, { RELAY_ORIGIN_TOKEN });
      for (const path of [`/v1/stream?videoId=${MINE}`, `/v1/messages?videoId=${MINE}`, "/v1/rooms"])
        assert.equal(await statusOf(edge, path), 503, path);
    }
  });
});

/** What the service asks of its store every few seconds, with and without requests. */
const PERIODIC: ReadonlySet<string> = new Set(["oneTooMany", "runRecordings"]);

/** How often the store has done each operation until now, but for the periodic ones. */
async function storeOperations({ telemetry }: TestRelay): Promise<Map<string, number>> {
  const told = await telemetry.registry.getSingleMetricAsString("relay_store_operations_total");
  const lines = told.matchAll(/^relay_store_operations_total\{kind="(\w+)"\} (\d+)$/gm);
  const counts = Array.from(lines, ([, kind = "", count]) => [kind, Number(count)] as const);
  return new Map(counts.filter(([kind]) => !PERIODIC.has(kind)));
}

describe("a refusal of a video of another channel", () => {
  const NAMES = /^(date|keep-alive|connection)$/;
  const refusalOf = async (relay: TestRelay, path: string, headers: Record<string, string>) => {
    const pages = () => watchPages(STORED) + watchPages(UNSTORED); // rooms that are read load others
    const before = pages();
    const operationsBefore = await storeOperations(relay);
    const { status, headers: sent, body } = await ask(relay.url, path, { headers });
    const told = [...sent].filter(([name]) => !NAMES.test(name));
    const operations = Array.from(await storeOperations(relay), ([kind, count]) => [
      kind,
      count - (operationsBefore.get(kind) ?? 0),
    ]).filter(([, count]) => count !== 0);
    return { status, told, body, loads: pages() - before, operations };
  };

  it("has the same bytes, headers, page loads and store operations whether the video is stored or not", async (t) => {
    const RELAY_STORE = await filledStore(t);
    // Only who may watch a channel has the page of a video looked at, which may fail.
    const FAULTS = [undefined, { status: 429 }, { status: 503 }];
    const ways: [Record<string, string>, Record<string, string>, faults?: typeof FAULTS][] = [
      [{ RELAY_PUBLIC: "watch:@mine" }, {}, FAULTS],
      [{ RELAY_PUBLIC: "watch:@mine", RELAY_TOKEN_KEY: SECRET }, {}],
      [
        { RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET },
        bearer(await signed({ relay: ["watch:@mine", `watch:${MINE}`, "rooms", "probe", "poll", "record"] })),
        FAULTS,
      ],
      [{ RELAY_PUBLIC: "none", RELAY_TOKEN_KEY: SECRET }, {}],
      [{ RELAY_PUBLIC: `watch:${MINE}` }, {}],
    ];
    for (const [settings, headers, faults = [undefined]] of ways) {
      for (const fault of faults) {
        const active = fault && upstream.fault({ on: ["watch"], times: Number.POSITIVE_INFINITY, as: fault });
        await using relay = await startRelay({ upstream, settings: { ...settings, RELAY_STORE } });
        for (const kind of ["prune", "tallyRooms"]) // of the start
          await eventually(1, () => metric(relay, `relay_store_operations_total{kind="${kind}"}`));
        for (let place = 0; place < routesOf("").length; place++) {
          const [stored = "", unstored = ""] = [STORED, UNSTORED].map((video) => routesOf(video)[place]);
          // The first is asked first by turns, as it pays for the look.
          const asked = place % 2 === 0 ? [stored, unstored] : [unstored, stored];
          const answers = [];
          for (const path of asked) answers.push(await refusalOf(relay, path, headers));
          const [one, other] = answers;
          assert.ok((one?.status ?? 0) >= 400, stored);
          if (!fault) assert.deepEqual(one, other, `${JSON.stringify(settings)} ${stored}`);
          else assert.deepEqual([one?.status, one?.body], [other?.status, other?.body], stored);
        }
        active?.cancel();
      }
    }
  });
});

describe("the look at a video's page", () => {
  const AWAY = new UpstreamError("unusable", "away");
  const sourcesOf = (names: Record<string, string[]>, failure: Error = AWAY) => {
    const asked: string[] = [];
    const remembered: string[] = [];
    return {
      asked,
      remembered,
      keyOf: (videoId: string) => videoId,
      stored: async () => [],
      remember: async (videoId: string) => void remembered.push(videoId),
      ask: async ({ videoId }: { videoId: string }) => {
        asked.push(videoId);
        return names[videoId] ?? Promise.reject(failure);
      },
    };
  };
  const never = new AbortController().signal;
  const openings = new OpeningQueue<OpeningTurn>(new FakeClock(), 1, () => undefined);
  const address = () => "192.0.2.1";

  /** Looks at pages that show these names of their videos' channels; a look at any other page fails. */
  function looked(names: Record<string, string[]>) {
    const clock = new FakeClock();
    const sources = sourcesOf(names);
    const channels = new VideoChannels(sources, openings, clock, never);
    const isOf = (name: string, videoId: string) => channels.isVideoOf(videoId, [name], address, never);
    return { clock, sources, isOf };
  }

  it("waits in the line of each address that asks", async () => {
    const queue = new OpeningQueue<OpeningTurn>(new FakeClock(), 2, () => undefined);
    const waits: VideoChannelSources["ask"] = async (_, queued, signal) => {
      await queued.turn("unknown", signal);
      return [];
    };
    const channels = new VideoChannels({ ...sourcesOf({}), ask: waits }, queue, new FakeClock(), never);
    const refused = new Set<string>();
    const asks = async (videoId: string, from: string) => {
      channels
        .isVideoOf(videoId, ["@mine"], () => from, never)
        .catch(() => refused.add(`${from} ${videoId}`));
      await nextTurn();
    };
    await asks(MINE, "flood");
    await asks(MINE, "other");
    for (let i = 0; i < 5; i++) await asks(`made-up-00${i}`, "flood");
    assert.ok(refused.has("flood made-up-000"));
    assert.ok(!refused.has(`other ${MINE}`));
  });

  it("is remembered for ten minutes", async () => {
    const { clock, sources, isOf } = looked({ [MINE]: ["UCmine", "@mine"] });
    assert.equal(await isOf("@mine", MINE), true);
    await clock.advance(599_000);
    assert.equal(await isOf("@mine", MINE), true);
    assert.deepEqual(sources.asked, [MINE]);
    await clock.advance(1000);
    assert.equal(await isOf("@mine", MINE), true);
    assert.deepEqual(sources.asked, [MINE, MINE]);
  });

  it("is one for all channels that are asked about", async () => {
    const { sources, isOf } = looked({ [MINE]: ["UCmine", "@mine"] });
    assert.equal(await isOf("@mine", MINE), true);
    assert.equal(await isOf("@other", MINE), false);
    assert.deepEqual(sources.asked, [MINE]);
  });

  it("is remembered for half a minute if it failed", async () => {
    const { clock, sources, isOf } = looked({});
    await assert.rejects(isOf("@mine", STORED), /away/);
    await clock.advance(29_000);
    await assert.rejects(isOf("@mine", STORED), /away/);
    assert.equal(sources.asked.length, 1);
    await clock.advance(1000);
    await assert.rejects(isOf("@mine", STORED), /away/);
    assert.equal(sources.asked.length, 2);
  });

  it("is stored with the video unless it failed", async () => {
    const { sources, isOf } = looked({ [MINE]: ["UCmine", "@mine"] });
    await isOf("@mine", MINE);
    await assert.rejects(isOf("@mine", STORED), /away/);
    assert.deepEqual(sources.remembered, [MINE]);
  });

  for (const [why, failure] of [
    ["its origin is away", new OriginAwayError("it does not answer")],
    ["its address asks for too many videos", atCapacity("openings")],
  ] as const)
    it(`is repeated for the next client if it was not made because ${why}`, async () => {
      const sources = sourcesOf({}, failure);
      const channels = new VideoChannels(sources, openings, new FakeClock(), never);
      for (const count of [1, 2]) {
        await assert.rejects(channels.isVideoOf(MINE, ["@mine"], address, never), failure);
        assert.equal(sources.asked.length, count);
      }
    });

  it("gives a name to the channel whose page has shown it last", () => {
    const channels = new VideoChannels(sourcesOf({}), openings, new FakeClock(), never);
    const [before, after] = [`UC${"a".repeat(22)}`, `UC${"b".repeat(22)}`];
    for (const id of [before, after]) channels.learn([id, "@mine"]);
    channels.learn(["@mine", "@other"]); // says nothing
    const isAmong = (name: string, of: string) => channels.isAmong(name, [of]);
    assert.deepEqual(
      [isAmong("@mine", before), isAmong("@mine", after), isAmong(after, "@mine")],
      [false, true, true],
    );
    assert.deepEqual([isAmong("@mine", "@other"), isAmong(before, after)], [false, false]);
  });

  it("opens nothing for a client that left while the store was slow", async () => {
    const gone = new AbortController();
    const stored = async () => {
      gone.abort(new Error("the client left"));
      return ["@mine"];
    };
    const channels = new VideoChannels({ ...sourcesOf({}), stored }, openings, new FakeClock(), never);
    const opened = channels.isVideoOf(MINE, ["@mine"], address, gone.signal);
    await assert.rejects(opened, { message: "the client left" });
  });

  it("is refused as the service is while it stops", async () => {
    const stopped = new AbortController();
    const sources = {
      ...sourcesOf({}),
      ask: (_question: object, _queued: unknown, signal: AbortSignal) =>
        new Promise<string[]>((_, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
        }),
    };
    const channels = new VideoChannels(sources, openings, new FakeClock(), stopped.signal);
    const asked = channels.isVideoOf(MINE, ["@mine"], address, never);
    setImmediate(() => stopped.abort());
    await assert.rejects(asked, { code: "CAPACITY", capacityCause: "stopping" });
  });

  it("is forgotten, the oldest first, before its memory grows without end", async () => {
    const clock = new FakeClock();
    const many = Array.from({ length: 10_001 }, (_, index) => `v${index}`);
    const sources = sourcesOf(Object.fromEntries(many.map((videoId) => [videoId, []])));
    const channels = new VideoChannels(sources, openings, clock, never);
    for (const videoId of many) await channels.isVideoOf(videoId, ["@mine"], address, never);
    await channels.isVideoOf("v5", ["@mine"], address, never);
    assert.equal(sources.asked.length, many.length);
    await channels.isVideoOf("v0", ["@mine"], address, never);
    assert.equal(sources.asked.length, many.length + 1);
  });
});
