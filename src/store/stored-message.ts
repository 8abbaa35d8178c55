/**
 * A message in the log. It is encoded once, when it is stored; from then on, the service passes it on in this
 * form.
 */
import { asString, dig, parseJson } from "../base/json.ts";
import type { Details } from "../protocol/kinds.ts";
import type { Message } from "../protocol/message.ts";

const PLAIN = "chat";
/** How the text of a plain chat message begins. All others are rare: an index of the store finds them. */
export const BEGINS_PLAIN = `{"type":"${PLAIN}"`;

/** Whether the store finds messages of this type by an index. */
export const isRare = (type: string): boolean => type !== PLAIN;

/**
 * The eight fields and the details as separate JSON texts, so that both forms of a frame are built without
 * parsing.
 */
export interface EncodedMessage {
  id: string;
  /** JSON object text of the eight fields, the type first: by it, the store finds rare messages. */
  body: string;
  /** JSON object text of the details, without `storedAt`. */
  details: string;
  /**
   * When the message was made durable, in wall milliseconds. The store sets it; only a message that another
   * store has kept brings its own.
   */
  storedAt?: number;
}

/** A stored message with its cursor. Without `storedAt` if an origin sends none. */
export interface StoredMessage extends EncodedMessage {
  cursor: number;
}

/** When a message was said, in milliseconds; undefined where that is not known. */
export interface SaidTimes {
  /** Wall time: `publishedAt`. */
  said: number | undefined;
  /** Place in the video: `offsetMs`. */
  offset: number | undefined;
}

export function encodeMessage(message: Message): EncodedMessage {
  const { type, details: all, ...others } = message;
  const { storedAt, ...details }: Details = all;
  const encoded = {
    id: message.id,
    body: JSON.stringify({ type, ...others }),
    details: JSON.stringify(details),
  };
  const at = Date.parse(storedAt ?? "");
  return Number.isNaN(at) ? encoded : { ...encoded, storedAt: at };
}

export function decodeMessage({ body, details }: EncodedMessage): Message {
  return { ...JSON.parse(body), details: JSON.parse(details) };
}

/** The type of an encoded message. Parses nothing, as long as the type is the first field. */
export function typeOf({ body }: EncodedMessage): string {
  return /^{"type":"(\w+)"/.exec(body)?.[1] ?? asString(dig(parseJson(body), "type")) ?? "";
}

/** Parses no JSON: quotes inside a JSON string are escaped, so `"key":` is always a key. */
export function saidTimes({ details }: EncodedMessage): SaidTimes {
  const said = Date.parse(/"publishedAt":"([^"]+)"/.exec(details)?.[1] ?? "");
  const offset = Number(/"offsetMs":([^,}]+)/.exec(details)?.[1] ?? Number.NaN);
  return {
    said: Number.isNaN(said) ? undefined : said,
    offset: Number.isSafeInteger(offset) ? offset : undefined,
  };
}

/**
 * The message as a store keeps it: UTF-8 without lone surrogates. So followers get the same text as later
 * readers.
 */
export function wellFormed<M extends EncodedMessage>(message: M): M {
  const { id, body, details } = message;
  return { ...message, id: id.toWellFormed(), body: body.toWellFormed(), details: details.toWellFormed() };
}

/** Whether the message was blanked, so that its replacement must not be shown either. */
export function isBlank({ author, message, amount, parts }: Omit<Message, "details">): boolean {
  return author === "" && message === "" && amount === "" && parts.length === 0;
}

/** The message's JSON for a viewer: the eight fields, and `details` as a ninth if the viewer requested it. */
export function messageJson(message: EncodedMessage, withDetails: boolean): string {
  return withDetails ? `${message.body.slice(0, -1)},"details":${detailsJson(message)}}` : message.body;
}

/** The id of a gap after the message with this cursor. */
export function gapId(cursor: number): string {
  return `gap:${cursor}`;
}

/** The last millisecond that `Date` can show. */
const MAX_MS = 8.64e15;
/** Messages that are stored together have the same time. */
let shown = { ms: Number.NaN, iso: "" };

/** A time in wall milliseconds as ISO 8601 in UTC; a damaged one as the nearest that has this form. */
export function isoOf(ms: number): string {
  if (shown.ms !== ms) shown = { ms, iso: new Date(Math.max(-MAX_MS, Math.min(ms, MAX_MS))).toISOString() };
  return shown.iso;
}

const STORED_AT = /^\{"storedAt":"([^"]{1,30})"(?:,(?=")|(?=\}$))/;

/** The details as viewers get them: `storedAt` first, then the stored fields. */
function detailsJson({ details, storedAt }: EncodedMessage): string {
  if (storedAt === undefined) return details;
  return `{"storedAt":"${isoOf(storedAt)}"${details === "{}" ? "" : ","}${details.slice(1)}`;
}

/** The inverse of `detailsJson`. */
export function detailsFrom(json: string): Pick<EncodedMessage, "details" | "storedAt"> {
  const [first = "", iso = ""] = STORED_AT.exec(json) ?? [];
  const storedAt = Date.parse(iso);
  if (Number.isNaN(storedAt)) return { details: json };
  return { details: `{${json.slice(first.length)}`, storedAt };
}
