/** The lines of an origin's NDJSON, and the messages in them, whose text is kept byte for byte. */
import { asString, dig, parseJson } from "../base/json.ts";
import { detailsFrom, type StoredMessage } from "../store/stored-message.ts";
import { OriginAway } from "./origin-away.ts";

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
   * The lines that this chunk completes, without their line feeds. Throws `OriginAway` if one is too long.
   */
  read(chunk: Buffer): string[] {
    const end = chunk.lastIndexOf(LINE_FEED);
    if (end < 0) {
      this.#keep(chunk);
      return [];
    }
    const text = Buffer.concat([...this.#rest, chunk.subarray(0, end)]).toString();
    this.#rest = [];
    this.#restBytes = 0;
    if (end + 1 < chunk.length) this.#keep(chunk.subarray(end + 1));
    return text.split("\n");
  }

  #keep(bytes: Buffer): void {
    this.#restBytes += bytes.length;
    if (this.#restBytes > MAX_LINE_BYTES) throw new OriginAway("a line of its answer is too long");
    this.#rest.push(bytes);
  }
}

/**
 * The message in a line that begins with `opening`, its cursor, and then the fields of the message. Throws
 * `OriginAway` if the line has another form.
 */
export function messageIn(line: string, opening: string): StoredMessage {
  const fields = line.indexOf(",", opening.length) + 1;
  const details = line.indexOf(DETAILS, fields);
  const cursor = Number(line.slice(opening.length, fields - 1));
  const body = `{${line.slice(fields, details)}}`;
  const id = asString(dig(parseJson(body), "id"));
  if (!line.startsWith(opening) || details < 0 || !Number.isSafeInteger(cursor) || id === undefined)
    throw new OriginAway("a line of its answer is not a message");
  return { cursor, id, body, ...detailsFrom(line.slice(details + DETAILS.length, -1)) };
}
