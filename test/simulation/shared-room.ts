/** A room of the shared store. */
import type { ChatKey } from "../../src/protocol/chat-key.ts";
import type { StoredMessage } from "../../src/store/stored-message.ts";

/** A row of the table `room`, with its rows of `message`. Times are virtual milliseconds. */
export interface SharedRoom {
  readonly key: ChatKey;
  readonly base: number;
  head: number;
  /** Null until it is first read. */
  checkpoint: string | null;
  checkpointAt: number;
  /** How it ended, as JSON; null while it is open. */
  detail: string | null;
  finalAt: number | null;
  channels: string | null;
  video: string | null;
  /** The message that was chosen to be featured, and when, in wall milliseconds. */
  featuredId: string | null;
  featuredAt: number | null;
  owner: string | null;
  epoch: number;
  leaseUntil: number;
  /** When each process last took it, by the process's id. */
  readonly takenAt: Map<string, number>;
  /** When each message was stored, and when the room ended, in wall milliseconds. */
  readonly times: number[];
  finalWallAt: number;
  readonly messages: StoredMessage[];
  readonly byId: Map<string, StoredMessage>;
}

/** Whether it has been read and has not ended, so that its owner reads it. */
export function isOpen({ checkpoint, finalAt }: SharedRoom): boolean {
  return checkpoint !== null && finalAt === null;
}

/** Ends the ownership; the former owner's writes are refused. */
export function free(room: SharedRoom): void {
  room.owner = null;
  room.epoch += 1;
  room.leaseUntil = 0;
}

export function messagesIn(
  ids: readonly string[],
  bodies: readonly string[],
  details: readonly string[],
): Omit<StoredMessage, "cursor">[] {
  return ids.map((id, i) => ({ id, body: bodies[i] ?? "", details: details[i] ?? "" }));
}
