/** The formats of an export in one table: how to write a message, and where records of a file end. */
import { extname } from "node:path";
import { CSV_HEADER, csvLine } from "../../formats/csv.ts";
import type { ReceivedMessage } from "../../formats/message.ts";
import { jsonLine } from "../../formats/text.ts";

export interface Format {
  /** The first line of a file. */
  header: string;
  /** Whether a file with this beginning has the format; its first record may be incomplete. */
  isBeginning(text: string): boolean;
  /** Whether a line break between double quotes is part of a record. */
  isQuoted: boolean;
  encode(message: ReceivedMessage, raw: boolean): string;
  /** The cursor of a record; NaN if it has none. */
  cursorOf(record: string): number;
}

const FORMATS = {
  jsonl: {
    header: "",
    isBeginning: (text) => isCutFrom(text.replace(/^(\{"cursor":)\d+/, "$1"), '{"cursor":,"type":"'),
    isQuoted: false,
    encode: (message) => jsonLine(message),
    cursorOf: (record) => Number(/^\{"cursor":(\d+)[,}]/.exec(record)?.[1]),
  },
  csv: {
    header: CSV_HEADER,
    isBeginning: (text) => isCutFrom(text, CSV_HEADER),
    isQuoted: true,
    encode: csvLine,
    cursorOf: (record) => Number(/^(\d+),/.exec(record)?.[1]),
  },
} satisfies Record<string, Format>;

function isCutFrom(text: string, beginning: string): boolean {
  return text.startsWith(beginning) || beginning.startsWith(text);
}

export type FormatName = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as FormatName[];

/** The requested format, or else that of the file's extension, or else JSON lines. */
export function formatFor(asked: FormatName | undefined, path: string): Format {
  const byEnding = FORMAT_NAMES.find((name) => extname(path).toLowerCase() === `.${name}`);
  return FORMATS[asked ?? byEnding ?? "jsonl"];
}
