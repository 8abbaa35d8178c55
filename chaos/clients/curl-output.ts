/**
 * What `curl -i` prints: the head as it came, then the body without its transfer coding, whose frames a foreign
 * parser reads. That parser drops an unknown field in silence where it comes in pieces.
 */
import { createParser } from "eventsource-parser";
import { headOf, isStream } from "../sse-response.ts";
import type { Reading } from "./reading.ts";

const HEAD_END = "\r\n\r\n";

export class CurlOutput {
  readonly #reading: Reading;
  readonly #decoder = new TextDecoder();
  readonly #parser: ReturnType<typeof createParser>;
  /** What has come of the head, then of a body that is no stream. */
  #text = "";
  #part: "head" | "stream" | "body" = "head";

  constructor(reading: Reading) {
    this.#reading = reading;
    this.#parser = createParser({
      onEvent: ({ event = "message", id, data }) => reading.frame({ event, id, data }),
      onRetry: (ms) => reading.retry(ms),
      onComment: (text) => reading.comment(text),
      onError: ({ message }) => reading.malformed(message),
    });
  }

  feed(bytes: Buffer): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (this.#part === "stream") this.#parser.feed(text);
    else this.#text += text;
    if (this.#part === "head") this.#readHead();
  }

  /** There will be no more. */
  end(): void {
    if (this.#part === "body") this.#reading.body(this.#text);
  }

  #readHead(): void {
    const end = this.#text.indexOf(HEAD_END);
    if (end === -1) return;
    const head = headOf(this.#text.slice(0, end));
    if (!head) return;
    const body = this.#text.slice(end + HEAD_END.length);
    this.#part = isStream(head) ? "stream" : "body";
    this.#text = body;
    this.#reading.head(head.status, head.headers);
    if (this.#part === "stream") this.#parser.feed(body);
  }
}
