/**
 * Measures how many of the bytes written to a socket the client's system has acknowledged. Node does not
 * report this. Linux lists the bytes in the send queues of all sockets in `/proc/net/tcp` (the kernel's
 * proc_net_tcp.rst).
 */
import { open, readlink } from "node:fs/promises";
import type { Socket } from "node:net";
import type { Clock } from "../../clock.ts";

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Minimum time between two readings of the tables, in milliseconds. */
const MIN_SPACING_MS = 1000;
/**
 * Maximum share of time spent reading. With 8,000 connections a reading takes 140 ms, in steps of at most 10
 * ms.
 */
const MAX_SHARE = 0.1;
/** The indices of the two fields used of a line. */
const [QUEUES, INODE] = [4, 9];

/** Node's undocumented fields of a connection (`lib/net.js`, `src/stream_wrap.cc`). */
interface Handle {
  fd: number;
  /** Bytes passed on by Node's stream. */
  bytesWritten: number;
  /** The part of those bytes that the system has not accepted yet. */
  writeQueueSize: number;
}

export class SendQueues {
  readonly #clock: Clock;
  #nextAt = Number.NEGATIVE_INFINITY;
  /** Queued bytes by the socket's inode; sockets without queued bytes are absent. */
  #held: Promise<Map<string, number>> = Promise.resolve(new Map());

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Bytes that the client's system has acknowledged since the connection opened. If that is unknown, the
   * bytes that this machine's system has accepted. Never rejects.
   */
  async taken(socket: Socket): Promise<number> {
    const { _handle: handle } = socket as Socket & { _handle?: Partial<Handle> | null };
    const { fd, bytesWritten, writeQueueSize } = handle ?? {};
    const accepted = Number(bytesWritten) - Number(writeQueueSize);
    if (Number.isNaN(accepted)) return socket.bytesWritten - socket.writableLength;
    const inode = await inodeOf(fd);
    const held = inode === undefined ? undefined : (await this.#read()).get(inode);
    return accepted - (held ?? 0);
  }

  #read(): Promise<Map<string, number>> {
    const startedAt = this.#clock.monotonic();
    if (startedAt < this.#nextAt) return this.#held;
    this.#nextAt = Number.POSITIVE_INFINITY;
    this.#held = readTables().finally(() => {
      const tookMs = this.#clock.monotonic() - startedAt;
      this.#nextAt = startedAt + Math.max(MIN_SPACING_MS, tookMs / MAX_SHARE);
    });
    return this.#held;
  }
}

/** The socket's inode, its name in the tables; undefined on systems without `/proc`. */
function inodeOf(fd: number | undefined): Promise<string | undefined> {
  return readlink(`/proc/self/fd/${fd}`).then(
    (target) => /^socket:\[(\d+)\]$/.exec(target)?.[1],
    () => undefined,
  );
}

async function readTables(): Promise<Map<string, number>> {
  const held = new Map<string, number>();
  for (const path of TABLES) {
    try {
      await using file = await open(path);
      for await (const line of file.readLines()) {
        const fields = line.trim().split(/ +/);
        const bytes = Number.parseInt(fields[QUEUES] ?? "", 16);
        if (bytes > 0) held.set(fields[INODE] ?? "", bytes);
      }
    } catch {} // the table is absent: no IPv6, or not Linux
  }
  return held;
}
