/**
 * One of the chats of a merged connection: enters its room, again after a failure that may pass, and writes
 * what its viewer is sent.
 */
import type { Clock } from "../clock.ts";
import type { ErrorCode, RelayError } from "../protocol/errors.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Form } from "../serving/form.ts";
import { ChatWriter } from "../serving/multiplex/chat-writer.ts";
import { endEvent, errorEvent } from "../serving/multiplex/events.ts";
import type { Multiplex } from "../serving/multiplex/multiplex.ts";
import type { Part } from "../serving/multiplex/parts.ts";
import type { StreamRequest } from "../serving/room.ts";
import { vectorOf } from "./cursor-vector.ts";

/** Errors of an opening after which the chat is tried again. */
const MAY_PASS: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "RATE_LIMITED",
  "CAPACITY",
  "STORE_UNAVAILABLE",
  "UPSTREAM_ERROR",
  "SW_JS_FAILED",
  "NO_WORKING_CLIENT",
]);
const MIN_RETRY_MS = 30_000;
/** The maximum wait before a chat is entered again whose room another instance has released. */
const REOPEN_MS = 1000;

interface MergedChatParts {
  line: Multiplex;
  form: Form;
  rooms: Rooms;
  clock: Clock;
  /** The id from which the connection resumes after the next frame. */
  id(): string;
  /** The error as the client gets it. */
  toRelayError(error: unknown): RelayError;
}

/** The request of a chat, without what its connection decides. */
type ChatRequest = Omit<StreamRequest, "open">;

/** Reads several chats on one connection. Resolves when all of them, or the connection, are over. */
export async function readMerged(
  line: Multiplex,
  requests: readonly ChatRequest[],
  parts: Omit<MergedChatParts, "line" | "id">,
): Promise<void> {
  const id = () => vectorOf(chats.map(({ cursor }) => cursor));
  const chats: MergedChat[] = requests.map((request) => new MergedChat(request, { ...parts, line, id }));
  await Promise.all(chats.map((chat) => chat.run()));
  if (!line.gone.aborted) line.end();
}

class MergedChat {
  readonly #request: ChatRequest;
  readonly #parts: MergedChatParts;
  readonly #writer: ChatWriter;

  constructor(request: ChatRequest, parts: MergedChatParts) {
    this.#request = request;
    this.#parts = parts;
    this.#writer = new ChatWriter(request.videoId, request.lastEventId, parts.line, parts.id);
  }

  /** The cursor up to which the client has everything; before the chat is open, the one that it sent. */
  get cursor(): number | undefined {
    return this.#writer.cursor;
  }

  /** Resolves when the chat is over for this connection, or the connection is. */
  async run(): Promise<void> {
    const { line, rooms, clock } = this.#parts;
    while (!line.gone.aborted) {
      const waitMs = await this.#stay().catch((error: unknown) => this.#failed(error));
      if (waitMs === undefined) return;
      await clock.sleep(waitMs, AbortSignal.any([line.gone, rooms.stopped])).catch(() => {});
      if (rooms.stopped.aborted) return line.end(); // its client reconnects, as those of all streams do
    }
  }

  /** Resolves when the viewer has left: to the wait before the next try, or undefined if the chat is over. */
  async #stay(): Promise<number | undefined> {
    const { line, form, rooms, clock } = this.#parts;
    const branch = line.branch(form, (part) => this.#write(part));
    try {
      const request = { ...this.#request, lastEventId: this.cursor, open: () => branch };
      await rooms.enter(request, line.gone);
      const { isOver } = await branch.left;
      return isOver ? undefined : REOPEN_MS * clock.random();
    } finally {
      line.leave(branch);
    }
  }

  #failed(error: unknown): number | undefined {
    const { line, rooms, toRelayError } = this.#parts;
    if (line.gone.aborted) return undefined;
    if (rooms.stopped.aborted) return 0;
    const known = toRelayError(error);
    line.write(errorEvent(line.events, this.#request.videoId, known.body));
    return MAY_PASS.has(known.code) ? Math.max(MIN_RETRY_MS, known.retryAfterMs ?? 0) : undefined;
  }

  #write(part: Part): void {
    const { line } = this.#parts;
    const end = this.#writer.write(part);
    if (end) line.write(endEvent(line.events, this.#request.videoId, end));
  }
}
