/**
 * Records chats with or without viewers: a video until its chat is over, and each stream of a channel, for
 * as long as the service runs or until the recording is deleted. Each video gets a viewer of its own,
 * which discards everything: it keeps the room open, and the store keeps the messages. If a video has no
 * chat yet, or its room fails, the recorder tries again; after a failure of the store, as soon as the
 * store works. The end of a room does not prove that its chat is over: the pages of the video do.
 */
import type { Clock } from "../../base/clock.ts";
import { messageOf, withStop } from "../../base/error-message.ts";
import type { Counts } from "../../base/key-counts.ts";
import { isReplayChat, type RoomEnd } from "../../protocol/chat.ts";
import { chatOf } from "../../protocol/chat-key.ts";
import { type Absence, ChatAbsent, isFinal, mayReturn } from "../../protocol/chat-standing.ts";
import { RelayError } from "../../protocol/errors.ts";
import { keepVideo } from "../../reading/about-video.ts";
import { notHiddenAt } from "../../reading/batch/checkpoint.ts";
import { HiddenTime } from "../../reading/hidden-time.ts";
import { LookWaits } from "../../reading/look-waits.ts";
import { storedChats } from "../../serving/chat-choice.ts";
import { FORMS } from "../../serving/form.ts";
import type { Room } from "../../serving/room.ts";
import type { Sink, SinkOwner } from "../../serving/sink.ts";
import type { ObservedStore } from "../../store/observed.ts";
import type { RoomRecord } from "../../store/port.ts";
import type { RecordingReport } from "../../store/recording-list.ts";
import { ifUnavailable, isUnavailable, StoreError } from "../../store/store-error.ts";
import { typeOf } from "../../store/stored-message.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { EgressPool } from "../../upstream/egress/pool.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { recordedBroadcasts } from "../channels/broadcast-choice.ts";
import type { ChannelWatch } from "../channels/channel-watch.ts";
import type { Channels } from "../channels/channels.ts";
import type { Rooms } from "../rooms.ts";

const RETRY_MS = 60_000;
/** How often to check whether a failing store works again. */
const STORE_MS = 5000;
/** How many rooms may be among those that were being recorded when the service stopped. */
const NEWEST_ROOMS = 1000;
/** The longest wait before a channel that does not exist is looked at again. */
const MAX_RETRY_CHANNEL_MS = 600_000;

/** The same for all recordings of an instance. */
export interface RecorderParts {
  rooms: Rooms;
  channels: Channels<ChannelWatch>;
  /** The recordings of each video: its own, and those of channels while they read it. */
  recorded: Counts<string>;
  store: ObservedStore;
  egresses: Pick<EgressPool, "witness" | "call" | "keepFor">;
  clock: Clock;
  telemetry: Telemetry;
  settings: {
    /** The interval of looks for a chat that is off or hidden, in milliseconds. */
    lookMs: number;
    /** A chat counts as over if it was hidden for this long, in milliseconds. */
    hiddenMs: number;
  };
}

/** What a recording reports at a change. */
type News = Partial<Omit<RecordingReport, "name">>;

/** One run of a recording. */
export interface RecordingRun {
  /** Aborts when the recording is deleted, or the service stops. */
  signal: AbortSignal;
  /** Aborts when the recording is deleted: its viewers then leave their rooms. */
  deleted: AbortSignal;
  /** Called with each change. */
  report(news: News): void;
}

/** Resolves when the chat is over or the signal aborts. */
export async function recordChat(videoId: string, parts: RecorderParts, run: RecordingRun): Promise<void> {
  const { signal, deleted, report } = run;
  const { clock, recorded, settings, telemetry } = parts;
  deleted.addEventListener("abort", recorded.take(videoId), { once: true });
  let waits = new LookWaits(settings, clock);
  while (!signal.aborted) {
    let waitMs = RETRY_MS;
    try {
      const end = await read(videoId, parts, run);
      if (end === "over") return report({ state: "ended", videoId });
      waits = new LookWaits(settings, clock);
      if (!signal.aborted) report(afterRoom(end));
    } catch (error) {
      if (error instanceof ChatAbsent && error.absence.is === "over")
        return report({ state: "ended", videoId });
      if (error instanceof ChatAbsent && mayReturn(error.absence)) waitMs = waits.next(false);
      else waits = new LookWaits(settings, clock);
      if (!signal.aborted) {
        logWhy(telemetry, { videoId }, error, waitMs);
        report(afterError(error, videoId));
      }
    }
    await clock.sleep(waitMs, signal).catch(() => {});
  }
}

/** Logs why a recording waits: what the upstream or the store said, or a bug of ours with its stack. */
function logWhy(
  telemetry: Telemetry,
  video: Parameters<Telemetry["recordings"]["waits"]>[0],
  error: unknown,
  retryMs?: number,
): void {
  const isExpected = [ChatAbsent, RelayError, UpstreamError, StoreError].some(
    (known) => error instanceof known,
  );
  if (isExpected) telemetry.recordings.waits(video, error, retryMs);
  else telemetry.recordings.broken(video, error, retryMs);
}

/** The news of a recording that could not be begun. */
function afterError(error: unknown, videoId?: string): News {
  const why = messageOf(error);
  if (!(error instanceof ChatAbsent) || error.absence.is === "unknown")
    return { state: "failed", error: withStop(why) };
  const isThere = videoId !== undefined && mayReturn(error.absence);
  return { state: "waiting", ...(isThere && { videoId }), error: withStop(why) };
}

/** The news of a recording whose room is over before its chat. */
function afterRoom(end: RoomEnd | undefined): News {
  return end?.state === "failed"
    ? { state: "failed", error: withStop(end.error.message) }
    : { state: "waiting" };
}

/**
 * Records a channel: first the streams that the last run did not finish, then live ones, and scheduled ones
 * from before their first message. Resolves when the signal aborts.
 */
export async function recordChannel(channel: string, parts: RecorderParts, run: RecordingRun): Promise<void> {
  const { signal, report } = run;
  const { channels, clock, egresses, telemetry } = parts;
  const recordings = new Map<string, AbortController>();
  /** The latest news of each stream that is wanted or still recorded. */
  const streamNews = new Map<string, News>();
  let channelNews: News = { state: "waiting" };
  const reportNow = () => {
    if (!signal.aborted) report(newsOf([...streamNews.values()], channelNews));
  };
  let unfinished = await withStore(() => unfinishedOf(channel, parts), { channel }, parts, run);
  let absentMs = RETRY_MS;
  while (!signal.aborted) {
    let retryMs = RETRY_MS;
    try {
      using watch = channels.watch(channel, "");
      for await (const { streams, trouble } of watch.streams(signal)) {
        const wanted = recordedBroadcasts(streams, egresses.witness.now).union(unfinished);
        unfinished = new Set();
        for (const { videoId, isFar } of streams) {
          if (isFar && !wanted.has(videoId)) recordings.get(videoId)?.abort();
        }
        for (const videoId of wanted) {
          if (recordings.has(videoId)) continue;
          const left = new AbortController();
          recordings.set(videoId, left);
          const deleted = AbortSignal.any([run.deleted, left.signal]);
          const reportOne = (news: News) => {
            streamNews.set(videoId, news);
            reportNow();
          };
          recordStream(videoId, channel, watch, parts, { ...run, deleted, report: reportOne })
            .catch((error: unknown) => logWhy(telemetry, { videoId }, error))
            .finally(() => recordings.delete(videoId));
        }
        for (const videoId of streamNews.keys()) if (!recordings.has(videoId)) streamNews.delete(videoId);
        absentMs = RETRY_MS;
        channelNews = trouble
          ? { state: trouble.isChatless ? "waiting" : "failed", error: withStop(trouble.why) }
          : { state: "waiting" };
        reportNow();
      }
    } catch (error) {
      if (error instanceof RelayError && error.code === "NO_LIVE_CHAT") {
        retryMs = absentMs;
        absentMs = Math.min(MAX_RETRY_CHANNEL_MS, 2 * absentMs);
      }
      if (!signal.aborted) {
        logWhy(telemetry, { channel }, error, retryMs);
        channelNews = { ...afterError(error), state: "failed" };
        reportNow();
      }
    }
    await clock.sleep(retryMs, signal).catch(() => {});
  }
}

/**
 * The news of a channel's recording: those of a stream that is recorded, else of one that failed, else of the
 * channel's pages.
 */
function newsOf(streams: readonly News[], channel: News): News {
  const last = (wanted: News["state"]) => streams.findLast(({ state }) => state === wanted);
  return last("recording") ?? last("failed") ?? channel;
}

/**
 * Attempts to record a stream; after the last one, the next look at the channel decides. As long as a part of
 * it is missing (`lacksRest`), there are further attempts at the waits of `LookWaits`, since the channel may
 * not show the stream any more: until `hiddenMs` after the last one that has read its chat. Rejects if the
 * watch fails.
 */
async function recordStream(
  videoId: string,
  channel: string,
  watch: ChannelWatch,
  parts: RecorderParts,
  run: RecordingRun,
): Promise<void> {
  const { clock, recorded, settings } = parts;
  const giveBack = recorded.take(videoId);
  const signal = AbortSignal.any([run.signal, run.deleted]);
  let retries: { waits: LookWaits; until: number } | undefined;
  try {
    for (;;) {
      const outcome = await attemptStream(videoId, channel, watch, parts, { ...run, signal });
      if (outcome === "done" || signal.aborted) return;
      const now = clock.monotonic();
      if (outcome === "read" || !retries)
        retries = { waits: new LookWaits(settings, clock), until: now + settings.hiddenMs };
      if (now >= retries.until) return;
      await clock.sleep(retries.waits.next(false), signal).catch(() => {});
    }
  } finally {
    giveBack();
  }
}

/** Resolves to "done" if no part of the stream is missing; else to whether this attempt has read its chat. */
async function attemptStream(
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
    const end = await read(videoId, parts, run, channel);
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
 * Whether a stream is stored, but not to its end: its live chat is not over, as far as the store knows, or it
 * ended unread and its replay is not stored to its end. Rejects with `StoreError`.
 */
async function lacksRest(videoId: string, store: ObservedStore): Promise<boolean> {
  const [first, replay] = await storedChats(store, videoId);
  if (first?.key !== videoId) return false;
  if (first.end?.state !== "ended") return true;
  return replay?.end?.state !== "ended" && !(await isReadToEnd(first, store));
}

const OVER: Absence = { is: "over", why: "the stream has ended" };

/**
 * Reads a chat until it is over. Resolves to "over"; to the end of its room if that is another; to undefined
 * if it is unknown, or if the recording is deleted. Rejects as `Rooms.enter` does, and with `ChatAbsent` if
 * the room has ended, and the chat may come back. The store remembers the `channel` that the chat is recorded
 * for, so it keeps the chat longer than others (`RELAY_MAX_STORE_BYTES`).
 */
async function read(
  videoId: string,
  parts: RecorderParts,
  run: RecordingRun,
  channel?: string,
): Promise<"over" | RoomEnd | undefined> {
  const { signal } = run;
  while (!signal.aborted) {
    const last = await recordOf(videoId, parts.store);
    const ended = last?.end?.state === "ended" ? last : undefined;
    const standing = ended && (await standingAfter(ended, parts, signal));
    const isReplay = last !== undefined && last.key !== videoId;
    if (standing && standing.is !== "there") {
      if (!isFinal(standing)) throw new ChatAbsent(standing);
      parts.telemetry.recordings.complete(videoId);
      return "over";
    }
    const end = await stay(videoId, standing !== undefined || isReplay, parts, run, channel);
    if (end?.state !== "ended") return end;
  }
  return undefined;
}

/**
 * The standing of a chat after the end of its room. If the live chat was not read to its end, its replay
 * counts as there.
 */
async function standingAfter(
  room: RoomRecord,
  parts: RecorderParts,
  signal: AbortSignal,
): Promise<Absence | { is: "there" }> {
  const { videoId, chat } = chatOf(room.key);
  if (chat === "replay") return OVER; // it was read to its end
  const { store, egresses } = parts;
  const standing = await egresses.call(signal, (egress) => egress.standingOf(videoId, signal));
  await keepVideo(videoId, standing.video, store);
  if (standing.is === "there")
    return isReplayChat(standing.chatType) && (await isReadToEnd(room, store)) ? OVER : standing;
  return new HiddenTime(parts).settled(standing, notHiddenAt(room));
}

/** Whether a chat that is over does not end with a gap. */
async function isReadToEnd({ key, head }: RoomRecord, store: ObservedStore): Promise<boolean> {
  const [last] = await store.read(key, head - 1, 1);
  return !last || typeOf(last) !== "gap";
}

/** One stay in the room, as its viewer. Resolves to the room's end, if it is known. */
async function stay(
  videoId: string,
  reopens: boolean,
  parts: RecorderParts,
  run: RecordingRun,
  channel?: string,
): Promise<RoomEnd | undefined> {
  const { store } = parts;
  const { deleted } = run;
  const sink = new NullSink();
  const leave = () => sink.end();
  const asked = { videoId, lastEventId: undefined, backfill: 0, isFresh: true, reopens, isRecording: true };
  const entered = Promise.withResolvers<Room>();
  const open = (_cursor: number, room: Room) => {
    entered.resolve(room);
    return sink;
  };
  const request = { ...asked, address: () => "", open };
  await withStore(() => parts.rooms.enter(request, run.signal), { videoId }, parts, run);
  if (channel) await rememberChannel(videoId, channel, store);
  deleted.addEventListener("abort", leave);
  if (deleted.aborted) leave();
  try {
    await reportUntilEnd(await entered.promise, sink, parts, run);
  } catch (error) {
    leave();
    throw error;
  } finally {
    deleted.removeEventListener("abort", leave);
  }
  if (channel) await rememberChannel(videoId, channel, store);
  return (await recordOf(videoId, store))?.end ?? undefined;
}

/** Reports whether the room reads its chat or waits for it, until the room closes the sink. */
async function reportUntilEnd(
  room: Room,
  sink: NullSink,
  { store, clock }: RecorderParts,
  { report }: RecordingRun,
): Promise<void> {
  const { key, videoId } = room;
  const over = new AbortController();
  const isOver = sink.ended.then(() => over.abort("ended"));
  while (!over.signal.aborted) {
    try {
      for await (const { value: why } of store.fact(key, "standing", over.signal))
        report(
          why ? { state: "waiting", videoId, error: withStop(`${why}`) } : { state: "recording", videoId },
        );
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      report({ state: "recording", videoId });
      await clock.sleep(STORE_MS, over.signal).catch(() => {});
    }
  }
  await isOver;
}

/** Resolves as `attempt` does, which is repeated while the store fails. Rejects when the signal aborts. */
async function withStore<T>(
  attempt: () => Promise<T>,
  name: Parameters<typeof logWhy>[1],
  { store, clock, telemetry }: RecorderParts,
  { signal, report }: RecordingRun,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const isRefused = error instanceof RelayError && error.code === "STORE_UNAVAILABLE";
      if (!isRefused && !isUnavailable(error)) throw error;
      telemetry.recordings.waits(name, error, STORE_MS);
      report(afterError(error));
    }
    do await clock.sleep(STORE_MS, signal);
    while (!(await store.isReady()));
  }
}

/**
 * The streams of a channel that are stored, but not to their end: those with an open room, and those that
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

/** Called at both ends of a recording, because the store may fail at one of them. */
async function rememberChannel(videoId: string, channel: string, store: ObservedStore): Promise<void> {
  const { key = videoId } = (await recordOf(videoId, store)) ?? {};
  const names = await store.getChannels(key).catch(ifUnavailable(undefined));
  if (!names || names.includes(channel)) return;
  await store.setChannels(key, [...names, channel]).catch(ifUnavailable(undefined));
}

/** The chat of a video that was read last: its replay if that is stored. */
async function recordOf(videoId: string, store: ObservedStore): Promise<RoomRecord | undefined> {
  return (await storedChats(store, videoId).catch(ifUnavailable<RoomRecord[]>([]))).at(-1);
}

/** Accepts all writes immediately, and discards them. */
class NullSink implements Sink {
  /** Resolves when the room closes it. */
  readonly ended: Promise<void>;
  readonly form = FORMS.sse.plain.bare;
  readonly isFull = false;
  readonly #close: () => void;
  #owner: SinkOwner | undefined;

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#close = () => {
      resolve();
      queueMicrotask(() => this.#owner?.closed());
    };
  }

  write(): void {}

  end(): void {
    this.#close();
  }

  reset(): void {
    this.#close();
  }

  attach(owner: SinkOwner): void {
    this.#owner = owner;
  }
}
