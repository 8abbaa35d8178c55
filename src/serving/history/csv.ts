/**
 * Writes messages as CSV (RFC 4180) with a fixed set of columns. In a text, an apostrophe precedes each place
 * where a spreadsheet could begin a formula, unless texts are asked for unchanged.
 */
import type { Details } from "../../protocol/kinds.ts";
import { wholeText } from "../../protocol/whole-text.ts";
import { choicesText, type ReceivedMessage } from "./received-message.ts";

/** The byte order mark, without which some spreadsheets do not read UTF-8. */
export const BOM = "\ufeff";

type Cell = string | number | null | undefined;

type Columns = Record<string, (message: ReceivedMessage, details: Details) => Cell>;

/** The columns in their order; texts are strings, numbers are numbers. */
const COLUMNS: Columns = {
  cursor: ({ cursor }) => cursor,
  type: ({ type }) => type,
  id: ({ id }) => id,
  timestamp: ({ timestamp }) => timestamp,
  publishedAt: (_, { publishedAt }) => publishedAt,
  offsetMs: (_, { offsetMs }) => offsetMs,
  author: ({ author }) => author,
  authorId: (_, { authorId }) => authorId,
  badges: (_, { badges }) => badges?.map(({ kind }) => kind).join(" "),
  message: wholeText,
  amount: ({ amount }) => amount,
  amountValue: (_, { amount }) => amount?.value,
  amountCurrency: (_, { amount }) => amount?.currency,
  color: ({ color }) => color,
  tier: (_, { tier }) => tier,
  level: (_, { level }) => level,
  header: (_, { header }) => header,
  targetMessageId: (_, { target }) => target?.messageId,
  targetAuthorId: (_, { target }) => target?.authorId,
  pollQuestion: (_, { poll }) => poll?.question,
  pollChoices: (_, { poll }) => poll && choicesText(poll.choices),
  pollVotes: (_, { poll }) => poll?.votes,
  pollState: (_, { poll }) => poll?.state,
  giftCount: (_, { gift }) => gift?.count,
  jewelsGift: (_, { jewels }) => jewels?.gift,
  jewelsCount: (_, { jewels }) => jewels?.count,
  jewelsCombo: (_, { jewels }) => jewels?.combo,
  months: (_, { months }) => months,
  giver: (_, { giver }) => giver,
  replyToAuthor: (_, { replyTo }) => replyTo?.author,
  replyToMessageId: (_, { replyTo }) => replyTo?.messageId,
  storedAt: (_, { storedAt }) => storedAt,
  gap: (_, { gap }) => gap?.until && Date.parse(gap.until) - Date.parse(gap.since),
  reason: (_, { gap }) => gap?.reason,
  since: (_, { gap }) => gap?.since,
  until: (_, { gap }) => gap?.until,
};

/** How the messages of one chat are written, or of several. */
export interface CsvTable {
  header: string;
  /** `raw`: writes texts unchanged, even those that a spreadsheet would run as formulas. */
  line(message: ReceivedMessage, raw: boolean): string;
}

export const CHAT_TABLE = tableOf(COLUMNS);
/** The second column is the video. */
export const CHATS_TABLE = tableOf({
  cursor: ({ cursor }) => cursor,
  videoId: ({ videoId }) => videoId,
  ...COLUMNS,
});

/** The signs with which a formula begins in a spreadsheet, also in their full-width and small forms. */
const SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b";
/**
 * Where a spreadsheet could begin a formula: at the start of a text that is neither a handle nor a negative
 * time, and after a character that some spreadsheets take for the end of a cell, even between quotes.
 */
const FORMULA = new RegExp(
  `^(?!@[\\p{L}\\p{M}\\p{N}\\p{Join_Control}._·-]+$|-\\d+(?::\\d\\d){1,2}$)(?=[${SIGNS}\t\r\n;])|(?=[${SIGNS}])(?<=[\t\r\n;][ "]*)`,
  "gu",
);
const NEEDS_QUOTES = /[",;\t\r\n]/;

function tableOf(columns: Columns): CsvTable {
  const readers = Object.values(columns);
  return {
    header: `${Object.keys(columns).join(",")}\r\n`,
    line: (message, raw) => {
      const { details = {} } = message;
      let line = "";
      for (const read of readers) line += `${line === "" ? "" : ","}${cell(read(message, details), raw)}`;
      return `${line}\r\n`;
    },
  };
}

/** A line of cells that are not a message's; none of them comes from a chat. */
export function csvRow(cells: readonly Cell[]): string {
  return `${cells.map((value) => cell(value, true)).join(",")}\r\n`;
}

function cell(value: Cell, raw: boolean): string {
  if (typeof value !== "string") return value === null || value === undefined ? "" : `${value}`;
  const text = raw ? value : value.replace(FORMULA, "'");
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
