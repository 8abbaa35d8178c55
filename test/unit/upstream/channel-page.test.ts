/** What pages of channels say of streams: the simulator's, hostile ones, and walls in their place. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import { readChannelPage } from "../../../src/upstream/page/channel-page.ts";
import { channelData } from "../../../src/upstream/page/initial-data.ts";
import { HOUR, LIVE, page, simulated, TAB, tabPage } from "../../support/channel-pages.ts";

describe("the simulator's channel", () => {
  for (const layout of ["videoRenderer", "lockupViewModel"] as const) {
    it(`lists scheduled, live and finished streams, the newest first, as ${layout}`, async () => {
      const { channel, clock, read } = simulated({ layout });
      const first = channel.broadcast("live-first1");
      channel.broadcast("members-on1", { isMembersOnly: true });
      await clock.advance(HOUR);
      channel.broadcast("live-secon1");
      const freeChat = channel.broadcast("free-chat-1", { startsAt: clock.now() + 5000 * HOUR });
      const next = channel.broadcast("scheduled-1", { startsAt: clock.now() + HOUR });
      channel.broadcast("over-is-it1").end();
      const shown = async () => {
        const tab = await read(TAB);
        assert.ok(tab.shows === "streams");
        const upcoming = tab.upcoming.map(({ videoId, startsAt }) => [videoId, startsAt]);
        return { live: tab.live, upcoming };
      };
      const times = layout === "videoRenderer";
      const at = (ms: number) => (times ? ms : undefined);
      assert.deepEqual(await shown(), {
        live: ["live-secon1", "live-first1"],
        upcoming: [
          ["free-chat-1", at(freeChat.startsAt)],
          ["scheduled-1", at(next.startsAt)],
        ],
      });
      first.end();
      next.reschedule(clock.now() + 6000 * HOUR);
      channel.remove(freeChat);
      assert.deepEqual(await shown(), {
        live: ["live-secon1"],
        upcoming: [["scheduled-1", at(next.startsAt)]],
      });
    });
  }

  it("shows one watch page or the channel's home at /live, as the real one does", async () => {
    const { channel, clock, read } = simulated();
    const shown = async () => {
      const found = await read(LIVE);
      return found.shows === "watch" ? (found.live[0] ?? found.upcoming[0]?.videoId) : found.shows;
    };
    assert.equal(await shown(), "other");
    channel.broadcast("free-chat-1", { startsAt: clock.now() + 5000 * HOUR });
    assert.equal(await shown(), "free-chat-1");
    const next = channel.broadcast("scheduled-1", { startsAt: clock.now() + HOUR });
    assert.equal(await shown(), "scheduled-1");
    channel.change({ livePage: "alone" });
    assert.equal(await shown(), "other");
    next.start();
    channel.change({ livePage: "scheduled" });
    assert.equal(await shown(), "free-chat-1");
    channel.change({ livePage: "picked" });
    assert.equal(await shown(), "scheduled-1");
    channel.broadcast("members-on1", { isMembersOnly: true });
    assert.equal(await shown(), "scheduled-1");
    channel.broadcast("live-secon1");
    assert.equal(await shown(), "other");
  });

  it("has the same pages under its handle, its id and its custom name", async () => {
    const { channel, load } = simulated();
    channel.broadcast("live-first1");
    const names = ["@AiraniIofifteen", `channel/${channel.channelId}`, "c/AiraniIofifteen", "@other"];
    const answers = await Promise.all(names.map((name) => load(`/${name}/streams`)));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 404],
    );
  });

  it("is gone, or reports an alert", async () => {
    const { channel, load, read } = simulated({ state: "gone" });
    assert.equal((await load(LIVE)).status, 404);
    channel.change({ state: "terminated" });
    const why = "This channel does not exist.";
    for (const path of [LIVE, TAB])
      assert.deepEqual(await read(path), { shows: "nothing", means: "absent", why });
  });
});

describe("a page of a channel", () => {
  it("that is a wall does not count as a channel without streams", async () => {
    const { channel, upstream, read } = simulated();
    channel.broadcast("live-first1");
    for (const [wall, why] of [
      ["consent", /consent to cookies/],
      ["no-data", /no initial data/],
      ["bot", /asks this server to sign in/],
    ] as const) {
      for (const [on, path] of [
        ["live", LIVE],
        ["streams", TAB],
      ] as const) {
        upstream.fault({ on, times: 1, as: wall });
        const found = await read(path);
        assert.ok(found.shows === "nothing" && found.means === "wall", `${wall} on ${on}`);
        assert.match(found.why, why);
      }
    }
    assert.equal((await read(LIVE)).shows, "watch");
  });

  it("in an unknown layout is a wall, and a single item of another kind is skipped", () => {
    const tabs = [{ title: "Live", url: "/@a/streams", selected: true }];
    const strange = { brandNewViewModel: { contentId: "live-first1" } };
    const known = { videoRenderer: { videoId: "over-is-it1", thumbnailOverlays: [] } };
    const read = (items: JsonObject[]) =>
      readChannelPage(tabPage({ tabs, items, channelMetadataRenderer: {} }));
    assert.deepEqual(read([strange, strange]), {
      shows: "nothing",
      means: "wall",
      wallOf: "video",
      why: "the streams tab is of an unknown form",
    });
    const empty = { shows: "streams", live: [], upcoming: [], others: [] };
    assert.deepEqual(read([strange, known]), { ...empty, others: ["over-is-it1"] });
    assert.deepEqual(read([]), empty);
  });

  it("shows a live stream by either sign, and prefers the slate's time to the broadcast's", () => {
    const videoId = "live-first1";
    const data = { contents: {}, currentVideoEndpoint: { watchEndpoint: { videoId } } };
    const read = (details: object, liveBroadcastDetails: object, playabilityStatus = {}) => {
      const microformat = { playerMicroformatRenderer: { liveBroadcastDetails } };
      const player = { playabilityStatus, videoDetails: { videoId, ...details }, microformat };
      const found = readChannelPage(page(data, player));
      return found.shows === "watch" && [found.live, found.upcoming];
    };
    const slateAt = (scheduledStartTime: string) => {
      const offlineSlate = { liveStreamOfflineSlateRenderer: { scheduledStartTime } };
      return { liveStreamability: { liveStreamabilityRenderer: { offlineSlate } } };
    };
    const startTimestamp = "2026-02-17T13:00:00+00:00";
    const startsAt = Date.parse(startTimestamp);
    for (const live of [read({ isLive: true }, {}), read({ isUpcoming: true }, { isLiveNow: true })])
      assert.deepEqual(live, [[videoId], []]);
    const isUpcoming = true;
    const slate = slateAt(String(startsAt / 1000 + 60));
    assert.deepEqual(read({ isUpcoming }, {}), [[], [{ videoId }]]);
    assert.deepEqual(read({ isUpcoming }, { startTimestamp }), [[], [{ videoId, startsAt }]]);
    assert.deepEqual(read({ isUpcoming }, { startTimestamp }, slate), [
      [],
      [{ videoId, startsAt: startsAt + 60_000 }],
    ]);
    assert.deepEqual(read({}, { isLiveNow: false, startTimestamp }), [[], []]);
  });

  it("with an alert means an absent channel only if it shows nothing else", () => {
    const alerts = [{ alertRenderer: { type: "ERROR", text: { simpleText: "<b>Gone.</b>" } } }];
    const absent = { shows: "nothing", means: "absent", why: "Gone." };
    assert.deepEqual(readChannelPage(page({ alerts })), absent);
    const why = "the page is of an unknown form";
    const wall = { shows: "nothing", means: "wall", why, wallOf: "video" };
    assert.deepEqual(readChannelPage(page({ alerts, contents: { brandNewRenderer: {} } })), wall);
    const info = [{ alertRenderer: { type: "INFO" } }, null];
    assert.deepEqual(readChannelPage(page({ alerts: info })), wall);
  });

  it("gives at most a hundred streams, and names of bounded length", () => {
    const tabs = [{ title: "Live", url: "/@a/streams", selected: true }];
    const overlay = { thumbnailOverlayTimeStatusRenderer: { style: "LIVE" } };
    const items = Array.from({ length: 5000 }, (_, i) => ({
      videoRenderer: { videoId: String(i).padStart(11, "0"), thumbnailOverlays: [overlay] },
    }));
    const channelMetadataRenderer = { title: "x".repeat(100_000), externalId: "UC/../../etc/passwd-secrets" };
    const tab = readChannelPage(tabPage({ tabs, items, channelMetadataRenderer }));
    assert.ok(tab.shows === "streams");
    assert.equal(tab.live.length, 100);
    assert.equal(tab.title?.length, 500);
    assert.equal(tab.channelId, undefined);
  });

  it("with odd data anywhere is read without an error, and gives only valid ids and times", async () => {
    const pages: { data: unknown; player: unknown }[] = [];
    for (const layout of ["videoRenderer", "lockupViewModel"] as const) {
      const { channel, clock, load } = simulated({ layout });
      channel.broadcast("scheduled-1", { startsAt: clock.now() + HOUR });
      const [live, tab] = [await load(LIVE), await load(TAB)].map(({ html }) => html);
      const player = /ytInitialPlayerResponse = (.*?);var meta/.exec(live ?? "")?.[1];
      pages.push({ data: channelData(tab ?? "").channel, player: undefined });
      pages.push({ data: channelData(live ?? "").channel, player: JSON.parse(player ?? "") });
      channel.broadcast("live-first1");
      pages.push({ data: channelData((await load(TAB)).html).channel, player: undefined });
    }
    const odd = [
      null,
      true,
      -1,
      1e300,
      "",
      "x".repeat(3000),
      "🎉",
      [],
      {},
      [[]],
      { runs: [null] },
      "-5",
      "1e9",
    ];
    const places = fc.array(fc.nat(), { minLength: 1, maxLength: 14 });
    fc.assert(
      fc.property(fc.constantFrom(...pages), places, fc.constantFrom(...odd), (original, place, value) => {
        const changed = structuredClone(original);
        replace(changed, place, value);
        const found = readChannelPage(page(changed.data, changed.player));
        if (found.shows === "nothing") return found.why.length < 500;
        const ids = [...found.live, ...found.upcoming.map(({ videoId }) => videoId)];
        const times = found.upcoming.map(({ startsAt = Date.UTC(2026, 0) }) => new Date(startsAt));
        return (
          ids.every((id) => /^[\w-]{11}$/.test(id)) &&
          times.every((time) => time.getUTCFullYear() >= 2005 && time.getUTCFullYear() < 2100)
        );
      }),
      { seed: 1, numRuns: 2000 },
    );
  });
});

/** Puts the value in place of the one to which the numbers lead. */
function replace(holder: unknown, [step = 0, ...rest]: readonly number[], value: unknown): void {
  if (typeof holder !== "object" || holder === null) return;
  const keys = Object.keys(holder);
  const key = keys[step % keys.length];
  if (key === undefined) return;
  const held = (holder as JsonObject)[key];
  if (rest.length > 0 && typeof held === "object" && held !== null) replace(held, rest, value);
  else (holder as JsonObject)[key] = value;
}
