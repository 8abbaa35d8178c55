/** The file of an export: either it appears when complete, or it grows and a later export can continue it. */
import { createReadStream, createWriteStream, existsSync, statSync } from "node:fs";
import { truncate } from "node:fs/promises";
import { finished } from "node:stream/promises";
import { BOM } from "../../formats/csv.ts";
import { FileLock } from "../../store/sqlite/file-lock.ts";
import { beginFile } from "../../whole-file.ts";
import { UsageError } from "../flags.ts";
import type { Format } from "./formats.ts";
import { Output } from "./output.ts";
import type { Cursor } from "./subject.ts";

export type FileMode = "whole" | "growing" | "append";

export interface ExportFile {
  output: Output;
  /** The cursor of the last message in the file. */
  cursor: Cursor | undefined;
  /** Closes the file. An incomplete file is kept only if it grows. Rejects if the file cannot be written. */
  close(isComplete: boolean): Promise<void>;
}

/** Rejects with `UsageError` if the file exists already or has another format. */
export async function openExportFile(
  path: string,
  format: Format,
  mode: FileMode,
  force: boolean,
): Promise<ExportFile> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found && !found.isFile()) return growing(path, format, "w"); // a device or a pipe is written as it is
  if (mode === "append") {
    const { records } = format;
    if (!records)
      throw new UsageError("--append needs a format whose lines have cursors: --format jsonl or csv");
    return locked(path, () => append(path, format, records));
  }
  if (!force) assertFree(path);
  return mode === "whole" ? whole(path, format) : growing(path, format, "w");
}

/** Throws `UsageError` if there is such a file. */
export function assertFree(path: string): void {
  if (existsSync(path))
    throw new UsageError(`${path} already exists: name another file, or add --force or --append`);
}

async function whole(path: string, format: Format): Promise<ExportFile> {
  const file = await beginFile(path).catch((error) => {
    throw cannotBeWritten(path, error);
  });
  const output = await create(file.part, format, "w");
  const close = async (isComplete: boolean) => {
    await using _file = file;
    await output.finish();
    if (isComplete) await file.finish();
  };
  return { output, cursor: undefined, close };
}

async function growing(path: string, format: Format, flags: "w" | "a", cursor?: Cursor): Promise<ExportFile> {
  const output = await create(path, format, flags);
  return { output, cursor, close: () => output.finish() };
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
    throw new UsageError(`--append: ${error instanceof Error ? error.message : error}`);
  }
}

async function append(path: string, format: Format, records: Records): Promise<ExportFile> {
  const { cursor, length, isEmpty } = existsSync(path)
    ? await lastRecord(path, format.header, records)
    : { isEmpty: true };
  if (isEmpty) return growing(path, format, "w");
  await truncate(path, length); // removes an incomplete last record
  return growing(path, { ...format, header: "" }, "a", cursor);
}

async function create(path: string, { header }: Format, flags: "w" | "a"): Promise<Output> {
  const stream = createWriteStream(path, { flags, flush: true });
  await new Promise<void>((resolve, reject) => {
    stream.once("open", () => resolve());
    stream.once("error", (error) => reject(cannotBeWritten(path, error)));
  });
  const output = new Output(stream, path);
  if (header !== "") await output.add(header);
  return output;
}

function cannotBeWritten(path: string, error: unknown): UsageError {
  return new UsageError(`${path} cannot be written: ${error instanceof Error ? error.message : error}`);
}

const QUOTE = 0x22;
const LINE_FEED = 0x0a;
/** Enough bytes to recognise any format. */
const MAX_BEGINNING_BYTES = 1024;

type Records = NonNullable<Format["records"]>;

interface LastRecord {
  cursor: Cursor | undefined;
  /** The total length of all complete records, in bytes. */
  length: number;
  isEmpty: boolean;
}

/** Rejects with `UsageError` if the file has another format. */
async function lastRecord(
  path: string,
  header: string,
  { isBeginning, isQuoted, cursorOf }: Records,
): Promise<LastRecord> {
  const foreign = new UsageError(
    `${path} is not an export in this format: name another file, or set --format`,
  );
  if (!isBeginning(withoutBom(await read(path, 0, MAX_BEGINNING_BYTES)))) throw foreign;
  let [offset, start, end] = [0, 0, 0];
  let isInQuotes = false;
  const stream = createReadStream(path, { highWaterMark: 1 << 20 });
  stream.on("data", (chunk) => {
    const bytes = chunk as Buffer;
    for (let index = 0; index < bytes.length; index++) {
      const byte = bytes[index];
      if (byte === QUOTE && isQuoted) isInQuotes = !isInQuotes;
      if (byte !== LINE_FEED || isInQuotes) continue;
      start = end;
      end = offset + index + 1;
    }
    offset += bytes.length;
  });
  await finished(stream);
  if (end === 0) return { cursor: undefined, length: 0, isEmpty: true }; // at most a part of the first record
  const record = await read(path, start, end);
  if (header !== "" && start === 0 && withoutBom(record) === withoutBom(header))
    return { cursor: undefined, length: end, isEmpty: false };
  const cursor = cursorOf(record);
  if (cursor === undefined) throw foreign;
  return { cursor, length: end, isEmpty: false };
}

function withoutBom(text: string): string {
  return text.startsWith(BOM) ? text.slice(BOM.length) : text;
}

async function read(path: string, start: number, end: number): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(path, { start, end: end - 1 })) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
