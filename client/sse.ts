/**
 * Parses Server-Sent Events as the HTML standard does, from bytes that may be split anywhere: all three line
 * ends, a byte order mark, comments, data of several lines, ids that persist, `retry`. Drops an event that is
 * cut off, and refuses one that does not end.
 */
import { ChatError } from "./error.ts";

/** The maximum length of an event that has not ended, in characters: 16 MB. The service's are far shorter. */
const MAX_LENGTH = 16 * 1024 * 1024;

export interface Frame {
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
  #event = "";
  #data: string[] = [];
  /** The characters in `#data`. */
  #length = 0;
  #id = "";

  /**
   * Yields the frames that these bytes complete, and parses each only when the caller asks for it. Throws
   * `ChatError` once an event is longer than 16 MB.
   */
  *read(bytes: Uint8Array): Generator<Frame> {
    let text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return;
    if (this.#afterCr && text.startsWith("\n")) text = text.slice(1);
    this.#afterCr = text.endsWith("\r");
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = this.#rest + lines[0];
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line !== "") this.#field(line);
      else if (this.#data.length > 0) yield this.#dispatch();
      else this.#event = "";
    }
    if (this.#length + this.#rest.length > MAX_LENGTH)
      throw new ChatError("NETWORK", "The stream has an event of more than 16 MB.");
  }

  #dispatch(): Frame {
    const frame = { event: this.#event || "message", data: this.#data.join("\n"), id: this.#id };
    this.#event = "";
    this.#data = [];
    this.#length = 0;
    return frame;
  }

  #field(line: string): void {
    const [, name, value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === "data") {
      this.#data.push(value);
      this.#length += value.length;
    } else if (name === "event") this.#event = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.retryMs = Number(value);
  }
}
