/** What captured pages of channels say of streams, and that the simulator's pages are like them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../simulator/plain-json.ts";
import { type ChannelPage, readChannelPage } from "../../src/upstream/page/channel-page.ts";
import { channelData } from "../../src/upstream/page/initial-data.ts";
import { capturedJson, capturedText, noCaptures } from "../support/captures.ts";
import { type CutTab, HOUR, LIVE, page, simulated, TAB, tabPage } from "../support/channel-pages.ts";

const CHANNEL_ID = "UCAoy6rzhSf4ydcYjJw3WoVg";

/** What they keep of a watch page. */
interface CutWatchPage {
  currentVideoEndpoint: JsonObject;
  playerResponse: JsonObject;
  liveElsewhere: JsonObject[];
}

function watchPage({ currentVideoEndpoint, playerResponse }: CutWatchPage): string {
  const { liveBroadcastDetails, ...player } = playerResponse;
  const microformat = { playerMicroformatRenderer: { liveBroadcastDetails } };
  const data = { contents: { twoColumnWatchNextResults: {} }, currentVideoEndpoint };
  return page(data, { ...player, microformat });
}

/** The names of all fields, each with the path to it; all elements of a list count as one. */
function fields(value: unknown, path = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((element) => fields(element, `${path}[]`));
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, field]) => fields(field, `${path}.${name}`));
}

function itemsOf(html: string): unknown[] {
  const browsed = channelData(html).channel?.contents as {
    twoColumnBrowseResultsRenderer: { tabs: unknown[] };
  };
  const all = JSON.stringify(browsed.twoColumnBrowseResultsRenderer.tabs);
  return JSON.parse(/"richGridRenderer":\{"contents":(\[.*\])\}/.exec(all)?.[1] ?? "[]");
}

describe("captured pages of channels", { skip: noCaptures }, () => {
  const older = () => capturedJson("channels/streams-2026-02.json") as CutTab;
  const newer = () => capturedJson("channels/streams-2026-04-lockup.json") as CutTab;
  const upcoming = () => capturedJson("channels/live-upcoming-2026-02.json") as CutWatchPage;
  const STARTS_AT = Date.UTC(2026, 1, 17, 13);

  it("list streams in the older layout, each with its time", () => {
    assert.deepEqual(readChannelPage(tabPage(older())), {
      shows: "streams",
      channelId: CHANNEL_ID,
      handle: "@airaniiofifteen",
      title: "Airani Iofifteen Channel hololive-ID",
      live: [],
      upcoming: [{ videoId: "c2lb7tb1SEA", startsAt: STARTS_AT }],
      others: ["Vo8T10A1o6M", "BHGiChjm0nk", "3nWMCorwpG8"],
    });
  });

  it("list streams in the newer layout, in any language, without times", () => {
    assert.deepEqual(readChannelPage(tabPage(newer())), {
      shows: "streams",
      channelId: "UCgmPnx-EEeOrZSg5Tiw7ZRQ",
      handle: "@hakosbaelz",
      title: "Hakos Baelz Ch. hololive-EN",
      live: [],
      upcoming: [{ videoId: "197OEpjj8RI", note: "Geplant für: 31.08.27, 07:00" }],
      others: ["E1LDcDGVnf0", "wiMp_zaCkU0", "DOZ8rRVH03c"],
    });
  });

  it("mark a live stream by the style of its badge, anywhere on the thumbnail", () => {
    const live = upcoming().liveElsewhere.map((lockupViewModel) => ({ lockupViewModel }));
    const items = [...newer().items, ...live];
    const tab = readChannelPage(tabPage({ ...newer(), items }));
    assert.deepEqual(tab.shows === "streams" && tab.live, ["ywURoa_htrg"]);
  });

  it("are a watch page if /live shows a stream", () => {
    const channelId = CHANNEL_ID;
    assert.deepEqual(readChannelPage(watchPage(upcoming())), {
      shows: "watch",
      videoId: "c2lb7tb1SEA",
      live: [],
      channelId,
      title: "Airani Iofifteen Channel hololive-ID",
      upcoming: [{ videoId: "c2lb7tb1SEA", startsAt: STARTS_AT }],
      others: [],
    });
    const replay = readChannelPage(capturedText("pages/watch-replay-2021.html"));
    assert.ok(replay.shows === "watch");
    const { live, upcoming: none, others, videoId } = replay;
    assert.deepEqual({ live, none, others }, { live: [], none: [], others: [videoId] });
    assert.deepEqual(readChannelPage(capturedText("pages/watch-live-2026.html")), {
      shows: "watch",
      videoId: "qT5OTDvJK1Q",
      live: ["qT5OTDvJK1Q"],
      upcoming: [],
      others: [],
      channelId: "UCa9Y57gfeY0Zro_noHRVrnw",
      handle: "@himemoriluna",
      title: "Luna Ch. 姫森ルーナ",
    });
  });

  for (const [layout, capture] of [
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
      const known = new Set(fields(capture().items.map((content) => ({ richItemRenderer: { content } }))));
      assert.deepEqual(
        fields(itemsOf((await load(TAB)).html)).filter((field) => !known.has(field)),
        [],
      );
    });

    it(`are read like the simulator's ${layout}`, async () => {
      const { title, externalId } = capture().channelMetadataRenderer;
      const { channel, clock, read } = simulated({ layout, title: String(title), language: "de" });
      const captured = readChannelPage(tabPage(capture()));
      assert.ok(captured.shows === "streams");
      const [next] = captured.upcoming;
      const startsAt = next?.startsAt ?? Date.UTC(2027, 7, 31, 7);
      channel.broadcast(next?.videoId ?? "", { startsAt });
      for (const videoId of captured.others.toReversed()) {
        channel.broadcast(videoId).end();
        await clock.advance(HOUR);
      }
      const { channelId, handle, ...rest } = (await read(TAB)) as typeof captured;
      assert.deepEqual({ ...rest, channelId: externalId, handle: captured.handle }, captured);
      assert.match(channelId ?? "", /^UC[\w-]{22}$/);
    });
  }

  it("are read like the simulator's watch page", async () => {
    const { channel, read } = simulated({ title: "Airani Iofifteen Channel hololive-ID" });
    channel.broadcast("c2lb7tb1SEA", { startsAt: STARTS_AT });
    const { channelId: _, handle: __, ...rest } = (await read(LIVE)) as typeof captured;
    const captured = readChannelPage(watchPage(upcoming())) as Extract<ChannelPage, { live: unknown }>;
    assert.deepEqual({ ...rest, channelId: CHANNEL_ID }, captured);
  });
});
