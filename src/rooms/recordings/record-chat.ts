/**
 * Records the chat of a video until it is over. If there is no chat yet, or its room fails, it tries again;
 * after a failure of the store, as soon as the store works. The end of a room does not prove that its chat is
 * over: the pages of the video do.
 */
import { pause } from "../../base/clock.ts";
import { isOver, isReplayChat, type RoomEnd } from "../../protocol/chat.ts";
import { chatOf } from "../../protocol/chat-key.ts";
import { type Absence, ChatAbsent, isFinal, mayReturn } from "../../protocol/chat-standing.ts";
import { keepVideo } from "../../reading/about-video.ts";
import { notHiddenAt } from "../../reading/batch/checkpoint.ts";
import { overIfLongHidden } from "../../reading/hidden-chat.ts";
import { LookWaits } from "../../reading/look-waits.ts";
import type { ObservedStore } from "../../store/observed.ts";
import type { RoomRecord } from "../../store/port.ts";
import { typeOf } from "../../store/stored-message.ts";
import {
  afterError,
  afterRoom,
  logWhy,
  RETRY_MS,
  type RecorderParts,
  type RecordingRun,
} from "./recording-run.ts";
import { recordOf, stay } from "./room-stay.ts";

/** Resolves when the chat is over or the signal aborts. */
export async function recordChat(videoId: string, parts: RecorderParts, run: RecordingRun): Promise<void> {
  const { signal, deleted, report } = run;
  const { clock, recorded, settings, telemetry } = parts;
  deleted.addEventListener("abort", recorded.take(videoId), { once: true });
  let waits = new LookWaits(settings, clock);
  while (!signal.aborted) {
    let waitMs = RETRY_MS;
    try {
      const end = await readChat(videoId, parts, run);
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
    await pause(clock, waitMs, signal);
  }
}

const OVER: Absence = { is: "over", why: "the stream has ended" };

/**
 * Reads a chat until it is over. Resolves to "over"; to the end of its room if that is another; to undefined
 * if it is unknown, or if the signal aborts. Rejects as `Rooms.enter` does, and with `ChatAbsent` if the room
 * has ended, and the chat may come back or its standing is unknown. The store remembers the `channel` that
 * the chat is recorded for, so it keeps the chat longer than others (`RELAY_MAX_STORE_BYTES`).
 */
export async function readChat(
  videoId: string,
  parts: RecorderParts,
  run: RecordingRun,
  channel?: string,
): Promise<"over" | RoomEnd | undefined> {
  const { signal } = run;
  const { clock, settings } = parts;
  let mayAskAt = clock.monotonic();
  while (!signal.aborted) {
    const last = await recordOf(videoId, parts.store);
    const ended = last && isOver(last.end) ? last : undefined;
    const isReplay = last !== undefined && last.key !== videoId;
    if (ended && !isReplay) {
      // Each answer of a live chat may end it, although its pages show it again.
      const waitMs = mayAskAt - clock.monotonic();
      if (waitMs > 0) run.report({ state: "waiting", videoId });
      await clock.sleep(Math.max(0, waitMs), signal);
      mayAskAt = clock.monotonic() + settings.lookMs;
    }
    const standing = ended && (await standingAfter(ended, parts, signal));
    if (standing && standing.is !== "there") {
      if (!isFinal(standing)) throw new ChatAbsent(standing);
      parts.telemetry.recordings.complete(videoId);
      return "over";
    }
    const end = await stay(videoId, standing !== undefined || isReplay, parts, run, channel);
    if (!isOver(end)) return end;
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
  return overIfLongHidden(standing, notHiddenAt(room), parts);
}

/** Whether a chat that is over does not end with a gap. */
export async function isReadToEnd({ key, head }: RoomRecord, store: ObservedStore): Promise<boolean> {
  const [last] = await store.read(key, head - 1, 1);
  return !last || typeOf(last) !== "gap";
}
