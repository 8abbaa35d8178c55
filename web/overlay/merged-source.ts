/** Several chats in one list. Each is tried for ever, as the overlay of one chat tries it. */
import type { ChatError, Featured, Init } from "../../client/index.ts";
import { silentMs, watchfulFetch } from "../chat/keepalive.ts";
import { type ChatPlace, MergedConnection } from "../chat/merged-connection.ts";
import type { Parameters } from "../chat/parameters.ts";
import { SLOW_MS } from "../chat/sharing.ts";
import type { ShownMessage, SourceMark } from "../chat/shown-message.ts";
import { openChat } from "../chat/source.ts";
import { streamFetch } from "../chat/stream-fetch.ts";
import { MAX_CHATS, readLabels, readMarks } from "./source-marks.ts";

const PLACES = Array.from({ length: MAX_CHATS }, (_, at) => at + 1);
/** The state of the overlay is the first of these that a chat has. */
const STATES = ["open", "reconnecting", "connecting", "waiting", "ended", "failed"];

interface MergedSourceOptions {
  service: string;
  token: string | undefined;
  /** The overlay's: its videos and labels. Without a video, all live broadcasts of the channel are shown. */
  parameters: Parameters;
  channel: string;
  backfill: number;
  types: readonly string[] | undefined;
  /** Whether `feature` is called. */
  hasFeatured: boolean;
  failedMs(attempt: number): number;
  /** Milliseconds until the channel is asked for again; false: never. */
  waitAfter(error: ChatError, attempt: number): number | false | undefined;
  releasedMs: number;
  /** The next messages of the chat are its backfill. */
  begins(init: Init, mark: SourceMark): void;
  take(items: readonly (ShownMessage | "gap")[], mark: SourceMark): void;
  /** Another message of the chat is featured, or none. */
  feature(featured: Featured, mark: SourceMark): void;
  /** `code`: the error's, with `failed`. */
  showState(state: string, code?: string): void;
  /** Nothing was heard of the service for a while. */
  slow(): void;
  /** The service refused all chats before any was open. */
  refused(message: string, code: string): void;
  /** The service has said how a chat is, or the channel. */
  heard(): void;
  /** No id can be used. */
  none(): void;
}

export function openMerged(options: MergedSourceOptions): void {
  const states = new Map<string, string>();
  const begun = new Set<string>();
  let wasOpen = false;
  const stopSlow = (): void => clearTimeout(slow);
  /** The service has said how a chat is: the audience sees no more of the connection. */
  const heard = (): void => {
    wasOpen = true;
    stopSlow();
    options.heard();
  };
  const set = (videoId: string, state: string, code = ""): void => {
    states.set(videoId, state);
    const shown = STATES.find((each) => [...states.values()].includes(each));
    if (shown) options.showState(shown, code);
  };
  const placeOf = (mark: SourceMark): ChatPlace => {
    const { videoId } = mark;
    let failures = 0;
    const again = (waitMs: number): unknown => setTimeout(() => connection.goOn(videoId), waitMs);
    const lost = (): string => (begun.has(videoId) ? "reconnecting" : "connecting");
    return {
      opened: (init) => {
        failures = 0;
        heard();
        if (!begun.has(videoId)) options.begins(init, mark);
        begun.add(videoId);
      },
      take: (items) => options.take(items, mark),
      feature: (featured) => options.feature(featured, mark),
      status: {
        show: (state, detail = "", code = "") => {
          if (state !== "connecting") stopSlow();
          if (state === "failed" && !wasOpen && /^(?:UNAUTHORIZED|FORBIDDEN)$/.test(code))
            options.refused(detail, code);
          if (state === "failed") again(options.failedMs(failures++));
          const isReleased = state === "ended" && detail !== "no more continuations";
          if (isReleased) again(options.releasedMs);
          set(videoId, isReleased || state === "connecting" ? lost() : state, code);
        },
        wait: (state) => {
          if (state === "waiting") heard();
          else stopSlow();
          set(videoId, state === "waiting" ? state : lost());
        },
      },
    };
  };
  const { service, token, types, hasFeatured, parameters } = options;
  const isOfChannel = parameters.list("videoIds").length === 0;
  const labels = readLabels(parameters);
  const marks = readMarks(parameters, labels);
  if (marks.size === 0 && !isOfChannel) {
    options.none();
    return;
  }
  const slow = setTimeout(options.slow, SLOW_MS);
  const places = new Map([...marks].map(([videoId, mark]) => [videoId, placeOf(mark)] as const));
  const connection = new MergedConnection(places, { service, token, types, hasFeatured });
  connection.open(options.backfill);
  if (isOfChannel)
    joinBroadcasts(options, {
      stopSlow,
      heard,
      labels,
      wasOpen: () => wasOpen,
      isOver: (videoId) => states.get(videoId) === "ended",
      join: (mark) => connection.add(mark.videoId, placeOf(mark)),
    });
}

/** The chats of a channel's live broadcasts, as one list. */
interface ChannelChats {
  /** By video. */
  labels: ReadonlyMap<string, string>;
  stopSlow(): void;
  heard(): void;
  /** Whether the service has said how a chat or the channel is. */
  wasOpen(): boolean;
  isOver(videoId: string): boolean;
  join(mark: SourceMark): void;
}

/** All live broadcasts of a channel: one that begins joins the list, and the rows of one that ends stay. */
function joinBroadcasts(
  { service, token, channel, showState, refused, heard, waitAfter }: MergedSourceOptions,
  chats: ChannelChats,
): void {
  /** By video: its place among the marks. */
  const places = new Map<string, number>();
  const retry = (error: ChatError, attempt: number): number | false | undefined => {
    chats.stopSlow();
    const lost = chats.wasOpen() ? "reconnecting" : "connecting";
    if (places.size === 0) showState(error.code === "NO_LIVE_CHAT" ? "waiting" : lost);
    if (!chats.wasOpen() && /^40[13]$/.test(`${error.status}`)) refused(error.message, error.code);
    else if (error.status) heard();
    return waitAfter(error, attempt);
  };
  const fetch = streamFetch("standing=on&all=on", watchfulFetch(silentMs()));
  const source = { videoId: "", channel };
  const room = openChat(service, source, { types: ["gap"], backfill: 0, token, fetch, retry });
  room.on("channel", ({ state, videoId, live = state === "live" && videoId ? [videoId] : [] }) => {
    chats.heard();
    for (const each of [...places.keys()])
      if (!live.includes(each) && chats.isOver(each)) places.delete(each);
    for (const each of live) {
      const place = PLACES.find((free) => ![...places.values()].includes(free));
      if (places.has(each) || place === undefined) continue;
      places.set(each, place);
      chats.join({ videoId: each, place, label: chats.labels.get(each) ?? "" });
    }
    if (places.size === 0) showState("waiting");
  });
  room.on("error", ({ message, code }) => refused(message, code));
  room.on("message", () => {}); // without it, there is no connection
}
