/** The lines of an origin's NDJSON, with their messages and facts. Message text is kept byte for byte. */

import { asString, dig, parseJson } from "../base/json.ts";
import { FACT_NAMES } from "../protocol/chat.ts";
import type { Fact, Featured } from "../store/port.ts";
import { detailsFrom, type EncodedMessage, type StoredMessage } from "../store/stored-message.ts";
import { OriginAwayError } from "./origin-refusal.ts";

/** Maximum size of a line. Messages are far smaller. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;
const LINE_FEED = 0x0a;
/** Begins the details. It cannot occur in the eight fields: within a string, a quote follows a backslash. */
const DETAILS = ',"details":';

/** Splits bytes into lines. Whole lines of one chunk come together. */
export class LineReader {
  #rest: Buffer[] = [];
  #restBytes = 0;

  /**
   * The lines that this chunk completes, without line feeds. Throws `OriginAwayError` if one is too long.
   */
  read(chunk: Buffer): string[] {
    const end = chunk.lastIndexOf(LINE_FEED);
    if (end < 0) {
      this.#keepRest(chunk);
      return [];
    }
    const text = Buffer.concat([...this.#rest, chunk.subarray(0, end)]).toString();
    this.#rest = [];
    this.#restBytes = 0;
    if (end + 1 < chunk.length) this.#keepRest(chunk.subarray(end + 1));
    return text.split("\n");
  }

  #keepRest(bytes: Buffer): void {
    this.#restBytes += bytes.length;
    if (this.#restBytes > MAX_LINE_BYTES) throw new OriginAwayError("a line of its answer is too long");
    this.#rest.push(bytes);
  }
}

/**
 * The message in a line that begins with `opening`, its cursor, and then the fields of the message. Throws
 * `OriginAwayError` if the line has another form.
 */
export function messageIn(line: string, opening: string): StoredMessage {
  const fields = line.indexOf(",", opening.length) + 1;
  const cursor = Number(line.slice(opening.length, fields - 1));
  const message = encodedIn(line.slice(fields));
  if (!line.startsWith(opening) || !Number.isSafeInteger(cursor) || !message)
    throw new OriginAwayError("a line of its answer is not a message");
  return { cursor, ...message };
}

const FEATURED = '{"event":"featured",';
const FEATURED_MESSAGE = `${FEATURED}"message":{`;
const FEATURED_AT = /,"featuredAt":"([^"]+)"\}$/;

/** The fact in a line; undefined if of another event. Throws `OriginAwayError` if it has another form. */
export function factIn(line: string): Fact | undefined {
  const name = FACT_NAMES.find((each) => line.startsWith(`{"event":"${each}",`));
  if (name === "standing") return { name, value: asString(dig(parseJson(line), "reason")) };
  return name && { name, value: featuredIn(line) };
}

/** The message in a line of the event `featured`; undefined if there is none. */
function featuredIn(line: string): Featured | undefined {
  if (line === `${FEATURED}"message":null}`) return undefined;
  const [end = "", iso = ""] = FEATURED_AT.exec(line) ?? [];
  const message = encodedIn(line.slice(FEATURED_MESSAGE.length, line.length - end.length));
  const at = Date.parse(iso);
  if (!line.startsWith(FEATURED_MESSAGE) || !message || Number.isNaN(at))
    throw new OriginAwayError("a line of its answer is not a featured message");
  return { message, at };
}

/** The message of which a text has all fields and the closing brace; undefined if it has another form. */
function encodedIn(fields: string): EncodedMessage | undefined {
  const details = fields.indexOf(DETAILS);
  const body = `{${fields.slice(0, details)}}`;
  const id = asString(dig(parseJson(body), "id"));
  if (details < 0 || id === undefined) return undefined;
  return { id, body, ...detailsFrom(fields.slice(details + DETAILS.length, -1)) };
}
