/**
 * Parses Server-Sent Events as the HTML standard does (section 9.2.6, which `[spec]` quotes here), from
 * bytes that may be split anywhere: all three line ends, a byte order mark, comments, data of several
 * lines, ids that persist, `retry`. Drops an event that is cut off, and refuses one that does not end. An
 * id without data is a frame, too: the cursor alone.
 */
import { ChatError } from "./chat-error.ts";

/** The maximum length of an event that has not ended, in characters: 16 MB. The service's are far shorter. */
const MAX_LENGTH = 2 ** 24;

export interface Frame {
  /** Empty if there is an id alone. */
  event: string;
  data: string;
  /** The last id so far; empty if there was none. */
  id: string;
}

export class FrameReader {
  /** The wait before a reconnect that the stream asks for, in milliseconds. */
  retryMs: number | undefined;
  readonly #decoder = new TextDecoder();
  /** The beginning of an incomplete line. */
  #rest = "";
  /** The last line ended with CR: an LF at the start of the next chunk belongs to it. */
  #afterCr = false;
  /** The fields of the event so far. */
  #event: Partial<Frame> = {};
  /** The last id so far. */
  #id = "";

  /**
   * Yields the frames that these bytes complete, and parses each only when the caller asks for it. Throws
   * `ChatError` once an event that has not ended is longer than 16 MB.
   */
  *read(bytes: Uint8Array): Generator<Frame> {
    // [spec] Streams must be decoded using the UTF-8 decode algorithm.
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return;
    if (this.#afterCr) text = text.replace(/^\n/, "");
    this.#afterCr = text.endsWith("\r");
    const lines = text.split(/\r\n?|\n/);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() as string;
    for (const line of lines) {
      const event = this.#event;
      const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) as RegExpExecArray;
      if (line === "") {
        // [spec] If the line is empty (a blank line): Dispatch the event
        this.#event = {};
        if (event.data !== undefined)
          yield { event: event.event || "message", data: event.data, id: this.#id };
        else if (event.id) yield { event: "", data: "", id: event.id };
      } else if (name === "data") {
        event.data = event.data?.concat("\n", value) ?? value;
      } else if (name === "event") {
        event.event = value;
      } else if (name === "id" && !value.includes("\0")) {
        // [spec] If the field value does not contain U+0000 NULL, then set the last event ID buffer
        this.#id = event.id = value;
      } else if (name === "retry" && /^\d+$/.test(value)) {
        // [spec] If the field value consists of only ASCII digits, then interpret the field value as an integer
        this.retryMs = +value;
      }
    }
    const { data = "" } = this.#event;
    if (data.length + this.#rest.length > MAX_LENGTH)
      throw new ChatError("NETWORK", "A frame is over 16 MB.");
  }
}
