/** What the pages of channels say of streams: in recordings, in the simulator's pages, and in odd ones. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { simulateInProcess } from "../src/simulator/index.ts";
import type { JsonObject } from "../src/simulator/json.ts";
import { type ChannelPage, readChannelPage } from "../src/upstream/page/channel-page.ts";
import { initialData } from "../src/upstream/page/initial-data.ts";
import { FakeClock } from "./support/fake-clock.ts";
import { noRecordings, recordedJson, recordedText } from "./support/recorded.ts";

const HOUR = 3_600_000;
const CHANNEL_ID = "UCAoy6rzhSf4ydcYjJw3WoVg";

/** What the recordings keep of a channel's page. */
interface CutTab {
  tabs: { title: string; url: string; selected?: boolean }[];
  channelMetadataRenderer: JsonObject;
  items: JsonObject[];
  liveElsewhere: JsonObject[];
}

/** What they keep of a watch page. */
interface CutWatchPage {
  currentVideoEndpoint: JsonObject;
  playerResponse: JsonObject;
  liveElsewhere: JsonObject[];
}

const script = (name: string, data: unknown) => `<script>var ${name} = ${JSON.stringify(data)};</script>`;
const page = (data: unknown, player?: unknown) =>
  `<html>${player ? script("ytInitialPlayerResponse", player) : ""}${script("ytInitialData", data)}</html>`;

/** The page that a recorded tab was cut from. */
function tabPage({ tabs, channelMetadataRenderer, items }: Omit<CutTab, "liveElsewhere">): string {
  const contents = items.map((content) => ({ richItemRenderer: { content } }));
  const tabRenderers = tabs.map(({ title, url, selected }) => ({
    tabRenderer: {
      title,
      endpoint: { commandMetadata: { webCommandMetadata: { url } } },
      ...(selected && { selected, content: { richGridRenderer: { contents } } }),
    },
  }));
  return page({
    contents: { twoColumnBrowseResultsRenderer: { tabs: tabRenderers } },
    metadata: { channelMetadataRenderer },
  });
}

function watchPage({ currentVideoEndpoint, playerResponse }: CutWatchPage): string {
  const { liveBroadcastDetails, ...player } = playerResponse;
  const microformat = { playerMicroformatRenderer: { liveBroadcastDetails } };
  const data = { contents: { twoColumnWatchNextResults: {} }, currentVideoEndpoint };
  return page(data, { ...player, microformat });
}

/** A simulated channel, and the HTML of its pages. */
function simulated(scenario: Parameters<ReturnType<typeof simulateInProcess>["channel"]>[1] = {}) {
  const clock = new FakeClock();
  const upstream = simulateInProcess({ clock });
  const channel = upstream.channel("@AiraniIofifteen", scenario);
  const load = async (path: string) => {
    const request = { method: "GET", url: upstream.urls.main + path, headers: {} };
    const { status, body } = await upstream.exchange(request, new AbortController().signal);
    return { status, html: Buffer.concat(await Array.fromAsync(body)).toString() };
  };
  const read = async (path: string) => readChannelPage((await load(path)).html);
  return { clock, upstream, channel, load, read };
}

const TAB = "/@airaniiofifteen/streams?hl=en";
const LIVE = "/@airaniiofifteen/live?hl=en";

/** The names of all fields, each with the path to it; elements of lists are not told apart. */
function fields(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((element) => fields(element, `${path}[]`));
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, field]) => fields(field, `${path}.${name}`));
}

function itemsOf(html: string): unknown[] {
  const browsed = initialData(html)?.contents as { twoColumnBrowseResultsRenderer: { tabs: unknown[] } };
  const all = JSON.stringify(browsed.twoColumnBrowseResultsRenderer.tabs);
  return JSON.parse(/"richGridRenderer":\{"contents":(\[.*\])\}/.exec(all)?.[1] ?? "[]");
}

describe("recorded pages of channels", { skip: noRecordings }, () => {
  const older = () => recordedJson("channels/streams-2026-02.json") as CutTab;
  const newer = () => recordedJson("channels/streams-2026-04-lockup.json") as CutTab;
  const upcoming = () => recordedJson("channels/live-upcoming-2026-02.json") as CutWatchPage;
  const STARTS_AT = Date.UTC(2026, 1, 17, 13);

  it("list streams in the older layout, the time with each", () => {
    assert.deepEqual(readChannelPage(tabPage(older())), {
      shows: "streams",
      channelId: CHANNEL_ID,
      title: "Airani Iofifteen Channel hololive-ID",
      live: [],
      upcoming: [{ videoId: "c2lb7tb1SEA", startsAt: STARTS_AT }],
    });
  });

  it("list streams in the newer layout, in any language, without times", () => {
    assert.deepEqual(readChannelPage(tabPage(newer())), {
      shows: "streams",
      channelId: "UCgmPnx-EEeOrZSg5Tiw7ZRQ",
      title: "Hakos Baelz Ch. hololive-EN",
      live: [],
      upcoming: [{ videoId: "197OEpjj8RI", note: "Geplant für: 31.08.27, 07:00" }],
    });
  });

  it("mark a live stream by the style of its badge, wherever on the thumbnail it is", () => {
    const live = upcoming().liveElsewhere.map((lockupViewModel) => ({ lockupViewModel }));
    const items = [...newer().items, ...live];
    const tab = readChannelPage(tabPage({ ...newer(), items }));
    assert.deepEqual(tab.shows === "streams" && tab.live, ["ywURoa_htrg"]);
  });

  it("are a watch page where /live shows a stream", () => {
    const channelId = CHANNEL_ID;
    assert.deepEqual(readChannelPage(watchPage(upcoming())), {
      ...{ shows: "watch", videoId: "c2lb7tb1SEA", live: [] },
      ...{ channelId, title: "Airani Iofifteen Channel hololive-ID" },
      upcoming: [{ videoId: "c2lb7tb1SEA", startsAt: STARTS_AT }],
    });
    assert.deepEqual(readChannelPage(recordedText("pages/watch-live-2026.html")), {
      ...{ shows: "watch", videoId: "qT5OTDvJK1Q", live: ["qT5OTDvJK1Q"], upcoming: [] },
      ...{ channelId: "UCa9Y57gfeY0Zro_noHRVrnw", title: "Luna Ch. 姫森ルーナ" },
    });
  });

  for (const [layout, recording] of [
    ["videoRenderer", older],
    ["lockupViewModel", newer],
  ] as const) {
    it(`have all fields of the simulator's ${layout}`, async () => {
      const { channel, clock, load } = simulated({ layout });
      channel.broadcast("scheduled-1", { startsAt: clock.now() + HOUR });
      const ended = ["ended-one-1", "ended-two-1"].map((videoId) =>
        channel.broadcast(videoId, { isMembersOnly: videoId === "ended-two-1" }),
      );
      await clock.advance(2 * HOUR);
      for (const broadcast of ended) broadcast.end();
      const known = new Set(fields(recording().items.map((content) => ({ richItemRenderer: { content } }))));
      assert.deepEqual(
        fields(itemsOf((await load(TAB)).html)).filter((field) => !known.has(field)),
        [],
      );
    });

    it(`are read like the simulator's, made of ${layout}`, async () => {
      const { title, externalId } = recording().channelMetadataRenderer;
      const { channel, read } = simulated({ layout, title: String(title), language: "de" });
      const recorded = readChannelPage(tabPage(recording()));
      assert.ok(recorded.shows === "streams");
      const [next] = recorded.upcoming;
      const startsAt = next?.startsAt ?? Date.UTC(2027, 7, 31, 7);
      channel.broadcast(next?.videoId ?? "", { startsAt });
      channel.broadcast("Vo8T10A1o6M").end();
      const { channelId, ...rest } = (await read(TAB)) as typeof recorded;
      assert.deepEqual({ ...rest, channelId: externalId }, recorded);
      assert.match(channelId ?? "", /^UC[\w-]{22}$/);
    });
  }

  it("are read like the simulator's watch page", async () => {
    const { channel, read } = simulated({ title: "Airani Iofifteen Channel hololive-ID" });
    channel.broadcast("c2lb7tb1SEA", { startsAt: STARTS_AT });
    const { channelId: _, ...rest } = (await read(LIVE)) as typeof recorded;
    const recorded = readChannelPage(watchPage(upcoming())) as Extract<ChannelPage, { live: unknown }>;
    assert.deepEqual({ ...rest, channelId: CHANNEL_ID }, recorded);
  });
});

describe("the simulator's channel", () => {
  for (const layout of ["videoRenderer", "lockupViewModel"] as const) {
    it(`lists what is scheduled, live and over, the newest first, as ${layout}`, async () => {
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

  it("shows at /live what the real one does: one watch page, or the channel's home", async () => {
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

  it("is gone, or says so in an alert", async () => {
    const { channel, load, read } = simulated({ state: "gone" });
    assert.equal((await load(LIVE)).status, 404);
    channel.change({ state: "terminated" });
    const why = "This channel does not exist.";
    for (const path of [LIVE, TAB])
      assert.deepEqual(await read(path), { shows: "nothing", means: "absent", why });
  });
});

describe("a page of a channel", () => {
  it("that is a wall is not a channel without streams", async () => {
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

  it("in a layout that nobody knows is a wall, and one item of another kind is passed over", () => {
    const tabs = [{ title: "Live", url: "/@a/streams", selected: true }];
    const strange = { brandNewViewModel: { contentId: "live-first1" } };
    const known = { videoRenderer: { videoId: "over-is-it1", thumbnailOverlays: [] } };
    const read = (items: JsonObject[]) =>
      readChannelPage(tabPage({ tabs, items, channelMetadataRenderer: {} }));
    assert.deepEqual(read([strange, strange]), {
      ...{ shows: "nothing", means: "wall" },
      why: "the streams tab is of an unknown form",
    });
    assert.deepEqual(read([strange, known]), { shows: "streams", live: [], upcoming: [] });
    assert.deepEqual(read([]), { shows: "streams", live: [], upcoming: [] });
  });

  it("is of a live stream by either of its signs, and names the slate's time before the broadcast's", () => {
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

  it("with an alert is absent only if it shows nothing else", () => {
    const alerts = [{ alertRenderer: { type: "ERROR", text: { simpleText: "<b>Gone.</b>" } } }];
    const absent = { shows: "nothing", means: "absent", why: "Gone." };
    assert.deepEqual(readChannelPage(page({ alerts })), absent);
    const wall = { shows: "nothing", means: "wall", why: "the page is of an unknown form" };
    assert.deepEqual(readChannelPage(page({ alerts, contents: { brandNewRenderer: {} } })), wall);
    const info = [{ alertRenderer: { type: "INFO" } }, null];
    assert.deepEqual(readChannelPage(page({ alerts: info })), wall);
  });

  it("is read up to a hundred streams, with names of ordinary length", () => {
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

  it("with odd data in any place is read without an error, and gives proper ids and times alone", async () => {
    const pages: { data: unknown; player: unknown }[] = [];
    for (const layout of ["videoRenderer", "lockupViewModel"] as const) {
      const { channel, clock, load } = simulated({ layout });
      channel.broadcast("scheduled-1", { startsAt: clock.now() + HOUR });
      const [live, tab] = [await load(LIVE), await load(TAB)].map(({ html }) => html);
      const player = /ytInitialPlayerResponse = (.*?);var meta/.exec(live ?? "")?.[1];
      pages.push({ data: initialData(tab ?? ""), player: undefined });
      pages.push({ data: initialData(live ?? ""), player: JSON.parse(player ?? "") });
      channel.broadcast("live-first1");
      pages.push({ data: initialData((await load(TAB)).html), player: undefined });
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
