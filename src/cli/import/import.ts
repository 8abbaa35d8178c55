/** `import`: stores recorded chats as ended rooms. */
import { stat } from "node:fs/promises";
import { systemClock } from "../../base/clock.ts";
import { ENDED } from "../../protocol/chat.ts";
import { Appender, type AppenderParts } from "../../reading/log/appender.ts";
import {
  importedPosition,
  memoryOf,
  positionOf,
  type RecordingProgress,
  recordingOf,
} from "../../reading/log/checkpoint.ts";
import { SHARED_DEFAULTS } from "../../store/open.ts";
import type { Hold } from "../../store/ownership.ts";
import { isUnavailable } from "../../store/port.ts";
import { silentLog } from "../../telemetry/log.ts";
import { Telemetry } from "../../telemetry/telemetry.ts";
import { timeOfDay } from "../../upstream/readers/timestamp.ts";
import { counted } from "../counted.ts";
import { type Input, UsageError } from "../flags.ts";
import { openNamedStore } from "../open-store.ts";
import { showProgress } from "../reader/progress.ts";
import type { Surroundings } from "../surroundings.ts";
import type { IMPORT_FLAGS } from "./import-flags.ts";
import { type RecordedBatch, RecordingError, recordedBatches, videoIdInName } from "./recorded-chat.ts";

const NOT_A_RECORDING =
  "is not a recorded chat: give a .live_chat.json of yt-dlp, or JSON lines of export or of watch --json --details";
const READ_ONCE = "is a pipe or a device, which can be read only once: write a file first";
const NO_VIDEO = "the video's id is neither in the file nor in its name: add --video";

/** Number of messages that one step counts into the totals of a room. */
const MESSAGES_AT_ONCE = 1000;

/** The result of one file. */
interface Imported {
  videoId: string;
  /** The number of messages that the room did not have. */
  added: number;
  /** See `RecordedBatch`. */
  unread: number;
}

/**
 * Resolves to the exit code: 1 if a file was refused. Rejects with `UsageError`, and with an error of one
 * line if the store fails.
 */
export async function importFiles(
  { values, arguments: paths }: Input<typeof IMPORT_FLAGS>,
  surroundings: Surroundings,
): Promise<number> {
  const { RELAY_STORE: url, video } = values;
  if (url === "memory:")
    throw new UsageError("RELAY_STORE: memory: keeps nothing; name a file or a database");
  if (video !== undefined && paths.length > 1)
    throw new UsageError("--video names the room of one file, so give one file; see --help");
  const clock = systemClock;
  const telemetry = new Telemetry(silentLog);
  const isBlanking = values.RELAY_DELETED === "blank";
  const settings = { isBlanking, timeOfDay: timeOfDay(values.RELAY_TIMEZONE) };
  await using opened = new AsyncDisposableStack();
  const store = opened.adopt(
    await openNamedStore("RELAY_STORE", url, clock, telemetry, SHARED_DEFAULTS, { isBlanking }),
    (store) => store.close(),
  );
  let exitCode = 0;
  for (const path of paths) {
    let line: string;
    try {
      line = summary(await importFile(path, video, { store, settings, clock, telemetry }, surroundings));
    } catch (error) {
      if (isUnavailable(error))
        throw new Error(`${path}: ${error.message}; import it again when the store works`);
      if (!(error instanceof RecordingError)) throw error;
      line = error.message;
      exitCode = 1;
    }
    surroundings.stderr.write(`livechat-relay: ${path}: ${line}\n`);
  }
  return exitCode;
}

/** Rejects with `RecordingError` and `StoreError`. */
async function importFile(
  path: string,
  video: string | undefined,
  parts: AppenderParts,
  surroundings: Surroundings,
): Promise<Imported> {
  const { settings, clock } = parts;
  const reading = { timeOfDay: settings.timeOfDay, now: clock.now };
  const found = await stat(path).catch(() => undefined); // the reading says why
  if (found && !found.isFile() && !found.isDirectory()) throw new RecordingError(READ_ONCE);
  const first = await firstBatch(path, reading);
  const videoId = video ?? first.videoId ?? videoIdInName(path);
  if (videoId === undefined) throw new RecordingError(NO_VIDEO);
  await using hold = await takeRoom(videoId, first.progress, parts);
  const { room } = hold;
  const appender = new Appender(parts, hold, memoryOf(room, true, parts));
  const imported: Imported = { videoId, added: 0, unread: 0 };
  const hideProgress = showProgress(surroundings, () => `${path}: ${counted(imported.added, "message")}`);
  try {
    const start = room && { lines: recordingOf(room)?.lines ?? 0, panels: positionOf(room).panels };
    for await (const { items, panels, progress, unread } of recordedBatches(path, reading, start)) {
      imported.unread += unread;
      if (items.length === 0) continue;
      const position = importedPosition(panels);
      const at = { position, startedAt: clock.monotonic(), recording: progress };
      imported.added += (await appender.appendOnce([{ items }], at)).length;
    }
    while ((await parts.store.tally(videoId, MESSAGES_AT_ONCE)) > 0); // the totals of the room
  } finally {
    hideProgress();
  }
  if (imported.added > 0 || room?.end === null) await parts.store.finish(hold, ENDED);
  return imported;
}

/** The first lines of the file. Rejects with `RecordingError` if they are not a chat's. */
async function firstBatch(...args: Parameters<typeof recordedBatches>): Promise<RecordedBatch> {
  for await (const batch of recordedBatches(...args)) {
    if (batch.items.length > 0) return batch;
    break;
  }
  throw new RecordingError(NOT_A_RECORDING);
}

/** A room that does not exist, or was imported from this recording. Rejects with `RecordingError`. */
async function takeRoom(
  videoId: string,
  { beginning }: RecordingProgress,
  { store }: AppenderParts,
): Promise<Hold> {
  const hold = await store.ownership.take(videoId);
  if (!hold) throw new RecordingError(`another instance reads room ${videoId}`);
  const { room } = hold;
  const recording = room && recordingOf(room);
  if (!room || recording?.beginning === beginning) return hold;
  await hold.giveBack();
  const count = counted(room.head - room.floor, "message");
  throw new RecordingError(
    `room ${videoId} exists already, with ${count} ${
      recording
        ? "from another recording: if this is another part of the chat, add its lines to the end of that recording, and import that one again"
        : "which the service has read: to keep this recording as well, import it into another store (--store)"
    }`,
  );
}

function summary({ videoId, added, unread }: Imported): string {
  const left = unread > 0 ? `; left out: ${counted(unread, "line")}, damaged or of unknown kinds` : "";
  return `room ${videoId}: ${counted(added, "new message")}${left}`;
}
