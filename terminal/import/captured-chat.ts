/**
 * Reads a captured chat from a file, in batches: yt-dlp's `.live_chat.json`, whose actions are read by the
 * same code as those of the upstream, the JSON of chat-downloader, whose items become such actions, or
 * messages that this program has exported. Each may be JSON lines or a JSON array, and compressed.
 */
import { basename } from "node:path";
import { fileTrouble } from "../../src/base/file-trouble.ts";
import { asArray, asObject, dig, type JsonObject, nestingOf, parseJson } from "../../src/base/json.ts";
import { splitArray, splitLines, textOf } from "../../src/base/lines.ts";
import { jsonLine } from "../../src/base/sanitised-text.ts";
import type { Chat } from "../../src/protocol/chat.ts";
import type { Message } from "../../src/protocol/message.ts";
import { VIDEO_ID, VIDEO_ID_FORM } from "../../src/protocol/video-id.ts";
import type { CaptureProgress } from "../../src/reading/batch/checkpoint.ts";
import { readActions } from "../../src/upstream/readers/actions.ts";
import { shortHash } from "../../src/upstream/readers/event.ts";
import { NO_PANELS, type Panels } from "../../src/upstream/readers/panels.ts";
import type { Item } from "../../src/upstream/readers/reader.ts";
import type { TimeOfDay } from "../../src/upstream/readers/timestamp.ts";
import { videoIdIn } from "../../src/upstream/readers/video.ts";
import { actionOf, isDownloadedItem } from "./downloaded-item.ts";
import { isMessageLine, readMessageLine } from "./message-line.ts";

/** The file cannot be imported. The message is one line that says why. */
export class CaptureError extends Error {
  override readonly name = "CaptureError";
}

/** Some lines of a capture; an element of an array counts as one. */
export interface CapturedBatch {
  /** Whether the capture is of a live chat or of a replay. */
  chat: Chat;
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

/**
 * Rejects with `CaptureError` if the file cannot be read, or if its lines name several videos, or something
 * else than a video.
 */
export async function* capturedBatches(
  path: string,
  { timeOfDay, now }: { timeOfDay: TimeOfDay; now: () => number },
  start: CaptureStart = { lines: 0, panels: NO_PANELS },
): AsyncGenerator<CapturedBatch, undefined> {
  let { panels } = start;
  let named: string | undefined;
  let chat: Chat | undefined;
  let [beginning, count] = ["", 0];
  let saidAt = now();
  for await (const read of batchesOf(path)) {
    beginning ||= shortHash(read[0]);
    const lines = read.slice(Math.max(0, start.lines - count));
    count += read.length;
    if (lines.length === 0) continue;
    const { spans, messages, videoIds, unread } = sorted(lines, saidAt);
    saidAt = spans.at(-1)?.until ?? saidAt;
    chat ??= chatOf(spans, messages);
    for (const videoId of videoIds) {
      if (!VIDEO_ID.test(videoId)) throw new CaptureError(`names no video: ${jsonLine(videoId).trim()}`);
      named ??= videoId;
      if (videoId !== named) throw new CaptureError(`${SEVERAL}: ${named}, ${videoId}`);
    }
    const items: Item[] = [];
    let lost = unread;
    for (const { actions, receivedAt } of spans) {
      const read = readActions(actions, { receivedAt, timeOfDay, panels });
      items.push(...read.items);
      panels = read.panels;
      lost += read.bugs.length;
      for (const { reason, count } of read.dropped) lost += reason === "silent" ? 0 : count;
    }
    yield {
      chat,
      items: [...items, ...messages.map(asItem)],
      panels,
      // A last line that is cut off may be complete when the capture is imported again.
      progress: { beginning, lines: parseJson(lines.at(-1) ?? "") === undefined ? count - 1 : count },
      unread: lost,
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
    for await (const line of entriesOf(path)) {
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

/** The lines of a file, or the elements of the array that it is. */
async function* entriesOf(path: string): AsyncGenerator<string> {
  const pieces = textOf(path);
  const { value: first = "" } = await pieces.next();
  const whole = (async function* () {
    yield first;
    yield* pieces;
  })();
  yield* first.trimStart().startsWith("[") ? splitArray(whole) : splitLines(whole);
}

/** Actions one after another that were received at the same time, as far as the capture shows it. */
interface Span {
  actions: JsonObject[];
  /** In wall milliseconds: the time of a live chat's actions that have none. */
  receivedAt: number;
  /** The time of the last action that has one. */
  until: number;
}

/**
 * A capture holds either actions or messages, so their order among each other does not matter. `saidAt`: the
 * time of the action before.
 */
function sorted(lines: readonly string[], saidAt: number) {
  let span: Span = { actions: [], receivedAt: saidAt, until: saidAt };
  const spans = [span];
  const messages: Message[] = [];
  const videoIds = new Set<string>();
  let unread = 0;
  for (const line of lines) {
    const value = nestingOf(line) <= MAX_NESTING ? asObject(parseJson(line)) : undefined;
    const message = value && isMessageLine(value) ? readMessageLine(value) : undefined;
    if (message && typeof value?.videoId === "string") videoIds.add(value.videoId);
    const actions = value && !message ? actionsIn(value) : [];
    const saidAt = timeIn(line) ?? span.until;
    if (saidAt === span.until && saidAt !== span.receivedAt) {
      span = { actions: [], receivedAt: saidAt, until: saidAt };
      spans.push(span);
    }
    span.actions.push(...actions);
    span.until = saidAt;
    if (message) messages.push(message);
    else if (actions.length === 0) unread += 1;
  }
  return { spans, messages, videoIds, unread };
}

/** The actions of a line, wrapped in a replay's action if they are of a replay. */
function actionsIn(line: JsonObject): JsonObject[] {
  if (isDownloadedItem(line)) {
    const action = actionOf(line);
    return action ? [action] : [];
  }
  const inner = asArray(dig(line, "replayChatItemAction", "actions"));
  if (!inner) return [];
  // yt-dlp wraps a live chat's actions like a replay's, with this mark and without the offset within.
  return line.isLive === true ? inner.map(asObject).filter((action) => action !== undefined) : [line];
}

/** The time at which a line was said, in wall milliseconds; undefined if it shows none. */
function timeIn(line: string): number | undefined {
  const [, usec] = /"timestamp(?:Usec)?":\s*"?(\d{13,16})"?/.exec(line) ?? [];
  return usec === undefined ? undefined : Math.floor(Number(usec) / 1000);
}

/** A replay has offsets in the video. A capture with neither these nor times counts as one. */
function chatOf(spans: readonly Span[], messages: readonly Message[]): Chat {
  const actions = spans.flatMap(({ actions }) => actions);
  if (actions.length > 0) return actions.some((action) => action.replayChatItemAction) ? "replay" : "live";
  const hasTimes = messages.some(({ details: { publishedAt } }) => publishedAt !== undefined);
  return hasTimes && messages.every(({ details: { offsetMs } }) => offsetMs === undefined)
    ? "live"
    : "replay";
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
