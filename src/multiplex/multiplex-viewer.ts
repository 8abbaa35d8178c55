/**
 * A viewer on a connection that carries several chats: it is in the room of one chat at a time, and counts as
 * a waiting viewer between two rooms. What it is sent is written to the connection.
 */
import { type Clock, pause } from "../base/clock.ts";
import type { StreamEnd } from "../protocol/chat.ts";
import { ChatAbsent } from "../protocol/chat-standing.ts";
import type { RelayError } from "../protocol/errors.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Form } from "../serving/form.ts";
import type { StreamRequest } from "../serving/room.ts";
import type { ChatWriter } from "./chat-writer.ts";
import type { Branch, Multiplex } from "./multiplex.ts";

/**
 * The minimum wait after a refusal, and by how much it may be longer: those that were refused at the same
 * moment come again at different ones.
 */
const MIN_RETRY_MS = 30_000;
const RETRY_SPREAD_MS = 15_000;
/** The longest wait before a room is entered again after a visit without a refusal. */
const REOPEN_MS = 1000;

/** The request of a chat, without what its connection decides. */
export type ChatRequest = Omit<StreamRequest, "openSink">;

/** How a visit to a room ended: with the end that the client was sent, or with a refusal. */
export type VisitOutcome = StreamEnd | RelayError | ChatAbsent;

export interface MultiplexParts {
  rooms: Rooms;
  clock: Clock;
  form: Form;
  /** The error as the client gets it. */
  toRelayError(error: unknown): RelayError;
}

export class MultiplexViewer implements Disposable {
  readonly #multiplex: Multiplex;
  readonly #parts: MultiplexParts;
  /** Counts it while it is in no room: a room counts its own. */
  #slot: Disposable | undefined;
  #branch: Branch | undefined;

  constructor(multiplex: Multiplex, parts: MultiplexParts) {
    this.#multiplex = multiplex;
    this.#parts = parts;
  }

  get isInRoom(): boolean {
    return this.#branch !== undefined;
  }

  /** Leaves its room as soon as it has everything up to this cursor. */
  leaveAt(cursor: number): void {
    this.#branch?.owner?.endAt(cursor);
  }

  /** It is in no room from now on, but counts as a viewer. */
  countAsWaiting(): void {
    const multiplex = this.#multiplex;
    if (!multiplex.gone.aborted) this.#slot = this.#parts.rooms.countWaiting({ end: () => multiplex.end() });
  }

  /**
   * Enters a room after the writer's cursor, and stays until the room, the connection or `leaveAt` ends the
   * visit. Once it is in the room, `entered` is called, before its `init`.
   * Resolves to the end that it was sent, to the reason of a refusal, or to undefined: it left at a cursor,
   * it was disconnected, the service stops, or the signal aborted before it was in the room.
   */
  async visit(
    writer: ChatWriter,
    request: Omit<ChatRequest, "lastEventId">,
    signal: AbortSignal,
    entered?: () => void,
  ): Promise<VisitOutcome | undefined> {
    const { rooms, form, toRelayError } = this.#parts;
    const multiplex = this.#multiplex;
    let end: StreamEnd | undefined;
    const branch = multiplex.branch(form, (event) => {
      end = writer.write(event);
    });
    const openSink = () => {
      signal.throwIfAborted();
      this.#branch = branch;
      entered?.();
      return branch;
    };
    this.#slot?.[Symbol.dispose]();
    try {
      await rooms.enter({ ...request, lastEventId: writer.cursor, openSink }, signal);
      await branch.left;
      return end;
    } catch (error) {
      if (signal.aborted || rooms.stopped.aborted) return undefined;
      return error instanceof ChatAbsent ? error : toRelayError(error);
    } finally {
      this.#branch = undefined;
      multiplex.leave(branch);
      this.countAsWaiting();
      if (rooms.stopped.aborted) multiplex.end(); // its client reconnects, as those of all streams do
    }
  }

  /** Waits before the next try: after a refusal at least as long as it says, else up to a second. */
  async pause(refusal: RelayError | undefined, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    const refusedMs = Math.max(MIN_RETRY_MS, refusal?.retryAfterMs ?? 0);
    const random = clock.random();
    const waitMs = refusal ? refusedMs + RETRY_SPREAD_MS * random : REOPEN_MS * random;
    await pause(clock, waitMs, signal);
  }

  [Symbol.dispose](): void {
    this.#slot?.[Symbol.dispose]();
  }
}
