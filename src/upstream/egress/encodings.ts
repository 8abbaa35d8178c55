/** Decompresses the bodies of answers, at most to an answer's limit: a small gzip can hold gigabytes. */
import { pipeline, type Readable, type Transform } from "node:stream";
import {
  brotliDecompressSync,
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
  gunzipSync,
  inflateSync,
  zstdDecompressSync,
} from "node:zlib";
import { BOUNDS } from "../bounds.ts";
import { AnswerBytes, tooLarge } from "./answer-bytes.ts";

/** Nested encodings can decompress to more memory than the process may use. */
const MAX_ENCODINGS = 5;

const LIMIT = { maxOutputLength: BOUNDS.answerBytes };
/** A body that is still coming: each piece of the result waits for a turn of a thread. */
const PIECES = { chunkSize: 64 * 1024 };
/** Like `fetch`, accept a compressed body without its end. */
const LENIENT = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };

/** Decompresses a whole body, or one that is still coming. */
export interface Decoder {
  whole(bytes: Buffer): Buffer;
  stream(): Transform;
}

const GZIP: Decoder = {
  whole: (bytes) => gunzipSync(bytes, { ...LIMIT, ...LENIENT }),
  stream: () => createGunzip({ ...PIECES, ...LENIENT }),
};
const DECODERS: Record<string, Decoder> = {
  gzip: GZIP,
  "x-gzip": GZIP,
  deflate: {
    whole: (bytes) => inflateSync(bytes, { ...LIMIT, ...LENIENT }),
    stream: () => createInflate({ ...PIECES, ...LENIENT }),
  },
  br: { whole: (bytes) => brotliDecompressSync(bytes, LIMIT), stream: () => createBrotliDecompress(PIECES) },
  zstd: { whole: (bytes) => zstdDecompressSync(bytes, LIMIT), stream: () => createZstdDecompress(PIECES) },
};

/**
 * The decoders of a `Content-Encoding`, the first one to use first; none if one is unknown. Throws if there
 * are too many.
 */
export function decodersOf(encodings: string): readonly Decoder[] {
  const names = encodings.toLowerCase().split(",").reverse();
  if (names.length > MAX_ENCODINGS) throw new Error(`the answer has ${names.length} encodings`);
  const decoders = names.map((name) => DECODERS[name.trim()]);
  return decoders.every((decoder) => decoder !== undefined) ? decoders : [];
}

/** Throws `UpstreamError` if the result is too large, otherwise the decoder's error. */
export function decoded(bytes: Buffer, decoders: readonly Decoder[]): Buffer {
  try {
    return decoders.reduce((packed, decoder) => decoder.whole(packed), bytes);
  } catch (error) {
    const isTooLarge = error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
    throw isTooLarge ? tooLarge() : error;
  }
}

/** Decompresses a body while it arrives. Rejects like `decoded`, and with the body's error. */
export async function decodedStream(body: Readable, decoders: readonly Decoder[]): Promise<Buffer> {
  const streams = decoders.map((decoder) => decoder.stream());
  pipeline([body, ...streams], () => {}); // any failure destroys the last stream, too
  const bytes = new AnswerBytes();
  for await (const piece of streams.at(-1) ?? body) bytes.add(piece);
  return bytes.all;
}
