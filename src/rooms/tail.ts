/**
 * The newest messages of a room as bytes, encoded once and shared by all its viewers. It is filled from the
 * store alone, one consecutive batch after the other.
 */
import { messageFrame } from "../protocol/frame.ts";
import type { StoredMessage } from "../protocol/message.ts";

/** As many as a viewer's largest backfill: whoever joins a running room is served without the store. */
const TAIL_MESSAGES = 500;
/** Of their plain frames together; usual ones are a tenth of it. What is older is read from the store. */
const TAIL_BYTES = 4 * 1024 * 1024;
/** Most bytes of one write: what a viewer that stalls can hold on to. A single larger frame still goes out whole. */
const CHUNK_BYTES = 64 * 1024;
/** Different places at which viewers stand between two batches; further ones are served without sharing. */
const MAX_SHARED_CHUNKS = 32;

/** Frames from after one cursor up to another, ready to be written. */
export interface Chunk {
  bytes: Buffer;
  /** The cursor of the last frame in it. */
  next: number;
}

interface Frame {
  message: StoredMessage;
  plain: Buffer;
  detailed?: Buffer;
}

export class Tail {
  #frames: Frame[] = [];
  #bytes = 0;
  #head: number;
  readonly #shared = new Map<string, Chunk>();

  /** A tail that begins, empty, after cursor `head`. */
  constructor(head: number) {
    this.#head = head;
  }

  /** The cursor of the newest message. */
  get head(): number {
    return this.#head;
  }

  /** The cursor after which this tail holds everything. */
  get floor(): number {
    return this.#head - this.#frames.length;
  }

  /** Throws where the batch does not follow on: a gap here would be silent everywhere else. */
  push(messages: readonly StoredMessage[]): void {
    for (const message of messages) {
      if (message.cursor !== this.#head + 1) {
        throw new Error(`tail at ${this.#head} was handed cursor ${message.cursor}`);
      }
      this.#head = message.cursor;
      const plain = Buffer.from(messageFrame(message, false));
      this.#bytes += plain.length;
      this.#frames.push({ message, plain });
    }
    this.#trim();
    this.#shared.clear();
  }

  #trim(): void {
    let dropped = Math.max(0, this.#frames.length - TAIL_MESSAGES);
    for (const { plain } of this.#frames.slice(0, dropped)) this.#bytes -= plain.length;
    for (; this.#bytes > TAIL_BYTES; dropped++) this.#bytes -= this.#frames[dropped]?.plain.length ?? 0;
    if (dropped > 0) this.#frames = this.#frames.slice(dropped);
  }

  /** What follows cursor `after`, which must not lie below the floor; undefined where nothing does yet. */
  chunk(after: number, withDetails: boolean): Chunk | undefined {
    if (after >= this.#head) return undefined;
    if (after < this.floor) throw new Error(`tail holds nothing below ${this.floor}, asked for ${after}`);
    const key = `${after} ${withDetails}`;
    const shared = this.#shared.get(key);
    if (shared) return shared;
    const chunk = assemble(after, this.#frameBytes(after, withDetails));
    if (this.#shared.size < MAX_SHARED_CHUNKS) this.#shared.set(key, chunk);
    return chunk;
  }

  *#frameBytes(after: number, withDetails: boolean): Iterable<Buffer> {
    for (let i = after - this.floor; i < this.#frames.length; i++) {
      const frame = this.#frames[i];
      if (frame) yield withDetails ? detailed(frame) : frame.plain;
    }
  }
}

/** As many of the frames as fit into one chunk, the first of them in any case; the first follows cursor `after`. */
export function assemble(after: number, frames: Iterable<Buffer>): Chunk {
  const parts: Buffer[] = [];
  let size = 0;
  for (const bytes of frames) {
    if (parts.length > 0 && size + bytes.length > CHUNK_BYTES) break;
    parts.push(bytes);
    size += bytes.length;
  }
  return { bytes: Buffer.concat(parts, size), next: after + parts.length };
}

function detailed(frame: Frame): Buffer {
  frame.detailed ??= Buffer.from(messageFrame(frame.message, true));
  return frame.detailed;
}
