/**
 * The newest messages of a room as bytes, encoded once in each form and shared by all its viewers. It is
 * filled only from the store, with consecutive batches.
 */

import { afterDeletions, Deletions, storedTarget } from "../store/blanking.ts";
import type { StoredMessage } from "../store/stored-message.ts";
import type { Form, Packet } from "./form.ts";
import type { Framing } from "./framing.ts";

/** The maximum backfill: a viewer that joins a running room reads no message from the store. */
const TAIL_MESSAGES = 500;
/**
 * Maximum size of the messages' text; usual tails have a tenth of it. Older messages are read from the store.
 */
const TAIL_BYTES = 4 * 1024 * 1024;
/** Maximum size of one write, which a stalled viewer keeps in memory. A larger frame is sent whole. */
const CHUNK_BYTES = 64 * 1024;
/** Undefined if all of these messages have been deleted: nothing is written, and the cursor moves on. */
const MAX_SHARED_CHUNKS = 32;

/** The frames between two cursors, ready to be written. */
export interface Chunk {
  /** Undefined where all of these messages have been deleted: nothing is written, and the cursor moves on. */
  packet: Packet | undefined;
  /** The cursor of the last frame in it. */
  next: number;
}

interface Held {
  message: StoredMessage;
  size: number;
  frames: Map<Framing, Buffer>;
}

export class Tail {
  #held: Held[] = [];
  #bytes = 0;
  #head: number;
  /** The next chunk for viewers of a form, by their cursor. */
  readonly #shared = new Map<Form, Map<number, Chunk>>();

  readonly #isBlanking: boolean;

  /** An empty tail after cursor `head`. `isBlanking`: deletions also blank the messages in the tail. */
  constructor(head: number, isBlanking = false) {
    this.#isBlanking = isBlanking;
    this.#head = head;
  }

  /** The cursor of the newest message. */
  get head(): number {
    return this.#head;
  }

  /** The cursor after which this tail holds everything. */
  get floor(): number {
    return this.#head - this.#held.length;
  }

  /** Throws unless the batch follows directly: nothing else would detect missing messages. */
  push(messages: readonly StoredMessage[]): void {
    for (const message of messages) {
      if (message.cursor !== this.#head + 1) {
        throw new Error(`tail at ${this.#head} was handed cursor ${message.cursor}`);
      }
      this.#head = message.cursor;
      const held = toHeld(message);
      this.#bytes += held.size;
      this.#held.push(held);
    }
    this.#trim();
    if (this.#isBlanking) this.#blankFor(messages);
    this.#shared.clear();
  }

  /** Blanks the deleted messages like the store, for later viewers. */
  #blankFor(messages: readonly StoredMessage[]): void {
    const deletions = new Deletions();
    for (const message of messages) {
      const target = storedTarget(message);
      if (target) deletions.add(target, message.cursor);
    }
    if (deletions.isEmpty) return;
    for (const [i, before] of this.#held.entries()) {
      const message = afterDeletions(before.message, deletions);
      if (message === before.message) continue;
      const held = toHeld(message);
      this.#bytes += held.size - before.size;
      this.#held[i] = held;
    }
  }

  #trim(): void {
    let dropped = Math.max(0, this.#held.length - TAIL_MESSAGES);
    for (const { size } of this.#held.slice(0, dropped)) this.#bytes -= size;
    for (; this.#bytes > TAIL_BYTES; dropped++) this.#bytes -= this.#held[dropped]?.size ?? 0;
    if (dropped > 0) this.#held = this.#held.slice(dropped);
  }

  /** The chunk after cursor `after`, which must not be below the floor; undefined if there is none yet. */
  chunk(after: number, form: Form): Chunk | undefined {
    if (after >= this.#head) return undefined;
    if (after < this.floor) throw new Error(`tail holds nothing below ${this.floor}, asked for ${after}`);
    const chunks = this.#shared.get(form) ?? new Map<number, Chunk>();
    const shared = chunks.get(after);
    if (shared) return shared;
    const isShared = chunks.size < MAX_SHARED_CHUNKS;
    const chunk = assembleChunk(after, this.#framesAfter(after, form), form, isShared);
    if (isShared) this.#shared.set(form, chunks.set(after, chunk));
    return chunk;
  }

  *#framesAfter(after: number, form: Form): Iterable<Buffer> {
    for (let i = after - this.floor; i < this.#held.length; i++) {
      const held = this.#held[i];
      if (held) yield frameOf(held, form);
    }
  }
}

function toHeld(message: StoredMessage): Held {
  const size = Buffer.byteLength(message.body) + Buffer.byteLength(message.details);
  return { message, size, frames: new Map() };
}

function frameOf({ message, frames }: Held, form: Form): Buffer {
  let frame = frames.get(form.framing);
  if (!frame) {
    frame = form.frame(message);
    frames.set(form.framing, frame);
  }
  return frame;
}

/** One chunk of as many frames as fit, at least one. The first frame follows cursor `after`. */
export function assembleChunk(after: number, frames: Iterable<Buffer>, form: Form, isShared: boolean): Chunk {
  const parts: Buffer[] = [];
  let size = 0;
  for (const bytes of frames) {
    if (parts.length > 0 && size + bytes.length > CHUNK_BYTES) break;
    parts.push(bytes);
    size += bytes.length;
  }
  return { packet: form.pack(parts, isShared), next: after + parts.length };
}
