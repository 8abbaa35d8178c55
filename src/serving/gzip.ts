/**
 * A gzip stream (RFC 1952) of blocks that many connections share. Each packet is compressed by itself and
 * ends on a whole byte, so any packets in any order are a valid stream: a packet is compressed once and sent
 * to all, and no data of one room or viewer is in the window of another. Only the checksum at the end belongs
 * to one connection; it is combined from those of its packets.
 */
import { constants, crc32, deflateRawSync } from "node:zlib";

/** No name, no time, any system. */
export const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
/** An empty last block. */
const LAST_BLOCK = Buffer.from([0x03, 0x00]);
/** Higher levels take twice as long to save a twentieth. */
const LEVEL = 3;
/** Maximum size of a block that is not compressed, in bytes. */
const MAX_STORED = 0xffff;

/** The contribution of a packet to the checksum of its stream. */
export interface Sum {
  readonly crc: number;
  /** Bytes before compression. */
  readonly length: number;
  /** The factor for the checksum of everything before: x to the power of the packet's bits. */
  readonly shift: number;
}

/** Compresses the bytes into blocks that end on a whole byte, none of them the last. */
export function compressed(bytes: Buffer): Buffer {
  return deflateRawSync(bytes, { level: LEVEL, finishFlush: constants.Z_SYNC_FLUSH });
}

/** The same without compression, which costs almost nothing: for packets to a single viewer. */
export function stored(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0; start < bytes.length; start += MAX_STORED) {
    const part = bytes.subarray(start, start + MAX_STORED);
    const head = Buffer.from([0, 0, 0, 0, 0]);
    head.writeUInt16LE(part.length, 1);
    head.writeUInt16LE(~part.length & 0xffff, 3);
    parts.push(head, part);
  }
  return Buffer.concat(parts);
}

export function checksumOf(bytes: Buffer): Sum {
  return { crc: crc32(bytes), length: bytes.length, shift: powerOfX(8 * bytes.length) };
}

/** The checksum of everything that one connection is sent. */
export class RunningSum {
  #crc = 0;
  #length = 0;

  add({ crc, length, shift }: Sum): void {
    this.#crc = multiply(shift, this.#crc) ^ crc;
    this.#length = (this.#length + length) % 2 ** 32;
  }

  /** The end of the stream. */
  trailer(): Buffer {
    const sums = Buffer.alloc(8);
    sums.writeUInt32LE(this.#crc >>> 0, 0);
    sums.writeUInt32LE(this.#length, 4);
    return Buffer.concat([LAST_BLOCK, sums]);
  }
}

/** CRC-32 uses polynomials over GF(2) modulo this one, with the highest power in the lowest bit. */
const POLYNOMIAL = 0xedb88320;
const ONE = 1 << 31;
const X = 1 << 30;

function multiply(a: number, b: number): number {
  let product = 0;
  for (let power = b, bit = ONE; bit !== 0; bit >>>= 1) {
    if (a & bit) product ^= power;
    power = power & 1 ? (power >>> 1) ^ POLYNOMIAL : power >>> 1;
  }
  return product;
}

function powerOfX(exponent: number): number {
  let power = ONE;
  for (let left = exponent, square = X; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = multiply(square, power);
    square = multiply(square, square);
  }
  return power;
}
