/** Writes messages as CSV (RFC 4180) with a fixed set of columns. */
import type { Details } from "../protocol/kinds.ts";
import type { ReceivedMessage } from "./message.ts";

type Cell = string | number | null | undefined;

/** The columns in their order; texts are strings, numbers are numbers. */
const COLUMNS: Record<string, (message: ReceivedMessage, details: Details) => Cell> = {
  cursor: ({ cursor }) => cursor,
  type: ({ type }) => type,
  id: ({ id }) => id,
  timestamp: ({ timestamp }) => timestamp,
  publishedAt: (_, { publishedAt }) => publishedAt,
  offsetMs: (_, { offsetMs }) => offsetMs,
  author: ({ author }) => author,
  authorId: (_, { authorId }) => authorId,
  badges: (_, { badges }) => badges?.map(({ kind }) => kind).join(" "),
  message: ({ message }) => message,
  amount: ({ amount }) => amount,
  amountValue: (_, { amount }) => amount?.value,
  amountCurrency: (_, { amount }) => amount?.currency,
  color: ({ color }) => color,
  tier: (_, { tier }) => tier,
  level: (_, { level }) => level,
  header: (_, { header }) => header,
  targetMessageId: (_, { target }) => target?.messageId,
  targetAuthorId: (_, { target }) => target?.authorId,
};
const READERS = Object.values(COLUMNS);

export const CSV_HEADER = `${Object.keys(COLUMNS).join(",")}\r\n`;

/** The first characters of a text that a spreadsheet would run as a formula. */
const FORMULA = /^[=+\-@\t\r]/;
const NEEDS_QUOTES = /[",\r\n]/;

/** `raw`: writes texts unchanged, even those that a spreadsheet would run. */
export function csvLine(message: ReceivedMessage, raw: boolean): string {
  const { details = {} } = message;
  let line = "";
  for (const read of READERS) line += `${line === "" ? "" : ","}${cell(read(message, details), raw)}`;
  return `${line}\r\n`;
}

function cell(value: Cell, raw: boolean): string {
  if (typeof value !== "string") return value === null || value === undefined ? "" : `${value}`;
  const text = !raw && FORMULA.test(value) ? `'${value}` : value;
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
