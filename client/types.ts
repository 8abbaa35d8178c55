/** The types of the SDK. Messages and their details follow from the protocol's table of kinds. */
import type { Init } from "../src/protocol/chat.ts";
import type { GROUPS, Group, MessageType } from "../src/protocol/kinds.ts";
import type * as protocol from "../src/protocol/message.ts";
import type { ChatError } from "./error.ts";

export type { Init } from "../src/protocol/chat.ts";
export type { Details, MessageType } from "../src/protocol/kinds.ts";
export type { Part } from "../src/protocol/message.ts";

/** A message of type `T` without its cursor; with `details` where `D` is true. */
export type BareMessageOf<T extends MessageType, D extends boolean = false> = T extends MessageType
  ? D extends true
    ? protocol.MessageOf<T>
    : Omit<protocol.MessageOf<T>, "details">
  : never;

/** The message of type `T`, or of each of several types; with `details` where `D` is true. */
export type MessageOf<T extends MessageType, D extends boolean = false> = BareMessageOf<T, D> & {
  /** Its place in the chat: given as the option `cursor`, the chat goes on right behind it. */
  cursor: number;
};

/** Any message, discriminated on `type`. A newer service may send types that are not listed: have a `default`. */
export type Message = MessageOf<MessageType>;

/** A type, or a group that stands for its types. */
export type TypeOrGroup = MessageType | Group;

/** The types that a list of types and groups names. */
export type TypesIn<T extends TypeOrGroup> = T extends Group ? (typeof GROUPS)[T][number] : T;

/** Messages may be missing between the two cursors. */
export interface Gap {
  /** The last cursor before it. */
  after: number;
  /** Where the chat goes on: the cursor just before the next message, or that of the message of type `gap`. */
  cursor: number;
  /** Those of the message of type `gap`, where they were asked for. */
  details?: protocol.MessageOf<"gap">["details"];
}

/** The chat is over, or is no longer read. */
export interface End {
  reason: "no more continuations" | "room released";
}

/** `connecting` until the first connection is open, `reconnecting` whenever it is lost. */
export type State = "connecting" | "open" | "reconnecting" | "closed";

/** What listeners are called with. */
export interface ChatEvents<M = Message> {
  /** Each message, just before the loop is given it. */
  message: M;
  /** Each time that a connection is open. */
  init: Init;
  /** Comes before the first message behind the gap. */
  gap: Gap;
  state: State;
  /** The chat is over; the last event but for `state`. */
  end: End;
  /** The chat cannot be read any longer. What is tried again is not reported here, but to `retry`. */
  error: ChatError;
}

/** How the service is called. */
interface RequestOptions {
  /** The id of the video, or any usual address of it. */
  videoId: string;
  /** Ends everything: what waits is rejected with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Sent with every request. */
  headers?: RequestInit["headers"] | undefined;
  /** Stands in for the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

/** What happens after a failure. */
export interface RetryOptions {
  /** The first wait is half to all of `baseMs`; each further one is twice as long, up to `maxMs` (30,000). */
  backoff?: { baseMs?: number | undefined; maxMs?: number | undefined } | undefined;
  /**
   * Asked after every failure, `attempt` counting from 0 since the last success: the wait in milliseconds, false to
   * give up, undefined for the default. No wait is shorter than the service's `Retry-After`.
   */
  retry?: ((error: ChatError, attempt: number) => number | false | undefined) | undefined;
}

interface MessageOptions<D extends boolean, T extends TypeOrGroup> extends RequestOptions, RetryOptions {
  /** Whether messages carry `details`; false by default. */
  details?: D | undefined;
  /** Types and groups to hand out, all by default. A message of type `gap` is handed out all the same. */
  types?: readonly T[] | undefined;
}

/** Options of `chat`. */
export interface ChatOptions<D extends boolean = boolean, T extends TypeOrGroup = TypeOrGroup>
  extends MessageOptions<D, T> {
  /** Go on behind this cursor; 0 asks for all that is kept. */
  cursor?: number | undefined;
  /** How many of the latest messages to begin with, where no cursor is given; 50 by default, a replay: all. */
  backfill?: number | undefined;
  /** A connection that brings no byte for so long is given up; 45,000 by default. */
  idleMs?: number | undefined;
}

/** Options of `poll`. */
export interface PollOptions<D extends boolean = boolean, T extends TypeOrGroup = TypeOrGroup>
  extends MessageOptions<D, T> {
  /** Whether to begin with the messages that are already in the chat; true by default. */
  includeInitial?: boolean | undefined;
  /** The shortest and the longest wait between polls; 500 and 15,000 by default. */
  minDelayMs?: number | undefined;
  maxDelayMs?: number | undefined;
}

/** Options of `probe`. */
export interface ProbeOptions extends RequestOptions {}

/** One attempt: a client with an endpoint. */
export interface ProbeRow {
  label: string;
  endpoint: "get_live_chat" | "get_live_chat_replay";
  ok: boolean;
  actions: number;
  error: string | null;
}

/** What works for a video today. */
export interface ProbeResult {
  videoId: string;
  rows: ProbeRow[];
}

/**
 * A chat that connects when it is first iterated, or given its first `message` listener, and reconnects until it is
 * over. Leaving the loop closes it.
 */
export interface Chat<M = Message> extends AsyncIterable<M> {
  /**
   * All up to here was handed out, or is of no chosen type: store it, and give it as `cursor` after a restart. Undefined
   * before the first `init`, unless one was asked for.
   */
  readonly cursor: number | undefined;
  readonly state: State;
  /** Set once the chat is over. */
  readonly end: End | undefined;
  /** Returns the function that takes the listener off. */
  on<E extends keyof ChatEvents>(event: E, listener: (value: ChatEvents<M>[E]) => void): () => void;
  /** Ends the loop quietly and closes the connection. */
  close(): void;
}
