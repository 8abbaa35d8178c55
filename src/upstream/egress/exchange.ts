/**
 * One request to the upstream and its answer, through undici's lowest interface. A stream for each answer and
 * each of its encodings would cost more than everything else that a poll needs of the network: only a long
 * compressed answer gets one.
 */
import { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { AnswerBytes } from "./answer-bytes.ts";
import { type Decoder, decoded, decodedStream, decodersOf } from "./encodings.ts";

/**
 * A longer compressed body is decompressed while it comes, in another thread: as a whole, it would block the
 * event loop, and it may never end.
 */
const MAX_WHOLE_BYTES = 64 * 1024;

/** The beginning of an answer. Header names are in lower case. */
interface AnswerHead {
  status: number;
  headers: Record<string, string | string[] | undefined>;
}

/** Create it, then pass it to a dispatcher. */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #onSent: () => void;
  readonly #head = Promise.withResolvers<AnswerHead>();
  readonly #body = Promise.withResolvers<Buffer | Readable>();
  readonly #bytes = new AnswerBytes();
  #controller: Dispatcher.DispatchController | undefined;
  #decoders: readonly Decoder[] = [];
  /** Set once the body is too long to be decompressed as a whole. */
  #stream: Readable | undefined;

  /** The signal ends the exchange. `onSent`: called when the request is written to its connection. */
  constructor(signal: AbortSignal, onSent = () => {}) {
    this.#signal = signal;
    this.#onSent = onSent;
    this.#body.promise.catch(() => {}); // nobody reads it if there is no head
    signal.addEventListener("abort", () => this.#abort(signal.reason), { once: true });
  }

  /** Rejects with the connection's error, or with the signal's reason. */
  get head(): Promise<AnswerHead> {
    return this.#head.promise;
  }

  /**
   * The complete body, decompressed. Rejects like `head`, with the decoder's error, and with `UpstreamError`
   * if it is too large.
   */
  async body(): Promise<Buffer> {
    const body = await this.#body.promise;
    return Buffer.isBuffer(body) ? decoded(body, this.#decoders) : decodedStream(body, this.#decoders);
  }

  /** Without a connection there is nothing to abort yet, and a proxy may never give one. */
  #abort(reason: Error): void {
    if (this.#controller) this.#controller.abort(reason);
    else this.#fail(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#signal.aborted) controller.abort(this.#signal.reason);
    else this.#onSent();
  }

  /** An error here or in `onResponseData` ends the exchange. */
  onResponseStart(_: Dispatcher.DispatchController, status: number, headers: AnswerHead["headers"]): void {
    if (status < 200) return;
    this.#decoders = decodersOf(headers["content-encoding"]?.toString() ?? "");
    this.#head.resolve({ status, headers });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#stream) {
      if (!this.#stream.push(chunk)) controller.pause(); // the network is faster than the decompression
      return;
    }
    this.#bytes.add(chunk);
    if (this.#decoders.length === 0 || this.#bytes.size <= MAX_WHOLE_BYTES) return;
    this.#stream = new Readable({
      read: () => controller.resume(),
      destroy: (error, done) => {
        this.#controller?.abort(error ?? new Error("the body was not read to its end"));
        done(error);
      },
    });
    this.#stream.push(this.#bytes.all);
    this.#body.resolve(this.#stream);
  }

  onResponseEnd(): void {
    if (this.#stream) this.#stream.push(null);
    else this.#body.resolve(this.#bytes.all);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #fail(error: Error): void {
    this.#head.reject(error);
    this.#body.reject(error);
    this.#stream?.destroy(error);
  }
}
