/** Writes the messages of one chat to a file or standard output. */
import type { Writable } from "node:stream";
import { ChatError, type HistoryOptions, history } from "../../../client/index.ts";
import { cleanText } from "../../formats/harmless-text.ts";
import { counted } from "../counted.ts";
import { EXIT } from "../exit-codes.ts";
import type { Input } from "../flags.ts";
import { type ExportFile, type FileMode, openExportFile } from "./export-file.ts";
import type { Format, LastMessage } from "./export-formats.ts";
import { placeInRoom } from "./export-place.ts";
import { Output } from "./output.ts";
import { showProgress } from "./progress.ts";
import type { EXPORT_FLAGS } from "./reader-flags.ts";
import type { Access } from "./sent-token.ts";
import { CommandError, openChat, type Room, type Session } from "./session.ts";
import { type Cursor, channelIn } from "./subject.ts";

export type ExportInput = Input<typeof EXPORT_FLAGS>;

/** The service's maximum: no cursor asks for all of a stream whose video is not known yet. */
const CHANNEL_BACKFILL = 500;

interface ChatTarget {
  /** A video; or a channel, if it is followed. */
  name: string;
  /** Empty for standard output. */
  path: string;
  format: Format;
  /** Before the notices and the progress of this chat. */
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

/** Rejects with `CommandError`, `UsageError`, `ChatError`, or the reason of the stop. */
export async function exportChat(
  { notice: print, ...session }: Session,
  { name, path, format, label }: ChatTarget,
  values: ExportInput["values"],
): Promise<Exported> {
  const { follow, force, raw, since, from, to, types, chat } = values;
  const notice = (text: string) => print(label + text);
  const mode = modeOf(values);
  const cursorInRoom = (last: LastMessage) =>
    placeInRoom(session, { name, chat }, path, last, session.stopped);
  const file =
    path === ""
      ? standardOutput(session.surroundings.stdout, format, session.stopped)
      : await openExportFile(path, format, mode, force, cursorInRoom, session.stopped);
  const signal = AbortSignal.any([session.stopped, file.output.failed]);
  const placeOf = async <T>(time: number | undefined, none: T) =>
    time === undefined ? none : cursorBefore(session, { videoId: name, chat }, time, signal);
  let room: Room | undefined;
  let first = file.cursor;
  let [last, messages, isComplete] = [Number.POSITIVE_INFINITY, 0, false];
  const reached = () => (typeof room?.cursor === "number" ? Math.min(room.cursor, last) : room?.cursor);
  try {
    const isChannel = channelIn(name) !== undefined;
    const cursor = file.cursor ?? since ?? (await placeOf(from, isChannel ? undefined : 0));
    last = await placeOf(to, last);
    if (typeof cursor !== "number" || cursor < last) {
      const until = follow ? undefined : ("now" as const);
      const backfill = isChannel ? CHANNEL_BACKFILL : undefined;
      const asked = { name, chat, cursor, backfill, types, until, signal, details: true };
      room = openChat({ ...session, notice }, asked);
      room.on("message", () => {
        first ??= room?.cursor;
      });
      messages = await copy({ ...session, notice }, room, file.output, { format, raw, last, label });
    }
    isComplete = true;
    await file.close(true);
    notice(`${counted(messages, "message")}${reached() ? `, up to cursor ${reached()}` : ""}`);
    return { messages: file.messages + messages, cursor: reached() };
  } catch (error) {
    if (!(error instanceof ChatError && error.code === "NOT_STORED")) throw error;
    throw new CommandError(
      EXIT.failed,
      `NOT_STORED: nothing is stored of ${name}; add --follow to read its chat`,
    );
  } finally {
    if (!isComplete) await file.close(false).catch(() => {}); // the error itself is already thrown
    const isLeft = mode !== "whole" && !isComplete && !file.output.failed.aborted;
    if (isLeft && first) notice(`the file has everything from cursor ${first} to ${reached()}`);
  }
}

/** The cursor before the first message stored at or after this time; infinite if there is none. */
async function cursorBefore(
  { server, token }: Access,
  of: Pick<HistoryOptions, "videoId" | "chat">,
  from: number,
  signal: AbortSignal,
): Promise<number> {
  const messages = history(server, { ...of, token, from, signal, retry: () => false });
  for await (const { cursor } of messages) return cursor - 1;
  return Number.POSITIVE_INFINITY;
}

interface CopyOptions {
  format: Format;
  raw: boolean;
  /** The cursor of the last message to write. */
  last: number;
  label: string;
}

/** Resolves to the number of messages written. */
async function copy(
  { notice, stopped, surroundings }: Pick<Session, "notice" | "stopped" | "surroundings">,
  room: Room,
  output: Output,
  { format, raw, last, label }: CopyOptions,
): Promise<number> {
  const isShown = output.isTerminal;
  const startedAt = performance.now();
  const encode = format.encoder(raw);
  let [written, offsetMs] = [0, Number.NaN];
  const hideProgress = isShown ? () => {} : showProgress(surroundings, () => progressText());
  const progressText = () => {
    const rate = Math.round((written / (performance.now() - startedAt)) * 1000);
    const place = Number.isNaN(offsetMs) ? "" : `, ${clockTime(offsetMs)} into the video`;
    return `${label}${counted(written, "message")}, ${rate} a second${place}`;
  };
  room.on("gap", ({ after, cursor }) =>
    notice(`messages may be missing between cursors ${after} and ${cursor}`),
  );
  try {
    for await (const message of room) {
      if (message.cursor > last) break;
      written += 1;
      offsetMs = message.details?.offsetMs ?? offsetMs;
      const record = encode(message);
      await output.add(isShown ? `${cleanText(record.trimEnd())}\n` : record, stopped);
    }
    return written;
  } finally {
    hideProgress();
  }
}

function standardOutput(stdout: Writable, format: Format, stopped: AbortSignal): ExportFile {
  const output = new Output(stdout);
  if (format.header !== "") void output.add(format.header).catch(() => {}); // the next line reports a failure
  return { output, cursor: undefined, messages: 0, close: () => output.finish(stopped) };
}

function clockTime(ms: number): string {
  const seconds = Math.trunc(Math.abs(ms) / 1000);
  const [h, m, s] = [Math.trunc(seconds / 3600), Math.trunc(seconds / 60) % 60, seconds % 60];
  const two = (value: number) => `${value}`.padStart(2, "0");
  return `${ms < 0 ? "-" : ""}${h}:${two(m)}:${two(s)}`;
}
