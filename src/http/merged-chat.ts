/**
 * One of the chats of a merged connection: enters its room, again after a failure that may pass, and writes
 * what its viewer is sent.
 */
import type { Clock } from "../clock.ts";
import type { Init } from "../protocol/chat.ts";
import type { ErrorCode, RelayError } from "../protocol/errors.ts";
import type { Rooms } from "../rooms/rooms.ts";
import type { Form } from "../serving/form.ts";
import { endEvent, errorEvent, initEvent } from "../serving/multiplex/events.ts";
import type { Multiplex } from "../serving/multiplex/multiplex.ts";
import { CURSOR_END, type Part } from "../serving/multiplex/parts.ts";
import type { StreamRequest } from "../serving/room.ts";

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

export interface MergedChatParts {
  line: Multiplex;
  form: Form;
  rooms: Rooms;
  clock: Clock;
  /** The id from which the connection resumes after what is written now. */
  id(): string;
  /** What the client is told about an error. */
  toRelayError(error: unknown): RelayError;
}

/** The request of a chat, without what its connection decides. */
export type ChatRequest = Omit<StreamRequest, "open">;

export class MergedChat {
  readonly #request: ChatRequest;
  readonly #parts: MergedChatParts;
  /** The cursor up to which the client has everything; before the chat is open, the one that it sent. */
  cursor: number | undefined;
  /** Whether the client was sent an `init` of this chat. */
  #isBegun = false;

  constructor(request: ChatRequest, parts: MergedChatParts) {
    this.#request = request;
    this.#parts = parts;
    this.cursor = request.lastEventId;
  }

  /** Resolves when the chat is over for this connection, or the connection is. */
  async run(): Promise<void> {
    const { line, rooms, clock } = this.#parts;
    while (!line.gone.aborted) {
      const waitMs = await this.#stay().catch((error: unknown) => this.#failed(error));
      if (waitMs === undefined) return;
      if (rooms.isStopping) return line.end(); // its client reconnects, as those of all streams do
      await clock.sleep(waitMs, line.gone).catch(() => {});
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
    if (rooms.isStopping) return 0;
    const known = toRelayError(error);
    line.write(errorEvent(line.events, this.#request.videoId, known.body));
    return MAY_PASS.has(known.code) ? Math.max(MIN_RETRY_MS, known.retryAfterMs ?? 0) : undefined;
  }

  #write(part: Part): void {
    const { line } = this.#parts;
    switch (part.kind) {
      case "init":
        this.#begin(part.init);
        break;
      case "messages":
        line.write(...part.frames.flatMap((frame) => this.#completed(frame)));
        break;
      case "cursor":
        this.#report(part.cursor);
        break;
      case "end":
        if (part.unreported !== undefined) this.#report(part.unreported);
        line.write(endEvent(line.events, this.#request.videoId, part.end));
        break;
      case "idle": // the connection has keepalives of its own
    }
  }

  /** A room that another instance has released continues without another `init`, if no message is missing. */
  #begin(init: Init): void {
    const { line } = this.#parts;
    const isContinued = this.#isBegun && init.cursor === this.cursor;
    this.cursor = init.cursor;
    this.#isBegun = true;
    if (!isContinued) line.write(initEvent(line.events, init));
  }

  #report(cursor: number): void {
    const { line, id } = this.#parts;
    this.cursor = cursor;
    line.write(line.events.cursor({ videoId: this.#request.videoId, cursor, id: id() }));
  }

  #completed(frame: Buffer): [string, Buffer] {
    const { line, id } = this.#parts;
    const end = frame.indexOf(CURSOR_END);
    this.cursor = Number(frame.toString("latin1", 0, end));
    const place = { videoId: this.#request.videoId, cursor: this.cursor, id: id() };
    return [line.events.message(place), frame.subarray(end + 1)];
  }
}
