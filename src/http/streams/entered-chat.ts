/**
 * What the chats of a multiplexed connection share: each enters its room, waits until its viewer has left,
 * and enters again.
 */
import type { Clock } from "../../clock.ts";
import type { RelayError } from "../../protocol/errors.ts";
import type { Rooms } from "../../rooms/rooms.ts";
import type { Form } from "../../serving/form.ts";
import type { Multiplex } from "../../serving/multiplex/multiplex.ts";
import type { StreamRequest } from "../../serving/room.ts";

const MIN_RETRY_MS = 30_000;
/** The maximum wait before a room is entered again that another instance has released. */
const REOPEN_MS = 1000;

/** The request of a chat, without what its connection decides. */
export type ChatRequest = Omit<StreamRequest, "open">;

export interface ChatParts {
  rooms: Rooms;
  clock: Clock;
  form: Form;
  /** The error as the client gets it. */
  toRelayError(error: unknown): RelayError;
}

/** What a chat does in its own way. */
interface Stays {
  /** Enters the room; resolves when the viewer has left: to whether the chat is over for this connection. */
  stay(): Promise<boolean>;
  /** Reports a refusal or a failure; returns whether it may pass. */
  failed(error: RelayError): boolean;
}

/** Resolves when the chat is over for this connection, or the signal aborts. */
export async function stayEntered(
  line: Multiplex,
  { rooms, clock, toRelayError }: ChatParts,
  { stay, failed }: Stays,
  signal: AbortSignal,
): Promise<void> {
  const afterFailure = (error: unknown): number | undefined => {
    if (signal.aborted || rooms.stopped.aborted) return undefined;
    const known = toRelayError(error);
    return failed(known) ? Math.max(MIN_RETRY_MS, known.retryAfterMs ?? 0) : undefined;
  };
  while (!signal.aborted) {
    const waitMs = await stay().then(
      (isOver) => (isOver ? undefined : REOPEN_MS * clock.random()),
      afterFailure,
    );
    if (waitMs !== undefined)
      await clock.sleep(waitMs, AbortSignal.any([signal, rooms.stopped])).catch(() => {});
    if (rooms.stopped.aborted) return line.end(); // its client reconnects, as those of all streams do
    if (waitMs === undefined) return;
  }
}
