/**
 * Records chats from the start of the service to their end, with or without viewers. Each video gets a viewer
 * of its own, which discards everything: it keeps the room open, and the store keeps the messages. If a video
 * has no chat yet, or its room fails, the recorder tries again.
 */
import type { Clock } from "../clock.ts";
import { FORMS } from "../serving/form.ts";
import type { Sink, SinkOwner } from "../serving/sink.ts";
import type { ObservedStore } from "../store/observed.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Rooms } from "./rooms.ts";

const RETRY_MS = 60_000;

export interface RecorderParts {
  rooms: Rooms;
  store: ObservedStore;
  clock: Clock;
  telemetry: Telemetry;
}

/** Resolves when the chat is over or the signal aborts. */
export async function recordChat(videoId: string, parts: RecorderParts, signal: AbortSignal): Promise<void> {
  const { clock, telemetry } = parts;
  while (!signal.aborted) {
    if (await isOver(videoId, parts)) return telemetry.recorded(videoId);
    const sink = new NullSink();
    const isRead = await enter(videoId, sink, parts, signal);
    if (isRead) await sink.ended;
    if (signal.aborted || (isRead && (await isOver(videoId, parts)))) continue;
    await clock.sleep(RETRY_MS, signal).catch(() => {});
  }
}

/** Whether the recorder could enter the room. The reason for a failure is already in the log. */
async function enter(videoId: string, sink: Sink, { rooms, telemetry }: RecorderParts, signal: AbortSignal) {
  const request = { videoId, lastEventId: undefined, backfill: 0, address: () => "", open: () => sink };
  try {
    await rooms.enter(request, signal);
    return true;
  } catch (error) {
    if (!signal.aborted) telemetry.recordingWaits(videoId, error, RETRY_MS);
    return false;
  }
}

/** Whether the chat was read to its end, so that it is not read again. */
async function isOver(videoId: string, { store }: RecorderParts): Promise<boolean> {
  const record = await store.getRoom(videoId).catch(() => undefined);
  return record?.end?.state === "ended";
}

/** Accepts all writes immediately, and discards them. */
class NullSink implements Sink {
  /** Resolves when the room closes it. */
  readonly ended: Promise<void>;
  readonly form = FORMS.sse.plain.bare;
  readonly written = 0;
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

  write(): boolean {
    return true;
  }

  async taken(): Promise<number> {
    return 0;
  }

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
