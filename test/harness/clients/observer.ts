/** A client's request, and the observer of the events that it receives. */

import type { InitFrame } from "../chat-frames.ts";
import type { Frame } from "../frames.ts";
import type { StreamQuery } from "./sse.ts";

export interface ClientOptions extends StreamQuery {
  backfill?: number;
  /** Sent with the first connection; 0 asks for all stored messages. */
  lastEventId?: number;
}

/** What any client learns of its connections. */
interface ConnectionObserver {
  /** The answer was not a stream; `code` and `message` are those of the error body. */
  refused(status: number, code: string, message: string): void;
  /** The connection is over or failed. `asked`: the client itself ended it. */
  closed(asked: boolean): void;
  /** Bytes that break the rules of HTTP, of event streams or of this API. */
  malformed(what: string): void;
}

/** Receives all events of a client of one chat in order, across its connections. */
export interface ChatObserver extends ConnectionObserver {
  /** A stream has begun; `lastEventId` is the request's value, if it had one. */
  opened(init: InitFrame, lastEventId: number | undefined): void;
  message(cursor: number, data: string): void;
  /** A cursor without a message. */
  moved?(cursor: number): void;
  /** A terminal frame: `end` with its reason, `error` with its code. */
  terminal(event: "end" | "error", reason: string): void;
}

/** Receives the frames of a client whose connections carry several chats. */
export interface ChatsObserver extends ConnectionObserver {
  /** A request leaves, with this id. */
  begin(lastEventId: string | undefined): void;
  take(frame: Frame): void;
}

export type Observer = ChatObserver | ChatsObserver;
