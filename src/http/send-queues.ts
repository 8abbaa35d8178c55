/**
 * How much of what was written to a socket the other end's system has taken. Node does not tell. Linux shows what is left
 * in its send queues for all sockets together, in `/proc/net/tcp` (proc_net_tcp.rst of the kernel's documentation).
 */
import { open, readlink } from "node:fs/promises";
import type { Socket } from "node:net";
import type { Clock } from "../clock.ts";

const TABLES = ["/proc/net/tcp", "/proc/net/tcp6"];
/** The least time between two readings of the tables, in milliseconds. */
const MIN_SPACING_MS = 1000;
/** How much of the time goes to reading at most. At 8000 connections a reading takes 140 ms, and none of its steps over 10. */
const MAX_SHARE = 0.1;
/** The fields of a line that are looked at. */
const [QUEUES, INODE] = [4, 9];

/** What Node has of a connection and does not document (`lib/net.js`, `src/stream_wrap.cc`). */
interface Handle {
  fd: number;
  /** Bytes handed over by Node's stream. */
  bytesWritten: number;
  /** Those of them that the system has not accepted yet. */
  writeQueueSize: number;
}

export class SendQueues {
  readonly #clock: Clock;
  #nextAt = Number.NEGATIVE_INFINITY;
  /** Bytes by the socket's inode, where there are any. */
  #held: Promise<Map<string, number>> = Promise.resolve(new Map());

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * How many bytes the other end has taken since the connection was opened. Where that cannot be known, this system is
   * the other end. Never rejects.
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

/** The name of the socket in the tables; undefined on other systems. */
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
    } catch {} // there is none: without IPv6, or on another system
  }
  return held;
}
