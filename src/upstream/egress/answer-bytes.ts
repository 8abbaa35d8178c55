/**
 * The body of an answer, up to its maximum size. It is one buffer: separate pieces would cost hundreds of
 * bytes each for a body that comes byte by byte.
 */
import { BOUNDS } from "../bounds.ts";
import { UpstreamError } from "../upstream-error.ts";

export class AnswerBytes {
  #buffer: Buffer = Buffer.alloc(0);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get all(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }

  /** The first piece is kept as it is: most answers come in one. Throws `UpstreamError` beyond the limit. */
  add(piece: Buffer): void {
    const size = this.#size + piece.length;
    if (size > BOUNDS.answerBytes) throw tooLarge();
    if (this.#size === 0) this.#buffer = piece;
    else this.#append(piece, size);
    this.#size = size;
  }

  #append(piece: Buffer, size: number): void {
    if (size > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(2 * size);
      this.#buffer.copy(larger);
      this.#buffer = larger;
    }
    piece.copy(this.#buffer, this.#size);
  }
}

/** The error of an answer beyond the limit. */
export function tooLarge(): UpstreamError {
  return new UpstreamError("unusable", `the answer is larger than ${BOUNDS.answerBytes} bytes`);
}
