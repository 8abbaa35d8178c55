/** The formats of an export in one table: how to write messages, and where records of a file end. */
import { extname } from "node:path";
import { asObject, asString, type JsonObject, parseJson } from "../../src/base/json.ts";
import { jsonLine } from "../../src/base/sanitised-text.ts";
import { UsageError } from "../../src/cli/flags.ts";
import { BOM, CHAT_TABLE, CHATS_TABLE, type CsvTable } from "../../src/serving/history/csv.ts";
import { LinePrinter, plain } from "../../src/serving/history/line-printer.ts";
import type { ReceivedMessage } from "../../src/serving/history/received-message.ts";
import { type Cursor, parseCursor } from "./subject.ts";

/** The first or the last message of a file. */
export interface LastMessage {
  cursor: Cursor;
  id: string;
}

export interface Format {
  /** The first line of a file. */
  header: string;
  /** A function that writes the messages of one chat in their order. */
  encoder(raw: boolean): (message: ReceivedMessage) => string;
  /** How to read a file of this format; absent if its records have no cursor. */
  records?: {
    /** Whether a file with this beginning has the format; its first record may be incomplete. */
    isBeginning(text: string): boolean;
    /** Whether a line break between double quotes is part of a record. */
    isQuoted: boolean;
    /** The message of a record; undefined if the record is damaged. */
    messageOf(record: string): LastMessage | undefined;
  };
}

export type FormatName = "jsonl" | "csv" | "txt";

const TEXT: Format = {
  header: "",
  encoder: () => {
    const printer = new LinePrinter(plain);
    return (message) => printer.line(message);
  },
};

const OF_VIDEO: Record<FormatName, Format> = {
  jsonl: jsonLines('{"cursor":,"type":"', placeInVideo),
  csv: csv(CHAT_TABLE, placeInVideo),
  txt: TEXT,
};

/** The chats of a channel: each record has its video after its cursor. */
const OF_CHANNEL: Record<FormatName, Format> = {
  jsonl: jsonLines('{"cursor":,"videoId":"', placeInChannel),
  csv: csv(CHATS_TABLE, placeInChannel),
  txt: TEXT,
};

/** The place of a record's message as text, by the fields of the record. */
type PlaceOf = (fields: JsonObject) => string;

function placeInVideo({ cursor }: JsonObject): string {
  return `${cursor}`;
}

function placeInChannel({ cursor, videoId }: JsonObject): string {
  return `${videoId}.${cursor}`;
}

/** `beginning`: of each record, without its cursor. */
function jsonLines(beginning: string, placeOf: PlaceOf): Format {
  return {
    header: "",
    encoder: () => jsonLine,
    records: {
      isBeginning: (text) => isCutFrom(text.replace(/^(\{"cursor":)\d+/, "$1"), beginning),
      isQuoted: false,
      messageOf: (record) => messageIn(asObject(parseJson(record)), placeOf),
    },
  };
}

function csv(table: CsvTable, placeOf: PlaceOf): Format {
  const { header, line } = table;
  return {
    header,
    encoder: (raw) => (message) => line(message, raw),
    records: {
      isBeginning: (text) => isCutFrom(text, header),
      isQuoted: true,
      messageOf: (record) => messageIn(cellsOf(record, table), placeOf),
    },
  };
}

/** One cell, and what ends it. */
const CELL = /(?:"((?:[^"]|"")*)"|([^",\r\n]*))(?:,|\r\n)/gy;

/**
 * The cells of a line that `CsvTable.line` wrote, as texts by column; undefined if their number is another.
 * A sign in front of a formula is left out.
 */
function cellsOf(line: string, { header }: Pick<CsvTable, "header">): Record<string, string> | undefined {
  const names = header.trimEnd().split(",");
  const cells = [...line.matchAll(CELL)].map(
    ([, quoted, plain = ""]) => quoted?.replaceAll('""', '"') ?? plain,
  );
  if (cells.length !== names.length) return undefined;
  return Object.fromEntries(names.map((name, index) => [name, (cells[index] ?? "").replace(/^'/, "")]));
}

function messageIn(fields: JsonObject | undefined, placeOf: PlaceOf): LastMessage | undefined {
  const cursor = fields && parseCursor(placeOf(fields));
  const id = asString(fields?.id);
  return cursor === undefined || !id ? undefined : { cursor, id };
}

function isCutFrom(text: string, beginning: string): boolean {
  return text.startsWith(beginning) || beginning.startsWith(text);
}

export const DEFAULT_FORMAT: FormatName = "jsonl";
export const FORMAT_NAMES = Object.keys(OF_VIDEO) as FormatName[];

/**
 * The requested format, or else that of the path's extension, or else JSON lines. `bom`: the file begins with
 * a byte order mark, without which some spreadsheets do not read UTF-8. `ofChannel`: each record has its
 * video. Throws `UsageError`.
 */
export function formatFor(
  asked: FormatName | undefined,
  path: string,
  { bom = false, ofChannel = false } = {},
): Format {
  const extension = extname(path).slice(1).toLowerCase();
  const byEnding = FORMAT_NAMES.find((format) => format === extension);
  if (!asked && !byEnding && extension !== "")
    throw new UsageError(
      `--output: .${extension} is not a format of an export: end the name with .${FORMAT_NAMES.join(", .")}, or add --format`,
    );
  const name = asked ?? byEnding ?? DEFAULT_FORMAT;
  if (bom && name !== "csv") throw new UsageError("--bom is for CSV: add --format csv");
  const format = (ofChannel ? OF_CHANNEL : OF_VIDEO)[name];
  return bom ? { ...format, header: BOM + format.header } : format;
}
