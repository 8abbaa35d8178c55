/** `import`: stores captured chats as ended rooms. */
import { stat } from "node:fs/promises";
import { systemClock } from "../../src/base/clock.ts";
import { EXIT } from "../../src/cli/exit-codes.ts";
import { type Input, UsageError } from "../../src/cli/flags.ts";
import { plural } from "../../src/cli/plural.ts";
import type { ProcessIo } from "../../src/cli/process-io.ts";
import { ENDED } from "../../src/protocol/chat.ts";
import { type ChatKey, chatKey, chatOf } from "../../src/protocol/chat-key.ts";
import { Appender, type AppenderParts } from "../../src/reading/batch/appender.ts";
import {
  type CaptureProgress,
  captureOf,
  memoryOf,
  positionOf,
  tokenlessPosition,
} from "../../src/reading/batch/checkpoint.ts";
import { openNamedStore } from "../../src/store/open.ts";
import type { Hold } from "../../src/store/ownership.ts";
import { isUnavailable } from "../../src/store/store-error.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { timeOfDay } from "../../src/upstream/readers/timestamp.ts";
import { showProgress } from "../reader/progress.ts";
import { type CapturedBatch, CaptureError, capturedBatches, videoIdInName } from "./captured-chat.ts";
import type { IMPORT_FLAGS } from "./import-flags.ts";

const NOT_A_CAPTURE =
  "is not a captured chat: give a .live_chat.json of yt-dlp, the JSON of chat-downloader, or JSON lines of export or of watch --json --details";
const READ_ONCE = "is a pipe or a device, which can be read only once: write a file first";
const KEPT =
  "imported chats are kept until you delete them: RELAY_RETENTION_DAYS does not apply to them, RELAY_MAX_STORE_BYTES does";
const NO_VIDEO = "the video's id is neither in the file nor in its name: add --video";

/** Number of messages that one step counts into the totals of a room. */
const MESSAGES_AT_ONCE = 1000;

type Reading = Parameters<typeof capturedBatches>[1];

/** The result of one file. */
interface Imported {
  videoId: string;
  /** The number of messages that the room did not have. */
  added: number;
  /** See `CapturedBatch`. */
  unread: number;
}

/**
 * Resolves to the exit code: 1 if a file was refused. Rejects with `UsageError`, and with an error of one
 * line if the store fails.
 */
export async function importFiles(
  { values, arguments: paths }: Input<typeof IMPORT_FLAGS>,
  io: ProcessIo,
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
  const open = async (): Promise<AppenderParts> => {
    const store = await openNamedStore("RELAY_STORE", url, clock, telemetry, { file: { isBlanking } });
    opened.adopt(store, (store) => store.close());
    return { store, settings, clock, telemetry };
  };
  let parts: Promise<AppenderParts> | undefined;
  /** Once there is a chat to store: refused files alone make no store. */
  const opening = () => (parts ??= open());
  const reading = { timeOfDay: settings.timeOfDay, now: clock.now };
  const say = (line: string) => void io.stderr.write(`livechat-relay: ${line}\n`);
  let exitCode = 0;
  let isSaid = false;
  for (const path of paths) {
    let line: string;
    try {
      line = summary(await importFile(path, video, reading, opening, io));
      if (!isSaid) say(KEPT);
      isSaid = true;
    } catch (error) {
      if (isUnavailable(error))
        throw new Error(`${path}: ${error.message}; import it again when the store works`);
      if (!(error instanceof CaptureError)) throw error;
      line = error.message;
      exitCode = EXIT.failed;
    }
    say(`${path}: ${line}`);
  }
  return exitCode;
}

/** The room is kept, also if it is not stored completely. Rejects with `CaptureError` and `StoreError`. */
async function importFile(
  path: string,
  video: string | undefined,
  reading: Reading,
  opening: () => Promise<AppenderParts>,
  io: ProcessIo,
): Promise<Imported> {
  const found = await stat(path).catch(() => undefined); // the reading says why
  if (found && !found.isFile() && !found.isDirectory()) throw new CaptureError(READ_ONCE);
  const first = await firstBatch(path, reading);
  const videoId = video ?? first.videoId ?? videoIdInName(path);
  if (videoId === undefined) throw new CaptureError(NO_VIDEO);
  const parts = await opening();
  await using hold = await takeRoom(chatKey(videoId, first.chat), first.progress, parts);
  const { room } = hold;
  const appender = new Appender(parts, hold, memoryOf(room, first.chat === "replay", parts));
  const imported: Imported = { videoId, added: 0, unread: 0 };
  const hideProgress = showProgress(io, () => `${path}: ${plural(imported.added, "message")}`);
  const keep = () => parts.store.keep(hold.key);
  try {
    await keep(); // a room that is there: its old messages must not go meanwhile
    const start = room && { lines: captureOf(room)?.lines ?? 0, panels: positionOf(room).panels };
    for await (const { items, panels, progress, unread } of capturedBatches(path, reading, start)) {
      imported.unread += unread;
      if (items.length === 0) continue;
      const position = tokenlessPosition(first.chat, panels);
      const at = { position, startedAt: parts.clock.monotonic(), capture: progress };
      imported.added += (await appender.appendOnce([{ items }], at)).length;
      await keep();
    }
    while ((await parts.store.tally(hold.key, MESSAGES_AT_ONCE)) > 0); // the totals of the room
  } finally {
    hideProgress();
  }
  if (imported.added > 0 || room?.end === null) await parts.store.finish(hold, ENDED);
  return imported;
}

/** The first lines of the file. Rejects with `CaptureError` if they are not a chat's. */
async function firstBatch(...args: Parameters<typeof capturedBatches>): Promise<CapturedBatch> {
  for await (const batch of capturedBatches(...args)) {
    if (batch.items.length > 0) return batch;
    break;
  }
  throw new CaptureError(NOT_A_CAPTURE);
}

/** A room that does not exist, or was imported from this capture. Rejects with `CaptureError`. */
async function takeRoom(
  key: ChatKey,
  { beginning }: CaptureProgress,
  { store }: AppenderParts,
): Promise<Hold> {
  const { videoId } = chatOf(key);
  const hold = await store.ownership.take(key);
  if (!hold) throw new CaptureError(`another instance reads room ${videoId}`);
  const { room } = hold;
  const capture = room && captureOf(room);
  if (!room || capture?.beginning === beginning) return hold;
  await hold.giveBack();
  const count = plural(room.head - room.floor, "message");
  throw new CaptureError(
    `room ${videoId} exists already, with ${count} ${
      capture
        ? "from another capture: if this is another part of the chat, add its lines to the end of that capture, and import that one again"
        : "which the service has read: to keep this capture as well, import it into another store (--store)"
    }`,
  );
}

function summary({ videoId, added, unread }: Imported): string {
  const left = unread > 0 ? `; left out: ${plural(unread, "line")}, damaged or of unknown kinds` : "";
  return `room ${videoId}: ${plural(added, "new message")}${left}`;
}
