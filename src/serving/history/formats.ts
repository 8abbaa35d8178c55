/**
 * The formats of a history in one table, and the bodies of its answers. Bodies are written in slices, so that
 * the event loop runs in between.
 */
import { createHash } from "node:crypto";
import { onOneLine, wireJson } from "../../base/wire-json.ts";
import { chatOf, typeOfChat } from "../../protocol/chat-key.ts";
import { decodeMessage, isoOf, messageJson, type StoredMessage } from "../../store/stored-message.ts";
import type { Slices } from "../slices.ts";
import { BOM, CHAT_TABLE } from "./csv.ts";
import type { HistoryPage, StoredTimes, WholeHistory } from "./history.ts";
import { LinePrinter, plain } from "./line-printer.ts";
import type { ReceivedMessage } from "./received-message.ts";

export interface WritingOptions {
  /** JSON: whether messages have their details. The other formats always use them. */
  details: boolean;
  /** CSV: whether texts that a spreadsheet would run as formulas stay as they are. */
  raw: boolean;
  /** CSV: whether it begins with a byte order mark. */
  bom: boolean;
}

interface Format {
  mediaType: string;
  /** Present if the format consists of lines, so that it can be sent while it is read. */
  file?: { extension: string; header(options: WritingOptions): string };
  /** Whether a message is written differently after others. */
  remembers?: boolean;
  /** A function that writes the messages of one answer in their order. */
  writer(options: WritingOptions): (message: StoredMessage) => string;
}

export type FormatName = "json" | "ndjson" | "csv" | "text";

export const FORMATS: Readonly<Record<FormatName, Format>> = {
  json: {
    mediaType: "application/json; charset=utf-8",
    writer: ({ details }) => {
      let separator = "";
      return (message) => {
        const text = separator + itemJson(message, details);
        separator = ",";
        return text;
      };
    },
  },
  ndjson: {
    mediaType: "application/x-ndjson",
    file: { extension: "ndjson", header: () => "" },
    writer: (options) => (message) => `${itemJson(message, options.details)}\n`,
  },
  csv: {
    mediaType: "text/csv; charset=utf-8",
    file: { extension: "csv", header: ({ bom }) => (bom ? BOM : "") + CHAT_TABLE.header },
    writer: (options) => (message) => CHAT_TABLE.line(received(message), options.raw),
  },
  text: {
    mediaType: "text/plain; charset=utf-8",
    remembers: true,
    file: { extension: "txt", header: () => "" },
    writer: () => {
      const printer = new LinePrinter(plain);
      return (message) => printer.line(received(message));
    },
  },
};
export const FORMAT_NAMES = Object.keys(FORMATS) as FormatName[];

/** The message as JSON on one line, its cursor first. */
export function itemJson(message: StoredMessage, withDetails: boolean): string {
  return `{"cursor":${message.cursor},${onOneLine(messageJson(message, withDetails)).slice(1)}`;
}

function received(stored: StoredMessage): ReceivedMessage {
  const { details, ...message } = decodeMessage(stored);
  const { cursor, storedAt } = stored;
  return {
    ...message,
    cursor,
    details: { ...details, ...(storedAt !== undefined && { storedAt: isoOf(storedAt) }) },
  };
}

/**
 * The body of a page, and a hash for its ETag. The hash also covers the media type and the neighbouring
 * pages, because two answers with the same lines can differ in these. `state`: the room's, which only JSON
 * shows. `isFinal`: the page has no more to come; then the hash covers nothing of the room, which goes on.
 */
export async function pageBody(
  { room, chats, messages, next, prev, outside }: HistoryPage,
  state: string,
  { mediaType, file, writer }: Format,
  options: WritingOptions,
  isFinal: boolean,
  slices: Slices,
): Promise<{ body: Buffer; hash: string }> {
  const { base, floor, head } = room;
  const { videoId, chat } = chatOf(room.key);
  const shown = { videoId, chatType: typeOfChat(chat), chats, state, base, floor, head };
  const opening = `${wireJson(shown).slice(0, -1)},"messages":[`;
  const hash = createHash("sha256").update(`${mediaType} ${next} ${prev}`);
  const first = file ? file.header(options) : opening;
  if (!isFinal) hash.update(first);
  const pieces = [Buffer.from(first)];
  const add = (text: string) => {
    const piece = Buffer.from(text);
    hash.update(piece);
    pieces.push(piece);
  };
  await inPieces(messages, writer(options), slices, add);
  if (!file)
    add(`],"next":${next},"prev":${prev}${outside ? `,"outside":${wireJson(shownTimes(outside))}` : ""}}`);
  return { body: Buffer.concat(pieces), hash: hash.digest("base64url").slice(0, 22) };
}

function shownTimes({ stored, said, offset }: StoredTimes) {
  return {
    storedFrom: isoOf(stored[0]),
    storedTo: isoOf(stored[1]),
    ...(said && { saidFrom: isoOf(said[0]), saidTo: isoOf(said[1]) }),
    ...(offset && { offsetFromMs: offset[0], offsetToMs: offset[1] }),
  };
}

/** A piece of a download. */
export interface Piece {
  bytes: Buffer;
  /** After which the next one begins. */
  end: { to: number; limit: number };
}

/** Makes a piece, or shares it with other downloads by its key; undefined if it is of this download alone. */
type MakePiece = (key: string | undefined, make: (signal: AbortSignal) => Promise<Piece>) => Promise<Piece>;

/**
 * The body of a download, in pieces that are made when they are asked for. A piece that waits for its client
 * is all that the download holds.
 */
export async function* wholeBody(
  { key, next, read }: WholeHistory,
  format: Format,
  options: WritingOptions,
  slices: Slices,
  inTurn: MakePiece,
): AsyncGenerator<Buffer> {
  const { mediaType, file, writer, remembers } = format;
  const write = writer(options);
  const header = file?.header(options) ?? "";
  if (header !== "") yield Buffer.from(header);
  for (let part = next(); part; ) {
    const { after, to, limit } = part;
    const name = remembers ? undefined : JSON.stringify([key, mediaType, options, after, to, limit]);
    const { bytes, end } = await inTurn(name, async (signal) => {
      const { messages, ...end } = await read({ after, to, limit }, signal);
      const texts: string[] = [];
      await inPieces(messages, write, slices, (text) => texts.push(text));
      return { bytes: Buffer.from(texts.join("")), end };
    });
    part = next(end);
    if (bytes.length > 0) yield bytes;
  }
}

/** Collected text is passed on once it has this length. */
const PIECE_LENGTH = 65_536;

async function inPieces(
  messages: readonly StoredMessage[],
  write: (message: StoredMessage) => string,
  slices: Slices,
  add: (text: string) => void,
): Promise<void> {
  let text = "";
  await slices.each(messages, (message) => {
    text += write(message);
    if (text.length < PIECE_LENGTH) return;
    add(text);
    text = "";
  });
  if (text !== "") add(text);
}
