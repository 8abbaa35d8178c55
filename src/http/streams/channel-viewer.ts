/**
 * A viewer of a channel: one connection that carries the chats of the channel's streams, one after the other.
 * Its videos are those that the channel's watch chooses, and it reports the end of each to the watch.
 */
import { isDeepStrictEqual } from "node:util";
import { Deadline } from "../../deadline.ts";
import type { ChannelState } from "../../protocol/channel.ts";
import { parseCursor } from "../../serving/cursor.ts";
import type { Multiplex } from "../../serving/multiplex/multiplex.ts";
import type { TypeFilter } from "../../serving/type-filter.ts";
import { ChannelChat, type ChannelParts } from "./channel-chat.ts";

/** How long the answer waits for the first look at a channel. */
const FIRST_LOOK_MS = 2000;
/** Why a client waits whose id may be of another stream. */
const UNLISTED = "the channel's pages have not shown the stream of the last id yet";
/** Why a client waits whose answer begins before the first look is over. */
const UNSEEN = "the channel's pages have not been read yet";
/** Videos whose cursors a connection remembers, for streams that are live at the same time. */
const MAX_CURSORS = 20;

/** The place after which a connection resumes. */
interface ChannelPlace {
  videoId: string;
  cursor: number;
}

export interface ChannelRequest {
  /** Undefined if the client gave none. Each video begins with this backfill, or else at the time `from`. */
  backfill: number | undefined;
  from?: number | undefined;
  filter: TypeFilter;
  resume: ChannelPlace | undefined;
  /** When the request came, on the monotonic clock. */
  cameAt: number;
  /** The viewer's address, or its network. */
  address: string;
}

/** The place in an id, `<videoId>.<cursor>`; undefined for a text of another form. */
export function parsePlace(text: string | undefined): ChannelPlace | undefined {
  const [, videoId, digits] = /^([\w-]{11})\.(\d+)$/.exec(text ?? "") ?? [];
  const cursor = parseCursor(digits);
  return videoId === undefined || cursor === undefined ? undefined : { videoId, cursor };
}

/**
 * Resolves after the first look at a channel, or after two seconds. The viewer counts towards the limits
 * meanwhile. Rejects with `RelayError`: NO_LIVE_CHAT if the channel does not exist, CAPACITY; and with the
 * reason of `gone`.
 */
export async function firstLook(
  { watch, rooms, clock }: Pick<ChannelParts, "watch" | "rooms" | "clock">,
  gone: AbortSignal,
): Promise<void> {
  rooms.assertPlaces(1);
  using limit = new Deadline(clock, FIRST_LOOK_MS);
  const stopped = new AbortController();
  const place = { end: () => stopped.abort() };
  const waited = AbortSignal.any([limit.signal, stopped.signal]);
  try {
    using _ = rooms.countWaiting(place);
    await watch.states(AbortSignal.any([gone, waited])).next();
  } catch (error) {
    if (gone.aborted || !waited.aborted) throw error;
  }
  rooms.assertPlaces(1);
}

export class ChannelViewer {
  readonly #line: Multiplex;
  readonly #request: ChannelRequest;
  readonly #parts: ChannelParts;
  /** The room that it is in, or that it enters. */
  #chat: ChannelChat | undefined;
  /** An earlier video whose room goes on: it is read to its end, while the channel has no other. */
  #earlier: string | undefined;
  /** Counts it as a viewer while it is in no room: a room counts its own. */
  #slot: Disposable | undefined;
  /** The channel's state, and the last one that the client got: `waiting` while its room refuses it. */
  #state: ChannelState | undefined;
  #sent: ChannelState | undefined;
  /** The state that the client gets once its chat is over: this state does not name the chat any more. */
  #later: ChannelState | undefined;
  /** The place that the client came with, until it is known whether its video is the channel's. */
  #resume: ChannelPlace | undefined;
  /** The client's place in a room that failed or could not be entered: it may lack the messages after it. */
  #behind: ChannelPlace | undefined;
  /** By video, the cursor up to which the client has everything: there it resumes if the video returns. */
  readonly #cursors = new Map<string, number>();

  constructor(line: Multiplex, request: ChannelRequest, parts: ChannelParts) {
    this.#line = line;
    this.#request = request;
    this.#parts = parts;
    this.#resume = request.resume;
  }

  /** Resolves when the connection is over. */
  async run(): Promise<void> {
    this.#waits();
    const { channel, state } = this.#parts.watch;
    if (!state) this.#send({ channel, state: "waiting", reason: UNSEEN });
    try {
      for await (const state of this.#parts.watch.states(this.#line.gone)) await this.#follow(state);
    } catch (error) {
      await this.#chat?.leave();
      this.#fail(error);
    } finally {
      this.#slot?.[Symbol.dispose]();
    }
  }

  /** Ends the connection, with the error as its last event. */
  #fail(error: unknown): void {
    const line = this.#line;
    if (line.gone.aborted) return;
    line.write(line.events.event("error", this.#parts.toRelayError(error).body));
    line.end();
  }

  /** It is in no room, and counts as a waiting viewer. */
  #waits(): void {
    if (!this.#line.gone.aborted) this.#slot = this.#parts.rooms.countWaiting(this.#line);
  }

  async #follow(state: ChannelState): Promise<void> {
    const { videoId } = state;
    this.#later = this.#isEarly(state) ? state : undefined;
    if (this.#later) return;
    if (this.#chat && (videoId ?? this.#earlier) !== this.#chat.videoId) await this.#leave(this.#chat);
    this.#state = state;
    if (state.reason === undefined) {
      this.#resume ??= this.#behind;
      this.#behind = undefined;
    }
    const place = this.#resume;
    const { gone } = this.#line;
    const isOfChannel = place && (await this.#parts.watch.has(place.videoId, this.#request.cameAt, gone));
    if (place && isOfChannel === undefined) return this.#send(waitingOf(state, state.reason ?? UNLISTED));
    this.#resume = undefined;
    this.#send(state);
    if (place && isOfChannel && this.#chat) await this.#leave(this.#chat); // an earlier one that goes on
    if (place && isOfChannel && (await this.#catchUp(place, state))) this.#send(state, true);
    const next = videoId ?? this.#earlier;
    if (next !== undefined && !this.#chat) this.#read(next).catch((error: unknown) => this.#fail(error));
  }

  /**
   * Whether the channel already waits for the next stream while the client's chat goes on here. Its page may
   * not list a scheduled stream any more that has a chat, and another instance may have restarted, and know
   * of no stream that its pages do not show.
   */
  #isEarly({ videoId, reason }: ChannelState): boolean {
    const isWaiting = videoId === undefined && reason === undefined;
    if (!isWaiting || !this.#chat) return false;
    return this.#chat.videoId === this.#sent?.videoId;
  }

  /** The chat may be behind the channel's state, or its viewer behind the chat: the rest is sent first. */
  async #leave(chat: ChannelChat): Promise<void> {
    const isEarly = await chat.leave();
    const isBehind = chat.isBehind || (this.#parts.watch.isRemote && chat.cursor !== undefined);
    if (!isEarly || !isBehind) return;
    await this.#read(chat.videoId, true);
    this.#behind = undefined;
  }

  #send(state: ChannelState | undefined, isAgain = false): void {
    if (!state || (!isAgain && isDeepStrictEqual(state, this.#sent))) return;
    this.#sent = state;
    this.#line.write(this.#line.events.event("channel", state));
  }

  /**
   * Resumes after the client's place, in a video of the channel: an earlier one is sent as far as it is
   * stored now. Returns whether it was.
   */
  async #catchUp(place: ChannelPlace, { videoId }: ChannelState): Promise<boolean> {
    this.#cursors.set(place.videoId, place.cursor);
    if (place.videoId === videoId) return false;
    const { isGoingOn } = await this.#read(place.videoId, true);
    this.#earlier = isGoingOn ? place.videoId : undefined;
    return true;
  }

  /** `isBounded`: only the messages that are stored now. */
  async #read(videoId: string, isBounded = false): Promise<ChannelChat> {
    const { backfill, from, filter, address } = this.#request;
    const request = {
      ...{ videoId, filter, isBounded },
      lastEventId: this.#cursors.get(videoId),
      ...(isBounded ? { backfill: 0 } : { backfill, from }),
      address: () => address,
    };
    const chat = new ChannelChat(request, this.#line, this.#parts, {
      entering: () => this.#slot?.[Symbol.dispose](),
      left: () => this.#waits(),
      begun: () => this.#send(this.#state),
      refused: (reason) => this.#state && this.#send(waitingOf(this.#state, reason)),
    });
    this.#chat = chat;
    try {
      await chat.over;
    } finally {
      this.#chat = undefined; // in one step with its cursor, which `#leave` needs
    }
    if (videoId === this.#earlier) this.#earlier = undefined;
    this.#remember(chat);
    if (this.#later) {
      this.#state = this.#later;
      this.#send(this.#state);
    }
    if (chat.isBehind && chat.cursor !== undefined && !isBounded)
      this.#behind = { videoId, cursor: chat.cursor };
    return chat;
  }

  #remember({ videoId, cursor }: ChannelChat): void {
    this.#cursors.delete(videoId);
    if (cursor !== undefined) this.#cursors.set(videoId, cursor);
    const [oldest] = this.#cursors.keys();
    if (oldest !== undefined && this.#cursors.size > MAX_CURSORS) this.#cursors.delete(oldest);
  }
}

/** The state for a viewer that this service cannot serve now, although the channel has a stream. */
function waitingOf({ videoId: _, startsAt: __, ...names }: ChannelState, reason: string): ChannelState {
  return { ...names, state: "waiting", reason };
}
