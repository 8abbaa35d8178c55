/** The formats of an export, in one table: how a message is written, and where records end in a file of it. */
import { extname } from "node:path";
import { CSV_HEADER, csvLine } from "./csv.ts";
import type { ReceivedMessage } from "./message.ts";
import { jsonLine } from "./text.ts";

export interface Format {
  /** What a file begins with. */
  header: string;
  /** Whether a file with this beginning is of the format; its first record may be cut off. */
  isBeginning(text: string): boolean;
  /** Whether a line break between double quotes is part of a record. */
  isQuoted: boolean;
  encode(message: ReceivedMessage, raw: boolean): string;
  /** The cursor of a record; NaN where it has none. */
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

/** The one asked for, else that of the file's ending, else JSON lines. */
export function formatFor(asked: FormatName | undefined, path: string): Format {
  const byEnding = FORMAT_NAMES.find((name) => extname(path).toLowerCase() === `.${name}`);
  return FORMATS[asked ?? byEnding ?? "jsonl"];
}
