/**
 * The file of an export. Either it appears only when it is complete, or it grows and a later export can
 * continue it.
 */
import { createReadStream, createWriteStream, existsSync, type Stats, statSync } from "node:fs";
import { rm, truncate } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { messageOf } from "../../src/base/error-message.ts";
import { fileTrouble } from "../../src/base/file-trouble.ts";
import { beginFile } from "../../src/base/whole-file.ts";
import { UsageError } from "../../src/cli/flags.ts";
import { Output } from "../../src/cli/output.ts";
import { BOM } from "../../src/serving/history/csv.ts";
import { FileLock } from "../../src/store/sqlite/file-lock.ts";
import type { Format, LastMessage } from "./export-formats.ts";
import { openPipe } from "./pipe.ts";
import type { Cursor } from "./subject.ts";

export type FileMode = "whole" | "growing" | "append";

export interface ExportFile {
  output: Output;
  /** The cursor after which the file continues; undefined if it has no message yet. */
  cursor: Cursor | undefined;
  /** The cursor of its first message; undefined if it has no message yet. */
  first: Cursor | undefined;
  /** The number of messages that the file has already. */
  messages: number;
  /**
   * Closes the file. An incomplete new file is kept only if it grows and has messages. Rejects if the file
   * cannot be written.
   */
  close(isComplete: boolean): Promise<void>;
}

/** The cursor of a file's last message in the room that the file continues. Rejects if there is none. */
type CursorInRoom = (last: LastMessage) => Promise<Cursor>;

/**
 * Rejects with `UsageError` if the file exists already, has another format, is damaged or locked, or cannot
 * be written, and like `cursorInRoom`, and with the reason of `stopped` while a named pipe has no reader. A
 * refused file is unchanged.
 */
export async function openExportFile(
  path: string,
  format: Format,
  mode: FileMode,
  force: boolean,
  cursorInRoom: CursorInRoom,
  stopped: AbortSignal,
): Promise<ExportFile> {
  const found = entryAt(path);
  if (found?.isFIFO()) return pipe(path, format, stopped);
  if (found && !found.isFile()) return growing(path, format, "w"); // a device is written as it is
  if (mode === "append") {
    const { records } = format;
    if (!records)
      throw new UsageError("--append needs a format whose lines have cursors: --format jsonl or csv");
    return locked(path, () => append(path, format, records, cursorInRoom));
  }
  if (!force) assertFree(path);
  return mode === "whole" ? whole(path, format, force) : growing(path, format, "w");
}

/** Undefined if nothing is there. Throws `UsageError` if this user may not look. */
export function entryAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw cannotBeWritten(path, error);
  }
}

/** Throws `UsageError` if there is such a file. */
export function assertFree(path: string): void {
  if (existsSync(path))
    throw new UsageError(`${path} already exists: name another file, or add --force or --append`);
}

async function whole(path: string, format: Format, force: boolean): Promise<ExportFile> {
  const file = await beginFile(path).catch((error) => {
    throw cannotBeWritten(path, error);
  });
  const output = await create(file.part, format, "w");
  const close = async (isComplete: boolean) => {
    await using _file = file;
    await output.finish();
    if (!isComplete) return;
    if (!force) assertFree(path); // one may have appeared meanwhile
    await file.finish();
  };
  return { output, ...NOTHING, close };
}

async function pipe(path: string, { header }: Format, stopped: AbortSignal): Promise<ExportFile> {
  const stream = await openPipe(path, stopped).catch((error) => {
    throw stopped.aborted ? error : cannotBeWritten(path, error);
  });
  const output = new Output(stream, path);
  if (header !== "") await output.add(header);
  return { output, ...NOTHING, close: () => output.finish(stopped) };
}

const NOTHING = { cursor: undefined, first: undefined, messages: 0 };

async function growing(
  path: string,
  format: Format,
  flags: "w" | "a",
  held: Pick<ExportFile, "cursor" | "first" | "messages"> = NOTHING,
): Promise<ExportFile> {
  const isNew = !existsSync(path);
  const output = await create(path, format, flags);
  const close = async (isComplete: boolean) => {
    await output.finish();
    const isEmpty = isNew && !isComplete && statSync(path).size === Buffer.byteLength(format.header);
    if (isEmpty) await rm(path); // a chat that was refused leaves no file
  };
  return { output, ...held, close };
}

/** Two exports that continue the same file would write the same messages into it. */
async function locked(path: string, open: () => Promise<ExportFile>): Promise<ExportFile> {
  const lock = lockOf(path);
  try {
    const file = await open();
    return { ...file, close: (isComplete) => file.close(isComplete).finally(() => lock.release()) };
  } catch (error) {
    lock.release();
    throw error;
  }
}

function lockOf(path: string): FileLock {
  try {
    return new FileLock(path);
  } catch (error) {
    throw new UsageError(`--append: ${messageOf(error)}`);
  }
}

async function append(
  path: string,
  format: Format,
  records: Records,
  cursorInRoom: CursorInRoom,
): Promise<ExportFile> {
  const held = existsSync(path) ? await contentOf(path, format.header, records) : undefined;
  if (!held) return growing(path, format, "w");
  const { first, last, messages, length } = held;
  const cursor = last && (await cursorInRoom(last));
  await truncate(path, length); // removes an incomplete last record
  return growing(path, { ...format, header: "" }, "a", { cursor, first: first?.cursor, messages });
}

async function create(path: string, { header }: Format, flags: "w" | "a"): Promise<Output> {
  const isSpecial = statSync(path, { throwIfNoEntry: false })?.isFile() === false;
  const stream = createWriteStream(path, { flags, flush: !isSpecial }); // a device cannot be flushed
  await new Promise<void>((resolve, reject) => {
    stream.once("open", () => resolve());
    stream.once("error", (error) => reject(cannotBeWritten(path, error)));
  });
  const output = new Output(stream, path);
  if (header !== "") await output.add(header);
  return output;
}

function cannotBeWritten(path: string, error: unknown): UsageError {
  return new UsageError(`${path} ${fileTrouble(path, "written", error)}`);
}

const QUOTE = 0x22;
const LINE_FEED = 0x0a;
/** Enough bytes to recognise any format. */
const MAX_BEGINNING_BYTES = 1024;

type Records = NonNullable<Format["records"]>;

interface Content {
  /** Undefined if the file has only the header, or if the record is damaged. */
  first: LastMessage | undefined;
  /** Undefined if the file has only the header. */
  last: LastMessage | undefined;
  messages: number;
  /** The total length of all complete records, in bytes. */
  length: number;
}

/**
 * Undefined if the file has at most a part of its first line. Rejects with `UsageError` if the file has
 * another format, or if its last complete record is damaged.
 */
async function contentOf(
  path: string,
  header: string,
  { isBeginning, isQuoted, messageOf }: Records,
): Promise<Content | undefined> {
  if (!isBeginning(withoutBom(await read(path, 0, MAX_BEGINNING_BYTES))))
    throw new UsageError(`${path} is not an export in this format: name another file, or set --format`);
  const headers = header === "" ? 0 : 1;
  let [offset, start, end, records] = [0, 0, 0, 0];
  // Where the first record begins and ends.
  let [firstStart, firstEnd] = [0, 0];
  // Where the last record begins, and the lines that were read.
  let [startLine, endLine, lines] = [1, 1, 1];
  let isInQuotes = false;
  const stream = createReadStream(path, { highWaterMark: 1 << 20 });
  stream.on("data", (chunk) => {
    const bytes = chunk as Buffer;
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index];
      if (byte === QUOTE && isQuoted) isInQuotes = !isInQuotes;
      if (byte !== LINE_FEED) continue;
      lines += 1;
      if (isInQuotes) continue;
      records += 1;
      [start, end] = [end, offset + index + 1];
      [startLine, endLine] = [endLine, lines];
      if (records === headers + 1) [firstStart, firstEnd] = [start, end];
    }
    offset += bytes.length;
  });
  await finished(stream);
  if (records === 0) return undefined;
  const messages = records - headers;
  if (messages === 0) return { first: undefined, last: undefined, messages, length: end };
  const last = messageOf(await read(path, start, end));
  const first = messageOf(await read(path, firstStart, firstEnd));
  if (last) return { first, last, messages, length: end };
  throw new UsageError(
    `${path}: line ${startLine} is damaged: it is not a whole message of an export; delete it, or name another file`,
  );
}

function withoutBom(text: string): string {
  return text.startsWith(BOM) ? text.slice(BOM.length) : text;
}

async function read(path: string, start: number, end: number): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(path, { start, end: end - 1 })) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
