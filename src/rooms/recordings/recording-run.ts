/**
 * One run of a recording: what it is given, what it reports, and how it waits for a store that fails.
 */
import type { Clock } from "../../base/clock.ts";
import { messageOf, withStop } from "../../base/error-message.ts";
import type { Counts } from "../../base/key-counts.ts";
import type { RoomEnd } from "../../protocol/chat.ts";
import { ChatAbsent, mayReturn } from "../../protocol/chat-standing.ts";
import { isRefusal, RelayError } from "../../protocol/errors.ts";
import type { HiddenSettings } from "../../reading/hidden-chat.ts";
import type { ObservedStore } from "../../store/observed.ts";
import type { RecordingReport } from "../../store/recording-list.ts";
import { isUnavailable, StoreError } from "../../store/store-error.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { EgressPool } from "../../upstream/egress/pool.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { ChannelWatch } from "../channels/channel-watch.ts";
import type { Channels } from "../channels/channels.ts";
import type { Rooms } from "../rooms.ts";

/** How often to check whether a failing store works again. */
export const STORE_MS = 5000;
/** The wait between two attempts of which nothing better is known. */
export const RETRY_MS = 60_000;

/** The same for all recordings of an instance. */
export interface RecorderParts {
  rooms: Rooms;
  channels: Channels<ChannelWatch>;
  /** The recordings of each video: its own, and those of channels while they read it. */
  recorded: Counts<string>;
  store: ObservedStore;
  egresses: Pick<EgressPool, "witness" | "call" | "setReserve">;
  clock: Clock;
  telemetry: Telemetry;
  settings: HiddenSettings & {
    /** The interval of looks for a chat that is off or hidden, in milliseconds. */
    lookMs: number;
  };
}

/** What a recording reports at a change. */
export type News = Partial<Omit<RecordingReport, "name">>;

/** One run of a recording. */
export interface RecordingRun {
  /** Aborts when the recording is deleted, or the service stops. */
  signal: AbortSignal;
  /** Aborts when the recording is deleted: its viewers then leave their rooms. */
  deleted: AbortSignal;
  /** Called with each change. */
  report(news: News): void;
}

/** Logs why a recording waits: what the upstream or the store said, or a bug of ours with its stack. */
export function logWhy(
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
export function afterError(error: unknown, videoId?: string): News {
  const why = messageOf(error);
  if (!(error instanceof ChatAbsent) || error.absence.is === "unknown")
    return { state: "failed", error: withStop(why) };
  const isThere = videoId !== undefined && mayReturn(error.absence);
  return { state: "waiting", ...(isThere && { videoId }), error: withStop(why) };
}

/** The news of a recording whose room is over before its chat. */
export function afterRoom(end: RoomEnd | undefined): News {
  return end?.state === "failed"
    ? { state: "failed", error: withStop(end.error.message) }
    : { state: "waiting" };
}

/** Settles as `attempt` does, which is repeated while the store fails. Rejects when the signal aborts. */
export async function withStore<T>(
  attempt: () => Promise<T>,
  name: Parameters<typeof logWhy>[1],
  { store, clock, telemetry }: RecorderParts,
  { signal, report }: RecordingRun,
): Promise<T> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const isRefused = isRefusal(error, "STORE_UNAVAILABLE");
      if (!isRefused && !isUnavailable(error)) throw error;
      telemetry.recordings.waits(name, error, STORE_MS);
      report(afterError(error));
    }
    do await clock.sleep(STORE_MS, signal);
    while (!(await store.isReady()));
  }
}
