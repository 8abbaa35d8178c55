/** The formats of an export in one table: how to write messages, and where records of a file end. */
import { extname } from "node:path";
import { CSV_HEADER, csvLine } from "../../formats/csv.ts";
import { LinePrinter, plain } from "../../formats/lines.ts";
import type { ReceivedMessage } from "../../formats/message.ts";
import { jsonLine } from "../../formats/text.ts";
import { UsageError } from "../flags.ts";

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
    /** The cursor of a record; NaN if it has none. */
    cursorOf(record: string): number;
  };
}

const FORMATS: Record<"jsonl" | "csv" | "txt", Format> = {
  jsonl: {
    header: "",
    encoder: () => jsonLine,
    records: {
      isBeginning: (text) => isCutFrom(text.replace(/^(\{"cursor":)\d+/, "$1"), '{"cursor":,"type":"'),
      isQuoted: false,
      cursorOf: (record) => Number(/^\{"cursor":(\d+)[,}]/.exec(record)?.[1]),
    },
  },
  csv: {
    header: CSV_HEADER,
    encoder: (raw) => (message) => csvLine(message, raw),
    records: {
      isBeginning: (text) => isCutFrom(text, CSV_HEADER),
      isQuoted: true,
      cursorOf: (record) => Number(/^(\d+),/.exec(record)?.[1]),
    },
  },
  txt: {
    header: "",
    encoder: () => {
      const printer = new LinePrinter(plain);
      return (message) => printer.line(message);
    },
  },
};

/** The byte order mark. */
export const BOM = "\ufeff";

function isCutFrom(text: string, beginning: string): boolean {
  return text.startsWith(beginning) || beginning.startsWith(text);
}

export type FormatName = keyof typeof FORMATS;
export const DEFAULT_FORMAT: FormatName = "jsonl";
export const FORMAT_NAMES = Object.keys(FORMATS) as FormatName[];

/**
 * The requested format, or else that of the path's extension, or else JSON lines. `bom`: the file begins with
 * a byte order mark, without which some spreadsheets do not read UTF-8. Throws `UsageError`.
 */
export function formatFor(asked: FormatName | undefined, path: string, bom = false): Format {
  const extension = extname(path).slice(1).toLowerCase();
  const byEnding = FORMAT_NAMES.find((format) => format === extension);
  if (!asked && !byEnding && extension !== "")
    throw new UsageError(
      `--output: .${extension} is not a format of an export: end the name with .${FORMAT_NAMES.join(", .")}, or add --format`,
    );
  const name = asked ?? byEnding ?? DEFAULT_FORMAT;
  if (bom && name !== "csv") throw new UsageError("--bom is for CSV: add --format csv");
  return bom ? { ...FORMATS[name], header: BOM + FORMATS[name].header } : FORMATS[name];
}
