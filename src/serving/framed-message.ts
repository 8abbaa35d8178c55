/** A stored message in memory, encoded at most once by each writer. It never changes. */
import type { StoredMessage } from "../store/stored-message.ts";
import type { Form } from "./form.ts";
import { typeBit } from "./type-filter.ts";

export class FramedMessage {
  readonly message: StoredMessage;
  /** The bit of its type, for filters. */
  readonly bit: number;
  /** Size of its text, in bytes. */
  readonly size: number;
  readonly #frames = new Map<object, Buffer>();

  constructor(message: StoredMessage) {
    this.message = message;
    this.bit = typeBit(message);
    this.size = Buffer.byteLength(message.body) + Buffer.byteLength(message.details);
  }

  frame(form: Form): Buffer {
    let frame = this.#frames.get(form.writer);
    if (!frame) {
      frame = form.frame(this.message);
      this.#frames.set(form.writer, frame);
    }
    return frame;
  }
}
