/**
 * Records each broadcast of a channel, for as long as the service runs or until the recording is deleted. One
 * that lacks a part is tried again even if the channel does not show it any more.
 */

import { pause } from "../../base/clock.ts";
import { withStop } from "../../base/error-message.ts";
import { backoffMs } from "../../base/retry.ts";
import { isOver } from "../../protocol/chat.ts";
import { chatOf } from "../../protocol/chat-key.ts";
import { ChatAbsent } from "../../protocol/chat-standing.ts";
import { isRefusal } from "../../protocol/errors.ts";
import { LookWaits } from "../../reading/look-waits.ts";
import { storedChats } from "../../serving/chat-choice.ts";
import type { ObservedStore } from "../../store/observed.ts";
import { ifUnavailable } from "../../store/store-error.ts";
import { recordedBroadcasts } from "../channels/broadcast-choice.ts";
import type { ChannelView, ChannelWatch } from "../channels/channel-watch.ts";
import { isReadToEnd, readChat } from "./record-chat.ts";
import {
  afterError,
  afterRoom,
  logWhy,
  type News,
  RETRY_MS,
  type RecorderParts,
  type RecordingRun,
  withStore,
} from "./recording-run.ts";

/** How many rooms are searched, the newest first, for broadcasts that the last run did not finish. */
const NEWEST_ROOMS = 1000;
/** The waits before a channel that does not exist is looked at again. */
const ABSENT_WAITS = { firstMs: RETRY_MS, maxMs: 600_000 };

/**
 * Records a channel: from its first look on, the broadcasts that the last run did not finish, live ones, and
 * scheduled ones from before their first message. Ends with the signal.
 */
export async function recordChannel(channel: string, parts: RecorderParts, run: RecordingRun): Promise<void> {
  const { egresses, telemetry } = parts;
  const recordings = new Map<string, AbortController>();
  /** The latest news of each broadcast that is wanted or still recorded. */
  const broadcastNews = new Map<string, News>();
  let channelNews: News = { state: "waiting" };
  const reportNow = () => {
    if (!run.signal.aborted) run.report(newsOf([...broadcastNews.values()], channelNews));
  };
  let unfinished = await withStore(() => unfinishedOf(channel, parts), { channel }, parts, run);
  const record = (videoId: string, watch: ChannelWatch) => {
    const left = new AbortController();
    recordings.set(videoId, left);
    const deleted = AbortSignal.any([run.deleted, left.signal]);
    const report = (news: News) => {
      broadcastNews.set(videoId, news);
      reportNow();
    };
    recordBroadcast(videoId, channel, watch, parts, { ...run, deleted, report })
      .catch((error: unknown) => logWhy(telemetry, { videoId }, error))
      .finally(() => recordings.delete(videoId));
  };
  const seen = ({ broadcasts, trouble }: ChannelView, watch: ChannelWatch) => {
    const wanted = recordedBroadcasts(broadcasts, egresses.witness.now).union(unfinished);
    unfinished = new Set();
    for (const { videoId, isFar } of broadcasts) {
      if (isFar && !wanted.has(videoId)) recordings.get(videoId)?.abort();
    }
    for (const videoId of wanted) if (!recordings.has(videoId)) record(videoId, watch);
    for (const videoId of broadcastNews.keys()) if (!recordings.has(videoId)) broadcastNews.delete(videoId);
    channelNews = trouble
      ? { state: trouble.isChatless ? "waiting" : "failed", error: withStop(trouble.why) }
      : { state: "waiting" };
    reportNow();
  };
  const failed = (error: unknown) => {
    channelNews = { ...afterError(error), state: "failed" };
    reportNow();
  };
  await follow(channel, parts, run.signal, seen, failed);
}

/** Watches a channel, after each failure of its watch with another one. Resolves when the signal aborts. */
async function follow(
  channel: string,
  { channels, clock, telemetry }: RecorderParts,
  signal: AbortSignal,
  seen: (view: ChannelView, watch: ChannelWatch) => void,
  failed: (error: unknown) => void,
): Promise<void> {
  let absences = 0;
  while (!signal.aborted) {
    let retryMs = RETRY_MS;
    try {
      using watch = channels.watch(channel, "");
      for await (const view of watch.views(signal)) {
        seen(view, watch);
        absences = 0;
      }
    } catch (error) {
      if (isRefusal(error, "NO_LIVE_CHAT")) retryMs = backoffMs(ABSENT_WAITS, absences++);
      if (!signal.aborted) {
        logWhy(telemetry, { channel }, error, retryMs);
        failed(error);
      }
    }
    await pause(clock, retryMs, signal);
  }
}

/**
 * The news of a channel's recording: those of a broadcast that is recorded, else of one that failed, else of
 * the channel's pages.
 */
function newsOf(broadcasts: readonly News[], channel: News): News {
  const last = (wanted: News["state"]) => broadcasts.findLast(({ state }) => state === wanted);
  return last("recording") ?? last("failed") ?? channel;
}

/**
 * Attempts to record a broadcast; after the last one, the next look at the channel decides. As long as a part
 * of it is missing (`lacksRest`), there are further attempts at the waits of `LookWaits`, since the channel
 * may not show the broadcast any more: until `hiddenMs` after the last one that has read its chat, or else
 * after the first one. Rejects only with a bug of ours.
 */
async function recordBroadcast(
  videoId: string,
  channel: string,
  watch: ChannelWatch,
  parts: RecorderParts,
  run: RecordingRun,
): Promise<void> {
  const { clock, recorded, settings } = parts;
  using _ = { [Symbol.dispose]: recorded.take(videoId) };
  const signal = AbortSignal.any([run.signal, run.deleted]);
  let retries: { waits: LookWaits; until: number } | undefined;
  for (;;) {
    const outcome = await attemptBroadcast(videoId, channel, watch, parts, { ...run, signal });
    if (outcome === "done" || signal.aborted) return;
    const now = clock.monotonic();
    if (outcome === "read" || !retries)
      retries = { waits: new LookWaits(settings, clock), until: now + settings.hiddenMs };
    if (now >= retries.until) return;
    await pause(clock, retries.waits.next(false), signal);
  }
}

/**
 * Resolves to "done" if the broadcast lacks no part (`lacksRest`), or if the attempt fails once the signal
 * has aborted; else to whether this attempt has read its chat.
 */
async function attemptBroadcast(
  videoId: string,
  channel: string,
  watch: ChannelWatch,
  parts: RecorderParts,
  run: RecordingRun,
): Promise<"done" | "read" | "unread"> {
  const { signal, report } = run;
  // While the store fails, it is unknown, so there is another attempt.
  const isLacking = () => lacksRest(videoId, parts.store).catch(ifUnavailable(true));
  try {
    const end = await readChat(videoId, parts, run, channel);
    report(end === "over" ? { state: "waiting" } : afterRoom(end));
    if (end !== "over") return (await isLacking()) ? "read" : "done";
    watch.over(videoId);
    return "done";
  } catch (error) {
    if (error instanceof ChatAbsent && error.absence.is !== "unknown") watch.failed(videoId, error);
    if (signal.aborted) return "done";
    logWhy(parts.telemetry, { videoId }, error);
    report(afterError(error));
    return (await isLacking()) ? "unread" : "done";
  }
}

/**
 * Whether a broadcast's live chat is stored, but not to its end: it is not over, as far as the store knows,
 * or it ends with a gap and the replay is not stored to its end. Rejects with `StoreError`.
 */
async function lacksRest(videoId: string, store: ObservedStore): Promise<boolean> {
  const [first, replay] = await storedChats(store, videoId);
  if (first?.key !== videoId) return false;
  if (!isOver(first.end)) return true;
  return !isOver(replay?.end) && !(await isReadToEnd(first, store));
}

/**
 * The broadcasts of a channel that are stored, but not to their end: those with an open room, and those that
 * lack a part (`lacksRest`) and were read in the last `hiddenMs`. Rejects with `StoreError`.
 */
async function unfinishedOf(channel: string, { settings, store }: RecorderParts): Promise<Set<string>> {
  const unfinished = new Set<string>();
  for (const { key, end, readAgoMs } of await store.listRooms(NEWEST_ROOMS)) {
    if (end !== null && readAgoMs >= settings.hiddenMs) continue;
    if (!(await store.getChannels(key)).includes(channel)) continue;
    const { videoId } = chatOf(key);
    if (end === null || (await lacksRest(videoId, store))) unfinished.add(videoId);
  }
  return unfinished;
}
