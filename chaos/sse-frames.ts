/**
 * The text of an event stream as the HTML standard has it, read by hand: lines that end in LF, CR or CRLF, fields,
 * and frames that count once their empty line has come. Half a frame is nothing. What belongs to no frame of any
 * stream is told as malformed, although the standard lets a client ignore it.
 */

export interface SseFrame {
  event: string;
  /** The frame's own `id:` line; undefined where it has none. */
  id: string | undefined;
  data: string;
}

export interface FrameListener {
  frame(frame: SseFrame): void;
  /** A reconnection time, in milliseconds. */
  retry?(ms: number): void;
  comment?(text: string): void;
  malformed?(what: string): void;
}

const LF = 0x0a;
const CR = 0x0d;
const NOTHING: Buffer = Buffer.alloc(0);

export class SseFrames {
  readonly #listener: FrameListener;
  /** The beginning of a line whose end has not come. Kept as bytes, as a character may be cut too. */
  #rest = NOTHING;
  /** The last line ended in a CR, so that an LF right after it is no line of its own. */
  #endedInCr = false;
  #frame: SseFrame = emptyFrame();
  #hasData = false;
  #isStopped = false;

  constructor(listener: FrameListener) {
    this.#listener = listener;
  }

  /** Bytes as they came, in pieces of any size. */
  feed(bytes: Buffer): void {
    const end = Math.max(bytes.lastIndexOf(LF), bytes.lastIndexOf(CR)) + 1;
    if (end > 0) {
      this.#lines(this.#joined(bytes.subarray(0, end)).toString());
      this.#rest = NOTHING;
    }
    if (end < bytes.length) this.#rest = this.#joined(bytes.subarray(end));
  }

  /** Tells nothing more, not even of what was fed before: for a listener that has had enough in the midst of it. */
  stop(): void {
    this.#isStopped = true;
  }

  #joined(bytes: Buffer): Buffer {
    return this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
  }

  /** `text` ends where a line ends. */
  #lines(text: string): void {
    const own = this.#endedInCr && text.startsWith("\n") ? text.slice(1) : text;
    this.#endedInCr = text.endsWith("\r");
    const lines = own.split(own.includes("\r") ? /\r\n?|\n/ : "\n");
    lines.pop(); // what follows the last line's end: nothing
    for (const line of lines) {
      if (this.#isStopped) return;
      this.#line(line);
    }
  }

  #line(line: string): void {
    const colon = line.indexOf(":");
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (line === "") this.#dispatch();
    else if (name === "") this.#listener.comment?.(value);
    else if (name === "data") {
      this.#frame.data += this.#hasData ? `\n${value}` : value;
      this.#hasData = true;
    } else if (name === "event") this.#frame.event = value;
    else if (name === "id") this.#frame.id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.#listener.retry?.(Number(value));
    else this.#listener.malformed?.(`a line that is no field: ${line.slice(0, 100)}`);
  }

  #dispatch(): void {
    if (this.#hasData) this.#listener.frame(this.#frame);
    this.#frame = emptyFrame();
    this.#hasData = false;
  }
}

function emptyFrame(): SseFrame {
  return { event: "message", id: undefined, data: "" };
}
