/**
 * Malformed HTTP: endless answers, bombs, false lengths, and bytes that are not HTTP at all. Each writes as
 * fast as it is read, and stops when its reader has gone.
 */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { brotliCompressSync, constants, deflateRawSync, gzipSync, zstdCompressSync } from "node:zlib";
import { closed, type HostileAnswer } from "./hostile-call.ts";

const KILOBYTE = 1024;
const MEGABYTE = KILOBYTE * KILOBYTE;
const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
const SLOWLY_MS = 1;

type Bytes = string | Buffer;

function socketOf(response: ServerResponse): Socket {
  const { socket } = response;
  if (!socket) throw new Error("the connection is gone");
  return socket;
}

/** These bytes as they are, and then nothing more. */
function raw(...bytes: Bytes[]): HostileAnswer {
  return (response) => {
    for (const one of bytes) socketOf(response).write(one);
  };
}

/** These bytes as they are, and then the end of the connection. */
function cut(...bytes: Bytes[]): HostileAnswer {
  return (response) => {
    for (const one of bytes) socketOf(response).write(one);
    socketOf(response).end();
  };
}

/** The same bytes again and again after a beginning: once per interval, or as fast as they are read. */
function endless(beginning: Bytes, again: Bytes, everyMs = 0): HostileAnswer {
  return async (response) => {
    const socket = socketOf(response);
    const gone = closed(socket);
    socket.write(beginning);
    while (!socket.destroyed) {
      const isTaken = socket.write(again);
      if (everyMs > 0) await delay(everyMs);
      else if (isTaken) await new Promise(setImmediate);
      else await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), gone]);
    }
  };
}

/** A body of zeros in an encoding whose frames can follow one another. */
function bomb(encoding: string, frame: Buffer, frames: number): HostileAnswer {
  return (response) => {
    const length = frame.length * frames;
    response.writeHead(200, { "content-encoding": encoding, "content-length": length, connection: "close" });
    for (let i = 0; i < frames; i++) response.write(frame);
    response.end();
  };
}

const ZEROS = Buffer.alloc(16 * MEGABYTE);
const gzipFrame = gzipSync(ZEROS);
const zstdFrame = zstdCompressSync(ZEROS);
const brotli = brotliCompressSync(Buffer.alloc(64 * MEGABYTE), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
});
/** A block that can follow itself for ever. */
const deflateBlock = deflateRawSync(ZEROS, { finishFlush: constants.Z_SYNC_FLUSH });
/** A stored block of nothing: input without output. */
const EMPTY_BLOCKS = Buffer.alloc(5 * 10_000, Buffer.from([0, 0, 0, 0xff, 0xff]));
/** The beginning of a gzip that then holds 65,535 bytes as they are. */
const STORED_GZIP = Buffer.concat([gzipFrame.subarray(0, 10), Buffer.from([0, 0xff, 0xff, 0, 0])]);
const DEFLATE_BEGINNING = Buffer.concat([
  Buffer.from(`${HEAD}Content-Encoding: deflate\r\n\r\n`),
  Buffer.from([0x78, 0x9c]),
]);
const BURST = "x".repeat(64 * KILOBYTE);
const TLS_HELLO = Buffer.from("16030100c8010000c40303", "hex");
const GZIPPED = `${HEAD}Content-Encoding: gzip\r\n`;
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;
const INJECTED = `${HEAD}Content-Length: 24\r\n\r\n{"responseContext": {} }`;

/** What ends as soon as it shows what it is. */
export const REFUSED: Readonly<Record<string, HostileAnswer>> = {
  "a body without end": endless(`${HEAD}\r\n`, BURST),
  "a chunked body without end": endless(CHUNKED, `10000\r\n${" ".repeat(0x10000)}\r\n`),
  "a length of 10^15, at full speed": endless(`${HEAD}Content-Length: 1000000000000000\r\n\r\n`, BURST),
  "two gigabytes of zeros in two megabytes of gzip": bomb("gzip", gzipFrame, 128),
  "two gigabytes of zeros as zstd": bomb("zstd", zstdFrame, 128),
  "zeros as brotli": bomb("br", brotli, 1),
  "a gzip bomb packed once more": bomb("gzip, gzip", gzipSync(Buffer.concat(Array(100).fill(gzipFrame))), 1),
  "a deflate stream without end": endless(DEFLATE_BEGINNING, deflateBlock),
  "fifty encodings one in the other": raw(
    `${HEAD}Content-Encoding: ${Array(50).fill("gzip")}\r\n\r\n`,
    gzipFrame,
  ),
  "headers without end": endless(HEAD, "X-Header: value\r\n".repeat(1000)),
  "a header without end": endless(`${HEAD}X-Header: `, BURST),
  "a header's name without end": endless(HEAD, BURST),
  "a location of five megabytes": raw(`HTTP/1.1 302 Found\r\nLocation: /${"x".repeat(5 * MEGABYTE)}\r\n\r\n`),
  "trailers without end": endless(`${CHUNKED}2\r\n{}\r\n0\r\n`, "X-Trailer: value\r\n".repeat(1000)),
  "lengths that differ": raw(`${HEAD}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`),
  "a length of 10^30": raw(`${HEAD}Content-Length: 1${"0".repeat(30)}\r\n\r\n{}`),
  "a length below nothing": raw(`${HEAD}Content-Length: -1\r\n\r\n{}`),
  "a length beside chunks": raw(
    `${HEAD}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  ),
  "less than the length": cut(`${HEAD}Content-Length: 1000\r\n\r\n{"continuationContents":`),
  "more than the length": raw(`${HEAD}Content-Length: 2\r\n\r\n{}`, INJECTED, INJECTED),
  "a chunk of 2^64 bytes": raw(`${CHUNKED}10000000000000000\r\n{}`),
  "a chunk of no size": raw(`${CHUNKED}zz\r\n{}\r\n`),
  "chunks that break off": cut(`${CHUNKED}ff\r\n{}`),
  "gzip that is none": cut(`${GZIPPED}\r\n{}`),
  "gzip that breaks off": cut(Buffer.concat([Buffer.from(`${GZIPPED}\r\n`), gzipSync("{}").subarray(0, 15)])),
  "an answer to something else": raw("SSH-2.0-OpenSSH_9.9\r\n"),
  "a TLS hello": raw(TLS_HELLO),
  "an HTTP/2 preface": raw("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
  "binary noise": raw(Buffer.from(Array.from({ length: 4096 }, (_, i) => (i * 167) % 256))),
  "a status of four digits": raw("HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\n{}"),
  "a status of nothing": cut("HTTP/1.1 000 OK\r\nContent-Length: 2\r\n\r\n{}"),
  "an early go-ahead": raw("HTTP/1.1 100 Continue\r\n\r\n", INJECTED),
  "another protocol": raw(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: evil\r\n\r\n\0\0\0",
  ),
  "no content, with some": raw("HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n{}"),
  "a header with a NUL": raw(`${HEAD}X-Header: a\0b\r\nContent-Length: 2\r\n\r\n{}`),
  "a bare line feed and a space in a name": raw(`${HEAD}Transfer-Encoding : chunked\n\n0\r\n\r\n`),
  "a reset": (response) => socketOf(response).resetAndDestroy(),
  "the end at once": cut(),
};

/** What only a deadline ends, and costs next to nothing. */
export const SLOW: Readonly<Record<string, HostileAnswer>> = {
  "no answer": () => {},
  "headers byte by byte": endless(HEAD, "X", SLOWLY_MS),
  "a body byte by byte": endless(`${HEAD}\r\n`, " ", SLOWLY_MS),
  "a length of 10^15, byte by byte": endless(
    `${HEAD}Content-Length: 1000000000000000\r\n\r\n`,
    " ",
    SLOWLY_MS,
  ),
  "gzip byte by byte": endless(Buffer.concat([Buffer.from(`${GZIPPED}\r\n`), STORED_GZIP]), " ", SLOWLY_MS),
  "a chunk's end that never comes": raw(`${CHUNKED}2\r\n{}\r\n`),
  "trailers that never come": raw(`${CHUNKED}2\r\n{}\r\n0\r\n`),
};

/** What only a deadline ends, and comes as fast as it is taken. */
export const FLOODS: Readonly<Record<string, HostileAnswer>> = {
  "news of progress": endless(
    "",
    `HTTP/1.1 103 Early Hints\r\nLink: </${"a".repeat(2000)}>\r\n\r\n`.repeat(50),
  ),
  "a status line": endless("HTTP/1.1 200 ", BURST),
  "empty lines": endless("", "\r\n".repeat(10_000)),
  "spaces before a header's value": endless(`${HEAD}X-Header:`, " ".repeat(BURST.length)),
  "a chunk's extension": endless(`${CHUNKED}2;x=`, BURST),
};

/** As fast as it is taken too, and takes its reader long. */
export const PONDEROUS: Readonly<Record<string, HostileAnswer>> = {
  "chunks of one byte": endless(CHUNKED, "1\r\n \r\n".repeat(5000)),
  "deflate that gives nothing": endless(DEFLATE_BEGINNING, EMPTY_BLOCKS),
};
