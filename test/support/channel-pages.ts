/** Pages of channels: put together from what captures keep, or of a simulated channel. */
import { simulateInProcess } from "../../simulator/index.ts";
import type { JsonObject } from "../../simulator/plain-json.ts";
import { readChannelPage } from "../../src/upstream/page/channel-page.ts";
import { FakeClock } from "./fake-clock.ts";

export const HOUR = 3_600_000;

/** What the captures keep of a channel's page. */
export interface CutTab {
  tabs: { title: string; url: string; selected?: boolean }[];
  channelMetadataRenderer: JsonObject;
  items: JsonObject[];
  liveElsewhere: JsonObject[];
}

const script = (name: string, data: unknown) => `<script>var ${name} = ${JSON.stringify(data)};</script>`;
export const page = (data: unknown, player?: unknown) =>
  `<html>${player ? script("ytInitialPlayerResponse", player) : ""}${script("ytInitialData", data)}</html>`;

/** The page that a captured tab was cut from. */
export function tabPage({ tabs, channelMetadataRenderer, items }: Omit<CutTab, "liveElsewhere">): string {
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

/** A simulated channel, and the HTML of its pages. */
export function simulated(scenario: Parameters<ReturnType<typeof simulateInProcess>["channel"]>[1] = {}) {
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

export const TAB = "/@airaniiofifteen/streams?hl=en";
export const LIVE = "/@airaniiofifteen/live?hl=en";
