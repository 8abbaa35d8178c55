/** The types of the SDK. Messages and their details follow from the protocol's table of kinds. */

import type { ChannelState } from "../src/protocol/channel.ts";
import type { Init } from "../src/protocol/chat.ts";
import type { DetailsOf, GROUPS, Group, MessageType, PaidDetails } from "../src/protocol/kinds.ts";
import type * as protocol from "../src/protocol/message.ts";
import type { ChatError } from "./chat-error.ts";

export type { ChannelState } from "../src/protocol/channel.ts";
export type { Init } from "../src/protocol/chat.ts";
export type {
  AmountDetails,
  Details,
  EventDetails,
  ItemDetails,
  MessageType,
  PaidDetails,
} from "../src/protocol/kinds.ts";
export type { EightFields, Part } from "../src/protocol/message.ts";

/**
 * A message of type `T` without its cursor. It has `details` if `D` is true; if `D` is `boolean`, as that of
 * options whose `details` is not a literal, it may have them.
 */
export type BareMessageOf<T extends MessageType, D extends boolean = false> = {
  [Each in T]: protocol.EightFields & { type: Each } & DetailsIf<D, Each>;
}[T];

type DetailsIf<D extends boolean, T extends MessageType> = [D] extends [true]
  ? { details: DetailsOf<T> }
  : true extends D
    ? { details?: DetailsOf<T> }
    : unknown;

/** The message of type `T`, or of each of several types; with `details` as `BareMessageOf` has them. */
export type MessageOf<T extends MessageType, D extends boolean = false> = BareMessageOf<T, D> & {
  /** Its position in the chat: pass it as the option `cursor` to continue just after this message. */
  cursor: number;
};

/**
 * Any message, discriminated on `type`. A newer service may send further types, so a `switch` needs a
 * `default`.
 */
export type Message = MessageOf<MessageType>;

/** A type, or the name of a group of types. */
export type TypeOrGroup = MessageType | Group;

/** All types in a list of types and groups. */
export type TypesIn<T extends TypeOrGroup> = T extends Group ? (typeof GROUPS)[T][number] : T;

/** Messages may be missing between the two cursors. */
export interface Gap {
  /** The last cursor before the gap. */
  after: number;
  /**
   * The cursor after which the chat continues: the one just before the next message, or that of the `gap`
   * message.
   */
  cursor: number;
  /** The details of the `gap` message, if `details` were requested. */
  details?: protocol.MessageOf<"gap">["details"];
}

/** Which message a moderator features from now on. */
export interface Featured {
  /** Null if none is. It has `details` if they were requested. */
  message: BareMessageOf<MessageType, boolean> | null;
  /** When it was chosen, ISO 8601 in UTC. */
  featuredAt?: string;
}

/** Whether a live chat is there, or is waited for, as it is off or hidden. */
export interface Standing {
  state: "live" | "waiting";
  /** Why it is waited for: a sentence without its full stop. */
  reason?: string;
}

/** The chat is over, the service no longer reads it, or everything up to the requested moment was sent. */
export interface End {
  reason: "no more continuations" | "room released" | "until";
}

/** `connecting` until the first connection is open, `reconnecting` whenever a connection is lost. */
export type State = "connecting" | "open" | "reconnecting" | "closed";

/** The events of a chat, and the value that each passes to its listeners. */
export interface ChatEvents<M = Message> {
  /** Each message, just before the loop gets it. */
  message: M;
  /** Each connection that opens. */
  init: Init;
  /** A gap; comes before the first message after it. */
  gap: Gap;
  state: State;
  /** If the stream is asked for with `featured=on`: at once after `init`, and at each change. */
  featured: Featured;
  /** If the stream is asked for with `standing=on`: after the `init` of a live chat, and at each change. */
  standing: Standing;
  /** The chat is over. Only a last `state` event follows. */
  end: End;
  /** The chat cannot be read any longer. Failures that are retried go to the option `retry`, not here. */
  error: ChatError;
}

/**
 * A message, gap or end of one of several chats: of the chats of a channel, or of several on one connection.
 */
export type OfVideo<V> = V & { videoId: string };

/** The events of the chats of a channel. There is no `end`: the next video follows. */
export interface ChannelEvents<M = Message> extends Omit<ChatEvents<OfVideo<M>>, "end"> {
  gap: OfVideo<Gap>;
  featured: OfVideo<Featured>;
  standing: OfVideo<Standing>;
  /** The channel's state: before all other events, and again at each change. */
  channel: ChannelState;
}

/**
 * What the loop over several chats yields in place of a message when one of them cannot be read any more and
 * nobody listens to `error`. `message` says why; the others continue.
 */
export type DeadChat = protocol.EightFields & {
  type: "error";
  /** The video, or the channel that does not exist. */
  videoId: string;
  /** The last cursor of the chat; 0 if it had none. */
  cursor: number;
  error: ChatError;
  /** Empty. */
  details: { [Key in keyof PaidDetails]?: never };
};

/** The beginning of one of several chats. */
export type InitOfSeveral = Init & {
  /** The channel whose stream it is, in the service's form: handles in lower case. */
  channel?: string;
};

/** The events of several chats on one connection. */
export interface MergedEvents<M = Message> extends ChatEvents<OfVideo<M>> {
  /** Each chat that begins; `channel` is that of a channel's stream. */
  init: InitOfSeveral;
  gap: OfVideo<Gap>;
  featured: OfVideo<Featured>;
  standing: OfVideo<Standing>;
  /** One of the chats is over. */
  end: OfVideo<End>;
  /**
   * With a `videoId`, the error concerns one chat: it cannot be read, or the service tries again to open it;
   * or it names a channel that does not exist. Without one, no chat can be read any longer.
   */
  error: ChatError;
  /** The state of a channel: before the events of its chats, and again at each change. */
  channel: ChannelState;
}

/** The events of any of these, for the code that all of them share. */
export type AnyEvents = Omit<
  ChannelEvents & MergedEvents,
  "gap" | "featured" | "standing" | "end" | "message"
> & {
  message: Message & { videoId?: string };
  gap: Gap & { videoId?: string };
  featured: Featured & { videoId?: string };
  standing: Standing & { videoId?: string };
  end: End & { videoId?: string };
};

/** A message without its cursor. */
export type AnyMessage = BareMessageOf<MessageType> & { videoId?: string; details?: Gap["details"] };

/** Options of every request to the service. */
export interface RequestOptions {
  /** Aborts everything; pending promises reject with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Sent with every request. */
  headers?: RequestInit["headers"] | undefined;
  /**
   * A token of the service, sent as `Authorization: Bearer`. A function is called before each request, and
   * once more if the service refuses its token (401). If it throws, the request has failed (`NETWORK`).
   */
  token?: string | (() => string | Promise<string>) | undefined;
  /** Replaces the global `fetch`. */
  fetch?: typeof globalThis.fetch | undefined;
}

/** Options for retries after a failure. */
export interface RetryOptions {
  /**
   * The first wait is between half of `baseMs` and all of it. Each further wait is twice as long, up to
   * `maxMs` (30,000).
   */
  backoff?: { baseMs?: number | undefined; maxMs?: number | undefined } | undefined;
  /**
   * Called after every failure; `attempt` counts from 0 since the last success. Returns the wait in
   * milliseconds, false to give up, or undefined for the default. No wait is shorter than the service's
   * `Retry-After`.
   */
  retry?: ((error: ChatError, attempt: number) => number | false | undefined) | undefined;
}

interface VideoOption {
  /** The id of the video, or any usual URL of it. */
  videoId: string;
}

/** Options of everything that gives messages. */
export interface MessageOptions<D extends boolean, T extends TypeOrGroup>
  extends RequestOptions,
    RetryOptions {
  /** Whether messages carry `details`; false by default. */
  details?: D | undefined;
  /** Types and groups to read; all by default. Messages of type `gap` are always handed out. */
  types?: readonly T[] | undefined;
}

/** Options of every stream. */
interface StreamOptions<D extends boolean, T extends TypeOrGroup> extends MessageOptions<D, T> {
  /**
   * The number of recent messages that each chat begins with if there is no cursor; counts only those of
   * `types`. Default: 50, or all for a replay.
   */
  backfill?: number | undefined;
  /** A connection without a byte for this many milliseconds is closed and retried; 45,000 by default. */
  idleMs?: number | undefined;
}

interface UntilOption {
  /**
   * "now": ends with the newest message that is stored when the connection opens, and begins with the oldest
   * one unless there is a `cursor` or `backfill`. The service does not read the chat itself for this.
   */
  until?: "now" | undefined;
}

interface StoredChatOption {
  /**
   * Which stored chat of the video: the live one, or the replay. By default the one that has the cursor, else
   * the live one if it is stored.
   */
  chat?: "live" | "replay" | undefined;
}

/**
 * Options of `chat` for a video. `chat` needs `until`. `V` is the type of `videoId`, by which `chat` knows
 * what it returns.
 */
export interface ChatOptions<
  D extends boolean = boolean,
  T extends TypeOrGroup = TypeOrGroup,
  V extends string | null | undefined = string,
> extends StreamOptions<D, T>,
    UntilOption,
    StoredChatOption {
  // Before videoId: compilers choose by the first of the two that options do not name (they may be spread).
  channel?: undefined;
  /** The id of the video, or any usual URL of it. */
  videoId: V;
  /** Continue after this cursor; 0 asks for all stored messages. */
  cursor?: number | undefined;
  /**
   * How the chat is read: as Server-Sent Events (`sse`), or from the video's log by long polling (`log`). By
   * default `sse`, and `log` after three streams that brought no byte although the service answers.
   */
  transport?: "sse" | "log" | undefined;
}

/** Options of `chat` for a channel. */
export interface ChannelOptions<D extends boolean = boolean, T extends TypeOrGroup = TypeOrGroup>
  extends StreamOptions<D, T> {
  /** The channel's handle (`@name`) or id (`UC…`), or the URL of any of its pages. */
  channel: string;
  videoId?: undefined;
  /** Continue after this place: the `cursor` of an earlier room, `<videoId>.<cursor>`. */
  cursor?: string | undefined;
}

/**
 * Options of `merged`, which needs `videoIds`, `channels`, or both; 20 in all. `until` is for videos alone.
 */
export interface MergedOptions<D extends boolean = boolean, T extends TypeOrGroup = TypeOrGroup>
  extends StreamOptions<D, T>,
    UntilOption {
  /** The ids of the videos. */
  videoIds?: readonly string[] | undefined;
  /** The handles (`@name`), ids (`UC…`) or URLs of channels, whose streams follow each other. */
  channels?: readonly string[] | undefined;
  /**
   * Continue each chat after this place: the `cursor` of an earlier room with the same `videoIds` and
   * `channels`.
   */
  cursor?: string | undefined;
  /** Continue these chats after their cursors: the `cursors` of an earlier room, with any others. */
  cursors?: Readonly<Record<string, number>> | undefined;
}

/** Options of any of these, for the code that all of them share. */
export interface AnyOptions
  extends StreamOptions<boolean, TypeOrGroup>,
    UntilOption,
    StoredChatOption,
    NamedOptions {
  cursor?: number | string | undefined;
  cursors?: Readonly<Record<string, number>> | undefined;
  transport?: "sse" | "log" | undefined;
}

/** The options that name what to read: one of them for each request, or the last two together. */
export interface NamedOptions extends RequestOptions {
  videoId?: string | undefined;
  channel?: string | undefined;
  videoIds?: readonly string[] | undefined;
  channels?: readonly string[] | undefined;
}

/** Options of `poll`. */
export interface PollOptions<D extends boolean = boolean, T extends TypeOrGroup = TypeOrGroup>
  extends MessageOptions<D, T>,
    VideoOption {
  /** Whether to begin with the messages that are already in the chat; true by default. */
  includeInitial?: boolean | undefined;
  /** The minimum and the maximum wait between polls in milliseconds; 500 and 15,000 by default. */
  minDelayMs?: number | undefined;
  maxDelayMs?: number | undefined;
}

/** Options of `history`. Bounds and filters that are empty count as absent. */
export interface HistoryOptions<D extends boolean = boolean, T extends TypeOrGroup = TypeOrGroup>
  extends MessageOptions<D, T>,
    StoredChatOption,
    VideoOption {
  /** Cursors: only messages after and before them. */
  after?: number | undefined;
  before?: number | undefined;
  /**
   * Only messages stored at this time or later, and before this time: ISO 8601 with a time zone, or
   * milliseconds since 1970.
   */
  from?: string | number | undefined;
  to?: string | number | undefined;
  /**
   * The same by the chat's own time: in the forms of `from`, or, of a replay, a place in the video such as
   * `1:02:03`.
   */
  saidFrom?: string | number | undefined;
  saidTo?: string | number | undefined;
  /** Only messages whose text or author contains this, in any case and Unicode form. */
  q?: string | undefined;
  /** As `q`, in the words alone. */
  text?: string | undefined;
  /** Only messages of the author with this channel id. */
  author?: string | undefined;
}

/** Options of `probe`. */
export interface ProbeOptions extends RequestOptions, VideoOption {}

/** One attempt: a client and an endpoint. */
export interface ProbeRow {
  label: string;
  endpoint: "get_live_chat" | "get_live_chat_replay";
  ok: boolean;
  actions: number;
  error: string | null;
}

/** Which client identities work for a video now: a row for each attempt. */
export interface ProbeResult {
  videoId: string;
  rows: ProbeRow[];
}

/**
 * A chat that connects when it is first iterated or gets its first `message` listener, and reconnects until
 * it is over. Leaving the loop closes it. `C` is the type of its cursor, `E` has its events.
 */
export interface Chat<M = Message, C extends number | string = number, E = ChatEvents<M>>
  extends AsyncIterable<M> {
  /**
   * All messages up to this cursor were handed out or are of an unwanted type. Store it, and pass it as
   * `cursor` after a restart. Undefined before the first `init`, unless the option `cursor` or `cursors` was
   * set.
   */
  readonly cursor: C | undefined;
  readonly state: State;
  /** Set once the chat is over. With several chats, it is the end of the last one that has ended. */
  readonly end: End | undefined;
  /** Adds a listener. Returns the function that removes it. */
  on<N extends keyof E>(event: N, listener: (value: E[N]) => void): () => void;
  /** Ends the loop without an error and closes the connection. */
  close(): void;
}

/** The chats of a channel's streams, one after the other. Its cursor is `<videoId>.<cursor>`. */
export type ChannelChat<M = Message> = Chat<OfVideo<M>, string, ChannelEvents<M>>;

/**
 * Several chats on one connection. Its cursor contains the places in all of them, in the order of `videoIds`
 * and `channels`.
 */
export type MergedChats<M = Message> = Chat<OfVideo<M> | DeadChat, string, MergedEvents<M>> & {
  /** The cursor of each chat that has one, by video. Store them, and pass them as `cursors`. */
  readonly cursors: Readonly<Record<string, number>>;
};
