/** A room of the service with its readers, and the cost of sending batches to them. */
import type { Chat } from "../../simulator/simulated-chat.ts";
import { type Readers, startReaders } from "./readers.ts";
import { cpuMs } from "./rounds.ts";
import type { RelayServed } from "./servers.ts";

const VIDEO = "bench-video";
/** The interval of the room's polls. */
export const EVERY_MS = 100;

export interface WatchedRoom extends Disposable {
  chat: Chat;
  relay: RelayServed;
  readers: Readers;
}

/** The path of a stream of the room. `query`: further parameters. */
export function pathOf(query = ""): string {
  return `/v1/stream?videoId=${VIDEO}&backfill=0${query}`;
}

/** `queries`: further parameters of the stream, which the readers take in turns. */
export async function watched(
  relay: RelayServed,
  count: number,
  { headers = "", queries = [""] }: { headers?: string; queries?: readonly string[] } = {},
): Promise<WatchedRoom> {
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: EVERY_MS });
  chat.say(1);
  const paths = queries.map((query) => pathOf(query));
  const readers = await startReaders(relay.port, paths, count, { headers });
  return { chat, relay, readers, [Symbol.dispose]: () => readers[Symbol.dispose]() };
}

/** The CPU time of the service for these batches of `size` messages, in milliseconds. */
export async function batchesOf(size: number, batches: number, room: WatchedRoom): Promise<number> {
  const [spentMs = Number.NaN] = await batchesOfEach(size, batches, room, [room.relay.pid]);
  return spentMs;
}

/** The same of each of these processes. */
export async function batchesOfEach(
  size: number,
  batches: number,
  { chat, relay, readers }: WatchedRoom,
  pids: readonly number[],
): Promise<number[]> {
  const before = pids.map(cpuMs);
  for (let batch = 0; batch < batches; batch++) {
    const polled = relay.upstream.requested("get_live_chat", { finished: true });
    chat.say(size);
    await polled;
  }
  await readers.settled(0);
  return pids.map((pid, index) => cpuMs(pid) - (before[index] ?? Number.NaN));
}
