/**
 * Reads a captured chat from a file of JSON lines, in batches: yt-dlp's `.live_chat.json`, whose actions are
 * read by the same code as those of the upstream, or messages that this program has exported.
 */
import { basename } from "node:path";
import { fileTrouble } from "../../base/file-trouble.ts";
import { asArray, asObject, dig, type JsonObject, nestingOf, parseJson } from "../../base/json.ts";
import { linesOf } from "../../base/lines.ts";
import { jsonLine } from "../../formats/harmless-text.ts";
import type { Message } from "../../protocol/message.ts";
import { VIDEO_ID, VIDEO_ID_FORM } from "../../protocol/video-id.ts";
import type { CaptureProgress } from "../../reading/batch/checkpoint.ts";
import { readActions } from "../../upstream/readers/actions.ts";
import { shortHash } from "../../upstream/readers/event.ts";
import { NO_PANELS, type Panels } from "../../upstream/readers/panels.ts";
import type { Item } from "../../upstream/readers/reader.ts";
import type { TimeOfDay } from "../../upstream/readers/timestamp.ts";
import { videoIdIn } from "../../upstream/readers/video.ts";
import { isMessageLine, readMessageLine } from "./message-line.ts";

/** The file cannot be imported. The message is one line that says why. */
export class CaptureError extends Error {
  override readonly name = "CaptureError";
}

/** Some lines of a capture. */
export interface CapturedBatch {
  items: readonly Item[];
  /** The polls after these lines. */
  panels: Panels;
  /** How much of the capture was read, with these lines. */
  progress: CaptureProgress;
  /** The number of lines and actions that are damaged or of an unknown kind. */
  unread: number;
  /** The video, if a line names it. */
  videoId: string | undefined;
}

const SEVERAL = "holds the chats of several videos, as an export of a channel does; give it the lines of one";

/** Number of lines in a batch: small enough for the memory, large enough for the store to be fast. */
const LINES_AT_ONCE = 1000;

/** Reading a line recurses. Real ones have up to 40 levels. */
const MAX_NESTING = 100;

/** The state in which reading begins. */
interface CaptureStart {
  /** Lines to skip. */
  lines: number;
  panels: Panels;
}

/** Rejects with `CaptureError` if the file cannot be read, or if its lines are of several videos. */
export async function* capturedBatches(
  path: string,
  { timeOfDay, now }: { timeOfDay: TimeOfDay; now: () => number },
  start: CaptureStart = { lines: 0, panels: NO_PANELS },
): AsyncGenerator<CapturedBatch, undefined> {
  let { panels } = start;
  let named: string | undefined;
  let [beginning, count] = ["", 0];
  for await (const read of batchesOf(path)) {
    beginning ||= shortHash(read[0]);
    const lines = read.slice(Math.max(0, start.lines - count));
    count += read.length;
    if (lines.length === 0) continue;
    const { actions, messages, videoIds, unread } = sorted(lines);
    for (const videoId of videoIds) {
      if (!VIDEO_ID.test(videoId)) throw new CaptureError(`names no video: ${jsonLine(videoId).trim()}`);
      named ??= videoId;
      if (videoId !== named) throw new CaptureError(`${SEVERAL}: ${named}, ${videoId}`);
    }
    const { items, bugs, dropped, ...after } = readActions(actions, { receivedAt: now(), timeOfDay, panels });
    panels = after.panels;
    const lost = [...dropped.values()].filter(({ reason }) => reason !== "silent");
    yield {
      items: [...items, ...messages.map(asItem)],
      panels,
      // A last line that is cut off may be complete when the capture is imported again.
      progress: { beginning, lines: parseJson(lines.at(-1) ?? "") === undefined ? count - 1 : count },
      unread: unread + bugs.length + lost.reduce((sum, { count }) => sum + count, 0),
      videoId: named ?? firstOf(lines, videoIdIn),
    };
  }
}

const IN_BRACKETS = new RegExp(`.*\\[(${VIDEO_ID_FORM})\\]`);
const AT_START = new RegExp(`^(${VIDEO_ID_FORM})(\\.|$)`);

/** The video that a file's name names: `Title [ID].live_chat.json`, as yt-dlp writes it, or `ID.jsonl`. */
export function videoIdInName(path: string): string | undefined {
  const name = basename(path);
  return (IN_BRACKETS.exec(name) ?? AT_START.exec(name))?.[1];
}

async function* batchesOf(path: string): AsyncGenerator<string[]> {
  let batch: string[] = [];
  try {
    for await (const line of linesOf(path)) {
      if (line.trim() === "") continue;
      batch.push(line);
      if (batch.length < LINES_AT_ONCE) continue;
      yield batch;
      batch = [];
    }
  } catch (error) {
    throw new CaptureError(fileTrouble(path, "read", error), { cause: error });
  }
  if (batch.length > 0) yield batch;
}

/** A capture holds either actions or messages, so their order among each other does not matter. */
function sorted(lines: readonly string[]) {
  const actions: JsonObject[] = [];
  const messages: Message[] = [];
  const videoIds = new Set<string>();
  let unread = 0;
  for (const line of lines) {
    const value = nestingOf(line) <= MAX_NESTING ? asObject(parseJson(line)) : undefined;
    const message = value && isMessageLine(value) ? readMessageLine(value) : undefined;
    if (message && typeof value?.videoId === "string") videoIds.add(value.videoId);
    if (message) messages.push(message);
    else if (value && isAction(value)) actions.push(value);
    else unread += 1;
  }
  return { actions, messages, videoIds, unread };
}

function isAction(value: JsonObject): boolean {
  return asArray(dig(value, "replayChatItemAction", "actions")) !== undefined;
}

/**
 * In the export, a repeated deletion of an author has an id of its own; the room computes the same id again.
 */
function asItem(message: Message): Item {
  if (message.type !== "author_deleted") return { message };
  return { message: { ...message, id: `author_deleted:${message.details.target.authorId}` } };
}

function firstOf<T, R>(values: readonly T[], read: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const found = read(value);
    if (found !== undefined) return found;
  }
  return undefined;
}
