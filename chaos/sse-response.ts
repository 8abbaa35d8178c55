/**
 * One HTTP/1.1 response read by hand from bytes that come in pieces of any size: its head, then a body by length, by
 * chunks or up to the end of the connection, as RFC 9112 has it. The body of an event stream is told frame by frame,
 * any other as a whole. A byte that cannot be is told as malformed, and nothing is read after it.
 */
import { type FrameListener, SseFrames } from "./sse-frames.ts";

export interface ResponseListener extends FrameListener {
  /** The response's head; header names in lower case. */
  head(status: number, headers: ReadonlyMap<string, string>): void;
  /** The body of an answer that is no stream, once it is complete. */
  body?(text: string): void;
}

export interface ResponseHead {
  status: number;
  /** By name, in lower case. */
  headers: ReadonlyMap<string, string>;
}

type Part = "head" | "size" | "data" | "trailer" | "over";

const NOTHING: Buffer = Buffer.alloc(0);
const HEAD_END = "\r\n\r\n";

export class SseResponse {
  readonly #listener: ResponseListener;
  readonly #frames: SseFrames;
  #unread = NOTHING;
  #part: Part = "head";
  #isChunked = false;
  /** Bytes of the body, or of its present chunk, that are still to come. */
  #dataLeft = 0;
  /** Of a body that is no stream. */
  #text: string | undefined;
  #isComplete = false;

  constructor(listener: ResponseListener) {
    this.#listener = listener;
    this.#frames = new SseFrames(listener);
  }

  /** Whether it came to its orderly end. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Whether nothing more is read: it is complete, malformed or no longer wanted. */
  get isOver(): boolean {
    return this.#part === "over";
  }

  feed(bytes: Buffer): void {
    this.#unread = this.#unread.length === 0 ? bytes : Buffer.concat([this.#unread, bytes]);
    while (!this.isOver && this.#step());
    if (this.#unread.length === 0)
      this.#unread = NOTHING; // an empty part would hold on to all of the bytes
    else if (this.#isComplete) this.#fail("bytes after the response");
  }

  /** The connection has come to its orderly end, which is the end of a body without length and chunks. */
  end(): void {
    if (this.#part === "data" && this.#dataLeft === Number.POSITIVE_INFINITY) this.#complete();
  }

  /** Tells nothing more, not even of what has come. */
  stop(): void {
    this.#part = "over";
    this.#frames.stop();
  }

  /** Reads one more part; false where more has to come first. */
  #step(): boolean {
    if (this.#part === "head") return this.#readHead();
    if (this.#part === "data") return this.#readData();
    const end = this.#unread.indexOf("\r\n");
    if (end === -1) return false;
    const line = this.#unread.subarray(0, end).toString("latin1");
    this.#unread = this.#unread.subarray(end + 2);
    if (this.#part === "size") this.#beginChunk(line);
    else if (line === "") this.#complete();
    return true; // after a trailer's field too: nothing is made of it
  }

  #readHead(): boolean {
    const end = this.#unread.indexOf(HEAD_END);
    if (end === -1) return false;
    const head = headOf(this.#unread.subarray(0, end).toString("latin1"));
    this.#unread = this.#unread.subarray(end + HEAD_END.length);
    if (!head) return this.#fail("a head that is none");
    const { status, headers } = head;
    if (!isStream(head)) this.#text = "";
    this.#isChunked = headers.get("transfer-encoding") === "chunked";
    this.#dataLeft = Number(headers.get("content-length") ?? Number.POSITIVE_INFINITY);
    if (Number.isNaN(this.#dataLeft)) return this.#fail("a length that is no number");
    this.#part = this.#isChunked ? "size" : "data";
    this.#listener.head(status, headers);
    if (!this.#isChunked && this.#dataLeft === 0) this.#complete();
    return true;
  }

  #beginChunk(line: string): void {
    const [, size] = /^([0-9a-f]{1,8})(?:\s*;.*)?$/i.exec(line) ?? [];
    if (size === undefined) {
      this.#fail(`a chunk's size is ${JSON.stringify(line.slice(0, 100))}`);
      return;
    }
    this.#dataLeft = Number.parseInt(size, 16);
    this.#part = this.#dataLeft === 0 ? "trailer" : "data";
  }

  #readData(): boolean {
    if (this.#dataLeft === 0) return this.#endChunk();
    if (this.#unread.length === 0) return false;
    const bytes = this.#unread.subarray(0, Math.min(this.#unread.length, this.#dataLeft));
    this.#unread = this.#unread.subarray(bytes.length);
    this.#dataLeft -= bytes.length;
    if (this.#text === undefined) this.#frames.feed(bytes);
    else this.#text += bytes.toString("latin1");
    if (!this.isOver && this.#dataLeft === 0 && !this.#isChunked) this.#complete();
    return true;
  }

  #endChunk(): boolean {
    if (this.#unread.length < 2) return false;
    const isEnd = this.#unread[0] === 0x0d && this.#unread[1] === 0x0a;
    this.#unread = this.#unread.subarray(2);
    this.#part = "size";
    return isEnd || this.#fail("a chunk that is longer than its size");
  }

  #complete(): void {
    this.#part = "over";
    this.#isComplete = true;
    if (this.#text !== undefined) this.#listener.body?.(Buffer.from(this.#text, "latin1").toString());
  }

  #fail(what: string): false {
    this.stop();
    this.#isComplete = false;
    this.#listener.malformed?.(what);
    return false;
  }
}

/** Status line and headers, without the empty line after them; undefined where that is not what it is. */
export function headOf(text: string): ResponseHead | undefined {
  const [first = "", ...fields] = text.split("\r\n");
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first) ?? [];
  if (status === undefined) return undefined;
  const headers = fields.map((field): [string, string] => {
    const colon = field.indexOf(":");
    return [field.slice(0, colon).toLowerCase(), field.slice(colon + 1).trim()];
  });
  return { status: Number(status), headers: new Map(headers) };
}

/** Whether an answer is the stream that was asked for. */
export function isStream({ status, headers }: ResponseHead): boolean {
  return status === 200 && /^text\/event-stream\s*(;|$)/i.test(headers.get("content-type") ?? "");
}
