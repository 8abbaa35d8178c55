/** Writes the messages of one chat to a file or standard output. */
import type { Writable } from "node:stream";
import { ChatError, type HistoryOptions, history } from "../../client/index.ts";
import { fileTrouble } from "../../src/base/file-trouble.ts";
import { cleanText } from "../../src/base/sanitised-text.ts";
import { EXIT } from "../../src/cli/exit-codes.ts";
import type { Input } from "../../src/cli/flags.ts";
import { Output } from "../../src/cli/output.ts";
import { plural } from "../../src/cli/plural.ts";
import type { Init } from "../../src/protocol/chat.ts";
import { typeOfChat } from "../../src/protocol/chat-key.ts";
import { ask } from "./ask.ts";
import { type ExportFile, type FileMode, openExportFile } from "./export-file.ts";
import type { Format, LastMessage } from "./export-formats.ts";
import { metaPath, writeMeta } from "./export-meta.ts";
import { placeInRoom } from "./place-in-room.ts";
import { showProgress } from "./progress.ts";
import type { EXPORT_FLAGS } from "./reader-flags.ts";
import type { Access } from "./sent-token.ts";
import { CommandError, openChat, type Room, type Session } from "./session.ts";
import { areOfOneChat, type Cursor, channelIn, videoIn } from "./subject.ts";

export type ExportInput = Input<typeof EXPORT_FLAGS>;

/** The service's maximum: no cursor asks for all of a stream whose video is not known yet. */
const CHANNEL_BACKFILL = 500;

interface ChatTarget {
  /** A video; or a channel, if it is followed. */
  name: string;
  /** Empty for standard output. */
  path: string;
  format: Format;
  /** The prefix of this chat's notices and progress. */
  label: string;
}

export interface Exported {
  /** The number of messages in the file. */
  messages: number;
  /** All wanted messages up to it are in the file; undefined if nothing was read. */
  cursor: Cursor | undefined;
}

export function modeOf({ append, follow }: ExportInput["values"]): FileMode {
  return append ? "append" : follow ? "growing" : "whole";
}

/** The names in the service's refusals, and the command's for the same. */
const FLAGS: readonly [RegExp, string][] = [
  [/^saidFrom(?=:)/, "--said-from"],
  [/^saidTo(?=:)/, "--said-to"],
  [/^(?=(?:from|to|q|text|author):)/, "--"],
  [/\bchat=(?=live|replay)/, "--chat "],
  [/\bq(?= searches)/, "--q"],
];

function inFlags(refusal: string): string {
  return FLAGS.reduce((words, [said, flag]) => words.replace(said, flag), refusal);
}

/** Rejects with `CommandError`, `UsageError`, `ChatError`, or the reason of the stop. */
export async function exportChat(
  { notice: print, ...session }: Session,
  { name, path, format, label }: ChatTarget,
  values: ExportInput["values"],
): Promise<Exported> {
  const { follow, force, raw, since, from, to, types, chat, q, text, author } = values;
  const { "said-from": saidFrom, "said-to": saidTo } = values;
  const notice = (text: string) => print(label + text);
  const mode = modeOf(values);
  const cursorInRoom = (last: LastMessage) =>
    placeInRoom(session, { name, chat }, path, last, session.stopped);
  const file =
    path === ""
      ? standardOutput(session.io.stdout, format, session.stopped)
      : await openExportFile(path, format, mode, force, cursorInRoom, session.stopped);
  const signal = AbortSignal.any([session.stopped, file.output.failed]);
  const place = { ...session, videoId: name, chat, signal };
  const bounds = [from, to, saidFrom, saidTo].filter((bound) => bound !== undefined);
  let room: Room | undefined;
  let first = file.cursor;
  let [last, isComplete] = [Number.POSITIVE_INFINITY, false];
  let found: Cursor | undefined;
  let begun: Init | undefined;
  const copied: Copied = { messages: 0, first: undefined, last: undefined };
  const reached = () => {
    const cursor = room ? room.cursor : found;
    return typeof cursor === "number" ? Math.min(cursor, last) : cursor;
  };
  const isChannel = channelIn(name) !== undefined;
  const describeFile = async () => {
    if (isChannel || path === "") return; // the chats of a channel are of several videos
    const firstCursor = typeof file.first === "number" ? file.first : copied.first;
    const lastCursor = copied.last ?? (typeof file.cursor === "number" ? file.cursor : undefined);
    const whole = { messages: file.messages + copied.messages, firstCursor, lastCursor };
    const chatType = begun?.chatType ?? (chat && typeOfChat(chat));
    // While a chat goes on, pages say more of its video.
    const video = follow || !begun ? undefined : (begun.details ?? {});
    const described = { videoId: videoIn(name), chatType, video, ...whole };
    await writeMeta(session, path, described).catch((error) => {
      const meta = metaPath(path);
      notice(`${meta} ${fileTrouble(meta, "written", error)}`);
    });
  };
  try {
    const begin = isChannel ? undefined : await cursorBefore(place, { from, saidFrom }, 0);
    const cursor = file.cursor ?? since ?? begin;
    const ends = [{ from: to }, { saidFrom: saidTo }].map((end) => cursorBefore(place, end, last));
    last = Math.min(...(await Promise.all(ends)));
    const isEmpty = typeof cursor === "number" && cursor >= last;
    const copying = { format, raw, last, label, notice: follow ? print : undefined };
    if (!isEmpty && (q ?? text ?? author) !== undefined) {
      const range = { after: Number(cursor), ...(last < Number.POSITIVE_INFINITY && { before: last + 1 }) };
      const filter = { types, q, text, author, details: true };
      const selected = history(session.server, { ...place, ...range, ...filter, retry: () => false });
      const seen = async function* () {
        for await (const message of selected) {
          found = message.cursor;
          first ??= message.cursor - 1;
          yield message;
        }
      };
      await copy(session, seen(), file.output, copying, copied);
    } else if (!isEmpty) {
      const until = follow ? undefined : ("now" as const);
      const backfill = isChannel ? CHANNEL_BACKFILL : undefined;
      const asked = { name, chat, cursor, backfill, types, until, signal, details: true };
      room = openChat({ ...session, notice }, asked);
      room.on("message", () => {
        first ??= room?.cursor;
      });
      room.on("init", (init) => {
        begun = init;
      });
      room.on("gap", ({ after, cursor }) => {
        first = undefined; // the file has everything from the next message on
        notice(`messages may be missing between cursors ${after} and ${cursor}`);
      });
      await copy(session, room, file.output, copying, copied);
    }
    const { messages } = copied;
    if (messages === 0 && bounds.length > 0) {
      const where = await outside(place, { from, to, saidFrom, saidTo });
      if (where !== undefined) notice(where);
    }
    isComplete = true;
    await file.close(true);
    await describeFile();
    notice(`${plural(messages, "message")}${reached() ? `, up to cursor ${reached()}` : ""}`);
    return { messages: file.messages + messages, cursor: reached() };
  } catch (error) {
    if (!(error instanceof ChatError)) throw error;
    if (error.code === "INVALID_REQUEST") throw new ChatError(error.code, inFlags(error.message));
    if (error.code !== "NOT_STORED") throw error;
    const nothing = chat
      ? `the ${chat} chat of ${name}; leave out --chat to export the other`
      : `${name}; add --follow to read its chat`;
    throw new CommandError(EXIT.failed, `NOT_STORED: nothing is stored of ${nothing}`);
  } finally {
    if (!isComplete) await file.close(false).catch(() => {}); // the error itself is already thrown
    const isLeft = mode !== "whole" && !isComplete && !file.output.failed.aborted;
    if (isLeft) await describeFile();
    if (isLeft && first) notice(partBetween(first, reached() ?? first));
  }
}

/** What the file has between the cursors. One stream can go on while another one is followed. */
function partBetween(first: Cursor, last: Cursor): string {
  const part = areOfOneChat(first, last) ? "everything" : "the streams as they were followed,";
  return `the file has ${part} from cursor ${first} to ${last}`;
}

type ExportSource = Access & Pick<HistoryOptions, "videoId" | "chat"> & { signal: AbortSignal };
type Bounds = Pick<HistoryOptions, "from" | "to" | "saidFrom" | "saidTo">;

/** The cursor before the first message within the bounds; infinite without one, `none` without bounds. */
async function cursorBefore(
  { server, ...source }: ExportSource,
  bounds: Bounds,
  none: number,
): Promise<number> {
  if (Object.values(bounds).every((bound) => bound === undefined)) return none;
  const messages = history(server, { ...source, ...bounds, retry: () => false });
  for await (const { cursor } of messages) return cursor - 1;
  return Number.POSITIVE_INFINITY;
}

/** Where the messages are that these bounds leave out; undefined if something is within them. */
async function outside(
  { videoId, chat, signal, ...source }: ExportSource,
  bounds: Bounds,
): Promise<string | undefined> {
  const asked = Object.entries({ videoId, chat, ...bounds, limit: 1 }).filter(
    ([, value]) => value !== undefined,
  );
  const query = new URLSearchParams(asked.map(([name, value]) => [name, String(value)]));
  const path = `/v1/messages?${query}`;
  const page = await ask<{ outside?: Outside }>(source, path, { signal });
  if (!page.outside) return undefined;
  const { storedFrom, storedTo, saidFrom, saidTo, offsetFromMs, offsetToMs } = page.outside;
  const said = saidFrom ? `; they were said from ${saidFrom} to ${saidTo}` : "";
  const offsets = [offsetFromMs, offsetToMs].filter((ms) => ms !== undefined).map(clockTime);
  const places = offsets.length > 0 ? `; their places in the video are ${offsets.join(" to ")}` : "";
  return `no message is within these times. Those that are stored were stored from ${storedFrom} to ${storedTo}${said}${places}`;
}

/** As `/v1/messages` names it. */
type Outside = Record<"storedFrom" | "storedTo", string> &
  Partial<Record<"saidFrom" | "saidTo", string> & Record<"offsetFromMs" | "offsetToMs", number>>;

interface CopyOptions {
  format: Format;
  raw: boolean;
  /** The cursor of the last message to write. */
  last: number;
  label: string;
  /** Prints the progress where there is no terminal. */
  notice: ((line: string) => void) | undefined;
}

/** The part that was written so far: the number of messages, and the cursors of the first and the last. */
interface Copied {
  messages: number;
  first: number | undefined;
  last: number | undefined;
}

/** Writes the messages, and counts them in `copied`. */
async function copy(
  { stopped, io }: Pick<Session, "stopped" | "io">,
  source: AsyncIterable<Parameters<ReturnType<Format["encoder"]>>[0]>,
  output: Output,
  { format, raw, last, label, notice }: CopyOptions,
  copied: Copied,
): Promise<void> {
  const isShown = output.isTerminal;
  const startedAt = performance.now();
  const encode = format.encoder(raw);
  let offsetMs = Number.NaN;
  const hideProgress = isShown ? () => {} : showProgress(io, () => progressText(), notice);
  const progressText = () => {
    const rate = Math.round((copied.messages / (performance.now() - startedAt)) * 1000);
    const place = Number.isNaN(offsetMs) ? "" : `, ${clockTime(offsetMs)} into the video`;
    return `${label}${plural(copied.messages, "message")}, ${rate} a second${place}`;
  };
  try {
    for await (const message of source) {
      if (message.cursor > last) break;
      copied.messages += 1;
      copied.first ??= message.cursor;
      copied.last = message.cursor;
      offsetMs = message.details?.offsetMs ?? offsetMs;
      const record = encode(message);
      await output.add(isShown ? `${cleanText(record.trimEnd())}\n` : record, stopped);
    }
  } finally {
    hideProgress();
  }
}

function standardOutput(stdout: Writable, format: Format, stopped: AbortSignal): ExportFile {
  const output = new Output(stdout);
  if (format.header !== "") void output.add(format.header).catch(() => {}); // the next line reports a failure
  return { output, cursor: undefined, first: undefined, messages: 0, close: () => output.finish(stopped) };
}

function clockTime(ms: number): string {
  const seconds = Math.trunc(Math.abs(ms) / 1000);
  const [h, m, s] = [Math.trunc(seconds / 3600), Math.trunc(seconds / 60) % 60, seconds % 60];
  const two = (value: number) => `${value}`.padStart(2, "0");
  return `${ms < 0 ? "-" : ""}${h}:${two(m)}:${two(s)}`;
}
