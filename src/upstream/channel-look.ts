/**
 * One look at a channel: the streams that are live, and those that are scheduled. `/live` is the watch page
 * of one stream, often but not always of the right one; the streams tab lists all. So the first look loads
 * both, and later ones load the second only if the first shows nothing live. While a stream is known to be
 * live, the tab is loaded first, because it also shows other streams. Tabs of the newer layout show no times,
 * so a look loads up to two watch pages for them.
 */
import { omitUndefined } from "../base/json.ts";
import { RelayError } from "../protocol/errors.ts";
import type { UpstreamCalls } from "./calls.ts";
import type { CallOptions } from "./egress/flights.ts";
import type { ChannelNames, ChannelSight, ScheduledStream } from "./page/channel-page.ts";
import { readChannelPage } from "./page/channel-page.ts";
import { PageLoads } from "./page-loads.ts";
import { UpstreamError } from "./upstream-error.ts";

const MAX_TIMES = 2;
/** Looks at channels that are known to exist go before looks at names that may be made up. */
const KNOWN_PRIORITY_MS = 60_000;

export interface ChannelLook extends ChannelSight {
  /** Whether this is all that the channel shows; else there may be more streams. */
  isComplete: boolean;
}

/** What earlier looks at a channel have found. Its caller keeps it from look to look. */
export class ChannelMemory {
  /** Undefined before the first successful look. */
  last: ChannelLook | undefined;
  /**
   * The times of scheduled streams that only their watch pages show, each with the note that the tab had at
   * that time.
   */
  readonly times = new Map<string, { note: string | undefined; stream: ScheduledStream | undefined }>();
}

type Tab = "live" | "streams";

/**
 * Rejects with `RelayError` NO_LIVE_CHAT if there is no such channel, and with `UpstreamError` "throttled" or
 * "unusable" if a page could not be read, and the other one shows neither a stream nor the whole list.
 */
export async function lookAtChannel(
  channel: string,
  memory: ChannelMemory,
  calls: UpstreamCalls,
  signal: AbortSignal,
): Promise<ChannelLook> {
  const priorityMs = memory.last ? KNOWN_PRIORITY_MS : 0;
  const options: CallOptions = { lane: "look", maxCooldownMs: 0, priorityMs, signal };
  const loads = new PageLoads(calls, options);
  const isLive = memory.last !== undefined && memory.last.live.length > 0;
  const tabs: readonly Tab[] = isLive ? ["streams", "live"] : ["live", "streams"];
  const seen = await pagesOf(channel, tabs, memory.last === undefined, loads);
  memory.last = await withTimes(seen, memory, loads);
  return memory.last;
}

/** Loads the second page if the first shows nothing live, or not the whole list at the first look. */
async function pagesOf(
  channel: string,
  tabs: readonly Tab[],
  isFirst: boolean,
  loads: PageLoads,
): Promise<ChannelLook> {
  const failures: UpstreamError[] = [];
  let look: ChannelLook = { live: [], upcoming: [], others: [], isComplete: false };
  for (const tab of tabs) {
    try {
      look = merged(look, await pageOf(channel, tab, loads));
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      failures.push(error);
    }
    if (look.live.length > 0 && (look.isComplete || !isFirst)) break;
  }
  const failure = failures.at(-1);
  if (!failure || look.isComplete || look.live.length + look.upcoming.length > 0) return look;
  // A single missing page may be a mistake of the upstream.
  if (failures.length < tabs.length || !failures.every(({ status }) => status === 404)) throw failure;
  throw new RelayError("NO_LIVE_CHAT", `There is no channel ${channel} on YouTube.`);
}

async function pageOf(channel: string, tab: Tab, loads: PageLoads): Promise<ChannelLook> {
  const html = await loads.page(`${pathOf(channel)}/${tab}?hl=en&gl=US`, `/@/${tab}`);
  const page = readChannelPage(html);
  if (page.shows === "nothing") {
    const is404 = page.means === "absent";
    const options = is404 ? ({ wallOf: "video", status: 404 } as const) : { wallOf: page.wallOf };
    throw new UpstreamError("unusable", page.why, options);
  }
  if (channel.startsWith("UC") && page.channelId !== undefined && page.channelId !== channel) {
    throw new UpstreamError("unusable", "YouTube shows another channel in its place", { wallOf: "video" });
  }
  const { live, upcoming, others, channelId, handle, title } = page;
  const isComplete = tab === "streams" && page.shows !== "watch";
  return { ...omitUndefined<ChannelNames>({ channelId, handle, title }), live, upcoming, others, isComplete };
}

function pathOf(channel: string): string {
  const path = channel.startsWith("UC") ? `channel/${channel}` : channel;
  return `/${path.split("/").map(encodeURIComponent).join("/").replace("%40", "@")}`;
}

/**
 * The streams of both pages together. A stream that is live on one of them counts as live; the order is that
 * of the tab.
 */
function merged(one: ChannelLook, other: ChannelLook): ChannelLook {
  const [first, second] = other.isComplete ? [other, one] : [one, other];
  const live = [...new Set([...first.live, ...second.live])];
  const upcoming = new Map<string, ScheduledStream>();
  for (const stream of [...first.upcoming, ...second.upcoming]) {
    if (!live.includes(stream.videoId))
      upcoming.set(stream.videoId, { ...stream, ...upcoming.get(stream.videoId) });
  }
  const others = [...first.others, ...second.others];
  return { ...second, ...first, live, upcoming: [...upcoming.values()], others };
}

/** The look with the times of scheduled streams, as far as they are known or their pages can be loaded. */
async function withTimes(
  look: ChannelLook,
  { times }: ChannelMemory,
  loads: PageLoads,
): Promise<ChannelLook> {
  const live = [...look.live];
  const upcoming: ScheduledStream[] = [];
  let pagesLeft = MAX_TIMES;
  // The tab lists the streams that begin last first.
  for (const stream of look.upcoming.toReversed()) {
    const { videoId, note } = stream;
    if (times.get(videoId)?.note !== note) times.delete(videoId);
    if (stream.startsAt !== undefined) times.set(videoId, { note, stream });
    else if (!times.has(videoId) && pagesLeft > 0) {
      const page = await watchPageOf(videoId, loads);
      pagesLeft = page ? pagesLeft - 1 : 0;
      if (page?.live.length) {
        live.unshift(videoId);
        continue;
      }
      if (page) times.set(videoId, { note, stream: page.upcoming[0] });
    }
    const known = times.get(videoId) ?? { stream };
    if (known.stream) upcoming.push(known.stream);
  }
  for (const videoId of times.keys()) {
    if (!look.upcoming.some((stream) => stream.videoId === videoId)) times.delete(videoId);
  }
  return { ...look, live, upcoming };
}

/** Undefined if it cannot be loaded, or is a wall or the page of another video. */
async function watchPageOf(videoId: string, loads: PageLoads): Promise<ChannelSight | undefined> {
  try {
    const page = readChannelPage(await loads.page(`/watch?v=${videoId}&hl=en&gl=US`));
    return page.shows === "watch" && page.videoId === videoId ? page : undefined;
  } catch (error) {
    if (error instanceof UpstreamError) return undefined;
    throw error;
  }
}
