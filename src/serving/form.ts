/**
 * The encoding of a connection: creates every byte that a viewer gets after the response's head, from the
 * text of a framing.
 */
import type { Init, StreamEnd } from "../protocol/chat.ts";
import type { Fact } from "../store/port.ts";
import type { StoredMessage } from "../store/stored-message.ts";
import { type FramesPlace, type Framing, framingOf } from "./framing.ts";
import { checksumOf, compressed, GZIP_HEADER, RunningSum, type Sum, stored } from "./gzip.ts";

/** Forms of bodies that are complete after the first write: plain or gzip, not chunked. */
type WholeForms = Record<"plain" | "gzip", Form>;

/** Frames for one write, as bytes that viewers of the same form share. */
export interface Packet {
  /** The bytes for the socket or the response. */
  readonly bytes: Buffer;
  /** Size of the body alone, in bytes. */
  readonly size: number;
  /** Set if the body is compressed, and not complete with this packet. */
  readonly sum?: Sum;
}

export interface Form {
  /** Viewers of one form share its bytes, under this key. */
  readonly key: string;
  /** Its name in metrics, which several forms may share. */
  readonly name: string;
  /** The identity of the message writer: forms with the same writer share their frames. */
  readonly writer: object;
  /** Whether the first packet is the whole body: its client asks again for what follows. */
  readonly isWhole?: boolean;
  /** The beginning of a connection. `head`: the newest cursor of the room. */
  head(init: Init, head: number): Packet;
  /** A message's frame, before `pack`. */
  frame(message: StoredMessage): Buffer;
  /**
   * Packs messages' frames for one write. Frames that are not shared by viewers are not compressed. Throws if
   * there are no bytes and the body is chunked: a chunk of size 0 ends the body (RFC 9112, 7.1).
   */
  pack(frames: readonly Buffer[], isShared: boolean, place: FramesPlace): Packet;
  /** What holds of the video from now on. */
  fact(videoId: string, fact: Fact): Packet;
  readonly keepalive: Packet;
  /** A keepalive after a cursor frame. */
  keepaliveAt(cursor: number): Packet;
  /**
   * The terminal frame of a connection that has everything up to `cursor`, after a cursor frame if there is
   * an unreported cursor.
   */
  end(end: StreamEnd, cursor: number, unreported: number | undefined): Packet;
}

/** A form whose packets are bytes of a response's body. */
export interface BodyForm extends Form {
  readonly transferCoding: TransferCoding;
  /** Packs any text for one write, as `pack` does. */
  packText(text: readonly Buffer[], isShared: boolean): Packet;
  /** The beginning of a body, with its first text, which may be empty. */
  begin(text: string): Packet;
}

/** `bare`: unchanged; `chunked`: as a chunk of HTTP's chunked coding; `gzip`: compressed, as a chunk. */
type TransferCoding = "bare" | "chunked" | "gzip";

const PACKERS: Record<TransferCoding, (frames: readonly Buffer[], isShared: boolean) => Packet> = {
  bare: (frames) => {
    const bytes = Buffer.concat(frames);
    return { bytes, size: bytes.length };
  },
  chunked: (frames) => inChunk(frames),
  gzip: (frames, isShared) => {
    const text = Buffer.concat(frames);
    return { ...inChunk([isShared ? compressed(text) : stored(text)]), sum: checksumOf(text) };
  },
};
const NOTHING: Packet = { bytes: Buffer.alloc(0), size: 0 };
const LINE_END = Buffer.from("\r\n");

function inChunk(parts: readonly Buffer[]): Packet {
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  if (size === 0) throw new Error("a chunk without bytes would end the body");
  return { bytes: Buffer.concat([Buffer.from(`${size.toString(16)}\r\n`), ...parts, LINE_END]), size };
}

/** The end of a chunked body; `sum` is that of all its packets, if they are compressed. */
export function bodyEnd(sum: RunningSum | undefined): Buffer {
  const end = Buffer.from("0\r\n\r\n");
  return sum ? Buffer.concat([inChunk([sum.trailer()]).bytes, end]) : end;
}

function formOf(name: string, framing: Framing, transferCoding: TransferCoding, variant = ""): BodyForm {
  const pack = PACKERS[transferCoding];
  const packOwn = (text: string) => (text === "" ? NOTHING : pack([Buffer.from(text)], false));
  const begin = (text: string): Packet => {
    const first = packOwn(text);
    if (transferCoding !== "gzip") return first;
    const header = inChunk([GZIP_HEADER]);
    return {
      ...first,
      bytes: Buffer.concat([header.bytes, first.bytes]),
      size: header.size + first.size,
    };
  };
  return {
    key: `${name} ${transferCoding}${variant}`,
    name: `${name} ${transferCoding}`,
    writer: framing.message,
    transferCoding,
    pack: (frames, isShared, place) => pack(framing.batch?.(frames, place) ?? frames, isShared),
    packText: pack,
    begin,
    head: (init, head) => begin(framing.init(init, head)),
    frame: (message) => ownBytes(framing.message(message)),
    fact: (_videoId, fact) => pack([Buffer.from(framing.fact(fact))], true),
    keepalive: pack([Buffer.from(framing.keepalive)], true),
    keepaliveAt: (cursor) => pack([Buffer.from(framing.cursor(cursor) + framing.keepalive)], false),
    end: (end, cursor, unreported) => {
      const reported = unreported === undefined ? "" : framing.cursor(unreported);
      return packOwn(reported + framing.end(end, cursor));
    },
  };
}

/** Bytes in their own memory: a frame from Node's pool would keep its whole slab of 64 KiB alive. */
export function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** The forms of a framing by transfer coding. `variant`: distinguishes framings of one name. */
export function formsOf(name: string, framing: Framing, variant = ""): Record<TransferCoding, BodyForm> {
  return {
    bare: formOf(name, framing, "bare", variant),
    chunked: formOf(name, framing, "chunked", variant),
    gzip: formOf(name, framing, "gzip", variant),
  };
}

/** The forms of a framing for bodies that are complete with their first packet. `name`: begins their keys. */
export function wholeFormsOf(name: string, framing: Framing): WholeForms {
  const plain: Form = { ...formOf(name, framing, "bare"), isWhole: true };
  const gzip: Form = {
    ...plain,
    key: `${name} gzip`,
    name: `${name} gzip`,
    pack: (frames, isShared, place) => {
      const { bytes } = plain.pack(frames, isShared, place);
      const sum = new RunningSum();
      sum.add(checksumOf(bytes));
      const body = isShared ? compressed(bytes) : stored(bytes);
      const whole = Buffer.concat([GZIP_HEADER, body, sum.trailer()]);
      return { bytes: whole, size: whole.length };
    },
  };
  return { plain, gzip };
}

/** By format, by whether messages carry `details`, and by transfer coding. */
export const FORMS = {
  sse: {
    plain: formsOf("sse plain", framingOf("sse", false)),
    detailed: formsOf("sse detailed", framingOf("sse", true)),
  },
  ndjson: {
    plain: formsOf("ndjson plain", framingOf("ndjson", false)),
    detailed: formsOf("ndjson detailed", framingOf("ndjson", true)),
  },
};
