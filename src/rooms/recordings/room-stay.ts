/**
 * A recording's stay in the room of a chat: a viewer that discards everything keeps the room open, and the
 * store keeps the messages.
 */
import { pause } from "../../base/clock.ts";
import { withStop } from "../../base/error-message.ts";
import type { RoomEnd } from "../../protocol/chat.ts";
import { storedChats } from "../../serving/chat-choice.ts";
import { FORMS } from "../../serving/form.ts";
import type { Room } from "../../serving/room.ts";
import type { Sink, SinkOwner } from "../../serving/sink.ts";
import type { ObservedStore } from "../../store/observed.ts";
import type { RoomRecord } from "../../store/port.ts";
import { ifUnavailable, isUnavailable } from "../../store/store-error.ts";
import { type RecorderParts, type RecordingRun, STORE_MS, withStore } from "./recording-run.ts";

/** One stay in the room, as its viewer. Resolves to the room's end, if it is known. */
export async function stay(
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
  const asked = { videoId, lastEventId: undefined, backfill: 0, reopens, isRecording: true };
  const entered = Promise.withResolvers<Room>();
  const openSink = (_cursor: number, room: Room) => {
    entered.resolve(room);
    return sink;
  };
  const request = { ...asked, address: () => "", openSink };
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
  const ended = sink.ended.then(() => over.abort("ended"));
  while (!over.signal.aborted) {
    try {
      for await (const { value: why } of store.fact(key, "standing", over.signal))
        report(
          why ? { state: "waiting", videoId, error: withStop(`${why}`) } : { state: "recording", videoId },
        );
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      report({ state: "recording", videoId });
      await pause(clock, STORE_MS, over.signal);
    }
  }
  await ended;
}

/** Called at both ends of a recording, because the store may fail at one of them. */
async function rememberChannel(videoId: string, channel: string, store: ObservedStore): Promise<void> {
  const { key = videoId } = (await recordOf(videoId, store)) ?? {};
  const names = await store.getChannels(key).catch(ifUnavailable(undefined));
  if (!names || names.includes(channel)) return;
  await store.setChannels(key, [...names, channel]).catch(ifUnavailable(undefined));
}

/** The chat of a video that was read last: its replay if that is stored. */
export async function recordOf(videoId: string, store: ObservedStore): Promise<RoomRecord | undefined> {
  return (await storedChats(store, videoId).catch(ifUnavailable<RoomRecord[]>([]))).at(-1);
}

/** Accepts all writes immediately, and discards them. */
class NullSink implements Sink {
  /** Resolves when the room closes it. */
  readonly ended: Promise<void>;
  readonly form = FORMS.sse.plain.bare;
  readonly isBackPressured = false;
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
