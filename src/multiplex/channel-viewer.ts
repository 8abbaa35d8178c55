/**
 * A viewer of a channel: one connection, and a place in the list of the channel's broadcasts. It is sent each
 * broadcast from its cursor up to the cursor at which the channel turned to another, and reports ends and
 * failures to the channel's watch.
 */
import { isDeepStrictEqual } from "node:util";
import { withoutStop } from "../base/error-message.ts";
import { omitUndefined } from "../base/json.ts";
import { dropOldest } from "../base/maps.ts";
import type { ChannelState } from "../protocol/channel.ts";
import type { FactName } from "../protocol/chat.ts";
import { ChatAbsent } from "../protocol/chat-standing.ts";
import { ERRORS, RelayError } from "../protocol/errors.ts";
import { type ChannelPlace, laterOf } from "../protocol/merged-id.ts";
import { type Broadcast, type WatchedChannel, waitingOf } from "../rooms/channels/broadcasts.ts";
import type { VideoChannels } from "../rooms/channels/video-channels.ts";
import type { MessageFilter } from "../serving/message-filter.ts";
import type { StreamRequest } from "../serving/room.ts";
import { refuseUnavailable } from "../serving/store-refusal.ts";
import type { Fact } from "../store/port.ts";
import { ChatWriter } from "./chat-writer.ts";
import type { Multiplex } from "./multiplex.ts";
import { type MultiplexParts, MultiplexViewer, type VisitOutcome } from "./multiplex-viewer.ts";
import type { SentVideos } from "./sent-videos.ts";

/** Shown to a client if its answer begins before the first look is over. */
const UNSEEN = "the channel's pages have not been read yet";
/** A client's video counts as another channel's if its own channel cannot be found out for this long. */
const MAX_UNKNOWN_MS = 120_000;
/** Videos whose cursors a connection remembers, for broadcasts that are live at the same time. */
const MAX_CURSORS = 20;

export interface ChannelParts extends MultiplexParts {
  watch: WatchedChannel;
  videoChannels: Pick<VideoChannels, "isVideoOf" | "learn">;
}

export interface ChannelRequest {
  /** Undefined if the client gave none. Each video begins at the time `from`, or else with this backfill. */
  backfill: number | undefined;
  from?: number | undefined;
  filter: MessageFilter;
  wantsVideo: boolean;
  facts: StreamRequest["facts"];
  /** Whether the channel's state names all broadcasts that are live. */
  wantsAll?: boolean;
  resume: ChannelPlace | undefined;
  /** By video, the cursors after which videos begin. */
  begins?: ReadonlyMap<string, number>;
  /** The viewer's address, or its network. */
  address: string;
}

/** A connection that carries other chats as well. */
interface SharedConnection {
  sent: SentVideos;
  /** The id from which it resumes after the next frame. */
  id(): string;
  /** Further fields of each `init`, and of the channel's `error`. */
  names: object;
}

/**
 * How the viewer left the room last time: with every stored message (`goingOn`: the chat was read within the
 * grace time before), or with the chat's end. Undefined if its visit was cut short, or there was none. A
 * visit for the stored rest that fails counts as `stored`.
 */
export type LastVisit = "stored" | "goingOn" | "end" | undefined;

/** A viewer in a broadcast: what the channel is now, and what the viewer has of the broadcast. */
interface Situation {
  /** Whether the channel is on the broadcast now. */
  isOn: boolean;
  /** Whether another chat of the connection sends the broadcast. */
  isSentBeside: boolean;
  /** Whether there is a broadcast after it. */
  hasNext: boolean;
  /** Whether the channel waits because a broadcast, or its pages, cannot be read. */
  isInTrouble: boolean;
  /** The cursor up to which the client has everything; undefined if it has nothing. */
  cursor: number | undefined;
  /** As in `Broadcast`. */
  to: number | undefined;
  lastVisit: LastVisit;
}

/**
 * What the viewer does next: it enters the room, reads the stored rest, waits for a change of the channel, or
 * goes on to the next broadcast.
 */
export function nextStep({ isOn, isSentBeside, hasNext, isInTrouble, cursor, to, lastVisit }: Situation) {
  if (isSentBeside) return hasNext ? "next" : "wait";
  // The channel is on it. (If its end was sent, the channel's watch will soon see the end, too.)
  if (isOn && lastVisit !== "end") return "enter";
  // The last visit sent all that was stored of a chat that goes on, and the channel has no later broadcast.
  if (lastVisit === "goingOn" && to === undefined) return "enter";
  // The last visit was cut short, and the broadcast is over, so the client lacks its rest, unless it has
  // nothing of it. While the channel is in trouble and has no next broadcast, this one may not be over.
  const isLeft = hasNext || !isInTrouble;
  const lacksRest = cursor !== undefined && cursor < (to ?? Number.POSITIVE_INFINITY);
  if (isLeft && lacksRest && lastVisit === undefined) return "rest";
  return hasNext ? "next" : "wait";
}

export class ChannelViewer {
  readonly #multiplex: Multiplex;
  readonly #request: ChannelRequest;
  readonly #parts: ChannelParts;
  readonly #visitor: MultiplexViewer;
  /** The last state that the client got. */
  #sent: ChannelState | undefined;
  /** Why this viewer alone waits, although the channel has a broadcast. */
  #obstacle: string | undefined;
  /**
   * Why the room of the client's chat waits for it (it is off or hidden); undefined if it does not wait. Also
   * after a chat that ended so, until the channel changes: at an edge, its origin says so a moment later.
   */
  #awaited: string | undefined;
  /** By video, the cursor up to which the client has everything: there it resumes if the video returns. */
  readonly #cursors: Map<string, number>;
  readonly #connection: SharedConnection | undefined;
  /** The videos whose own chats were over when the channel first went on with them. */
  readonly #takenOver = new Set<string>();
  /** Writes the broadcast that the client is sent; and the place that the client has of the one before. */
  #writing: ChatWriter | undefined;
  #last: ChannelPlace | undefined;

  /** `connection`: absent if it carries nothing else. */
  constructor(
    multiplex: Multiplex,
    request: ChannelRequest,
    parts: ChannelParts,
    connection?: SharedConnection,
  ) {
    this.#connection = connection;
    this.#cursors = new Map(request.begins);
    this.#last = request.resume;
    this.#multiplex = multiplex;
    this.#request = request;
    this.#parts = parts;
    this.#visitor = new MultiplexViewer(multiplex, parts);
  }

  /** The place after which the channel resumes; undefined if the client has nothing of it. */
  get place(): ChannelPlace | undefined {
    const { videoId = "", cursor } = this.#writing ?? {};
    return cursor === undefined ? this.#last : { videoId, cursor };
  }

  /** Resolves when the connection, or the channel, is over. */
  async run(): Promise<void> {
    using visitor = this.#visitor;
    visitor.countAsWaiting();
    try {
      for (let broadcast = await this.#begin(); ; ) broadcast = await this.#read(broadcast);
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Ends the connection, or the channel on one that carries others, with the error as the last event; at a
   * stop, the whole connection without one.
   */
  #fail(error: unknown): void {
    const multiplex = this.#multiplex;
    if (multiplex.gone.aborted) return;
    const { rooms, toRelayError } = this.#parts;
    const isStopped = rooms.stopped.aborted;
    const shared = this.#connection;
    if (!isStopped)
      multiplex.write(multiplex.events.event("error", { ...shared?.names, ...toRelayError(error).body }));
    if (isStopped || !shared) multiplex.end();
  }

  /** The broadcast that the client is sent first, once it is known whether its place is in one of these. */
  async #begin(): Promise<Broadcast> {
    const { watch, videoChannels, clock } = this.#parts;
    const { broadcasts } = watch;
    const { resume: place } = this.#request;
    // The answer of a single channel begins after it.
    if (this.#connection) await broadcasts.firstLook(clock, this.#multiplex.gone);
    if (!broadcasts.state) this.#announce(UNSEEN);
    await broadcasts.known(this.#multiplex.gone);
    videoChannels.learn(watch.names);
    const isOwn = place !== undefined && (await this.#isOfChannel(place.videoId));
    this.#announce();
    if (!isOwn) return broadcasts.newest;
    this.#cursors.set(place.videoId, place.cursor);
    return broadcasts.resumed(place.videoId);
  }

  /** Whether a video is one of the channel's, by what the channel shows, or else by the video's own page. */
  async #isOfChannel(videoId: string): Promise<boolean> {
    const { watch, clock } = this.#parts;
    const { gone } = this.#multiplex;
    const unknownAt = clock.monotonic() + MAX_UNKNOWN_MS;
    while (!watch.shows(videoId)) {
      const { changes, state } = watch.broadcasts;
      const { channelId, reason } = state ?? {};
      const found = await this.#isVideoOf(videoId, watch.names);
      if (found instanceof RelayError) {
        if (ERRORS[found.code].cause !== "service" && clock.monotonic() >= unknownAt) return false;
        this.#announce(withoutStop(found.message));
        await this.#visitor.pause(found, gone);
      } else if (found || channelId !== undefined || reason === undefined) return found;
      else {
        // Until the channel's pages can be read, its id is not known, by which it may be the same channel.
        this.#announce(reason);
        await watch.broadcasts.changedSince(changes, gone);
      }
    }
    return true;
  }

  /** Resolves to an error if it cannot be found out now. Rejects if the client leaves, and at a stop. */
  async #isVideoOf(videoId: string, names: readonly string[]): Promise<boolean | RelayError> {
    const { rooms, videoChannels, toRelayError } = this.#parts;
    const { gone } = this.#multiplex;
    const asked = videoChannels.isVideoOf(videoId, names, () => this.#request.address, gone);
    return await asked.catch(refuseUnavailable).catch((error: unknown) => {
      if (gone.aborted || rooms.stopped.aborted) throw error;
      return toRelayError(error);
    });
  }

  /** Resolves to the next broadcast, once the client has all of this one. */
  async #read(broadcast: Broadcast): Promise<Broadcast> {
    const { broadcasts } = this.#parts.watch;
    let writer = this.#writer(broadcast);
    for (let lastVisit = this.#takeOver(broadcast); ; ) {
      const { changes } = broadcasts;
      const step = await this.#step(broadcast, writer, lastVisit);
      if (step === "enter" || step === "rest") {
        lastVisit = await this.#visit(broadcast, writer, lastVisit, step === "rest");
        this.#remember(writer);
      } else if (step === "next" && broadcast.next) {
        this.#obstacle = undefined;
        return broadcast.next;
      } else {
        this.#announce();
        await this.#changedSince(changes);
        writer = this.#writer(broadcast);
        lastVisit ??= this.#takeOver(broadcast);
      }
    }
  }

  /** As `Broadcasts.changedSince`; also resolves when a chat of the connection is over. */
  async #changedSince(changes: number): Promise<void> {
    const { broadcasts } = this.#parts.watch;
    const { gone } = this.#multiplex;
    const released = new AbortController();
    using _ = this.#connection?.sent.onRelease(() => released.abort());
    const signal = this.#connection ? AbortSignal.any([gone, released.signal]) : gone;
    await broadcasts.changedSince(changes, signal).catch((error) => {
      if (gone.aborted || !released.signal.aborted) throw error;
    });
  }

  /**
   * If the connection also carries this video as a chat of its own, and that has ended: its end, as if it
   * were that of this viewer's last visit. Undefined until then, and if the broadcast was reopened. It is
   * returned once.
   */
  #takeOver(broadcast: Broadcast): LastVisit {
    const { videoId = "", isReopened } = broadcast;
    const outcome = this.#connection?.sent.outcomeOf(videoId);
    if (!outcome || this.#takenOver.has(videoId)) return undefined;
    this.#takenOver.add(videoId);
    return isReopened ? undefined : this.#report(broadcast, outcome, undefined);
  }

  /** Writes the broadcast's chat after the client's cursor, from an `init` on. */
  #writer(broadcast: Broadcast): ChatWriter {
    const { videoId = "" } = broadcast;
    const { names = {}, sent } = this.#connection ?? {};
    const id = () => {
      sent?.moved(videoId, writer.cursor);
      return this.#connection?.id() ?? `${videoId}.${writer.cursor}`;
    };
    const cursor = laterOf(this.#cursors.get(videoId), sent?.cursorOf(videoId));
    const takes = (fact: Fact) => this.#takes(fact, broadcast);
    const writer: ChatWriter = new ChatWriter(videoId, cursor, this.#multiplex, id, { names, takes });
    this.#awaited = undefined;
    this.#writing = writer;
    return writer;
  }

  /** Whether the client asked for the fact. Without `standing`, the channel's state says what that would. */
  #takes(fact: Fact, broadcast: Broadcast): boolean {
    if (fact.name !== "standing" || this.#request.facts?.includes("standing")) return true;
    this.#awaited = fact.value;
    if (this.#parts.watch.broadcasts.isOn(broadcast)) this.#announce(this.#obstacle);
    return false;
  }

  async #step(broadcast: Broadcast, { cursor }: ChatWriter, lastVisit: LastVisit) {
    const { broadcasts } = this.#parts.watch;
    const to = await this.#lastCursor(broadcast);
    const isOn = broadcasts.isOn(broadcast);
    const isInTrouble = broadcasts.state?.reason !== undefined;
    const hasNext = broadcast.next !== undefined;
    const isSentBeside = this.#isSentBeside(broadcast);
    return nextStep({ isOn, isSentBeside, hasNext, isInTrouble, cursor, to, lastVisit });
  }

  /** Whether another chat of the connection sends the broadcast's video. */
  #isSentBeside({ videoId }: Broadcast): boolean {
    return videoId !== undefined && this.#connection?.sent.isOf(this, videoId) === false;
  }

  /** The cursor up to which the viewers of a broadcast are sent it, once the channel has turned from it. */
  #lastCursor(broadcast: Broadcast): Promise<number> | undefined {
    const { watch, rooms } = this.#parts;
    const { videoId } = broadcast;
    if (videoId !== undefined && watch.broadcasts.hasTurnedFrom(broadcast))
      broadcast.to ??= rooms.headOf(videoId);
    return broadcast.to;
  }

  /** One visit to the broadcast's room. `isRest`: only for the messages that are stored now. */
  async #visit(
    broadcast: Broadcast,
    writer: ChatWriter,
    lastVisit: LastVisit,
    isRest: boolean,
  ): Promise<LastVisit> {
    const { broadcasts } = this.#parts.watch;
    const { backfill, from, filter, wantsVideo, address } = this.#request;
    const facts = [...new Set<FactName>(["standing", ...(this.#request.facts ?? [])])];
    const { gone } = this.#multiplex;
    const visitor = this.#visitor;
    const turned = new AbortController();
    const signal = AbortSignal.any([gone, turned.signal]);
    let failure: { error: unknown } | undefined;
    const follow = () =>
      void this.#follow(broadcast, writer, lastVisit, turned).catch((error: unknown) => {
        failure ??= { error };
        if (visitor.isInRoom) visitor.leaveAt(0);
        else turned.abort("a failure");
      });
    using _ = isRest ? undefined : broadcasts.onChange(follow);
    if (!isRest) follow();
    const reopens = broadcast.isReopened === true;
    const start = isRest ? { isBounded: true, backfill: 0 } : { backfill, from, reopens };
    const asked = { videoId: writer.videoId, filter, wantsVideo, facts, ...start };
    // The channel's watch says when a chat that was not there is there.
    const request = { ...asked, isShown: true, address: () => address };
    const entered = () => {
      if (broadcasts.isOn(broadcast)) this.#announce();
    };
    const outcome = await visitor.visit(writer, request, signal, entered);
    gone.throwIfAborted();
    if (failure) throw failure.error;
    if (outcome instanceof RelayError && ERRORS[outcome.code].cause === "service") {
      this.#announce(withoutStop(outcome.message));
      await visitor.pause(outcome, signal);
      return lastVisit;
    }
    const got = this.#report(broadcast, outcome, isRest || lastVisit === "goingOn" ? "stored" : undefined);
    const isBounded = !(outcome instanceof Error) && outcome?.state === "bounded";
    if (isBounded) this.#sent = undefined; // the state is sent again after the rest of an earlier broadcast
    const isCut = got === undefined && (await this.#step(broadcast, writer, got)) !== "next";
    if (isCut) await visitor.pause(undefined, signal);
    return got;
  }

  /**
   * Follows the channel during a visit: once the channel has turned to another broadcast, the viewer leaves.
   * Rejects if the cursor at which it turned cannot be found out.
   */
  async #follow(
    broadcast: Broadcast,
    writer: ChatWriter,
    lastVisit: LastVisit,
    turned: AbortController,
  ): Promise<void> {
    if (this.#parts.watch.broadcasts.isOn(broadcast)) this.#announce(this.#obstacle);
    if ((await this.#step(broadcast, writer, lastVisit)) === "enter") return;
    const to = await this.#lastCursor(broadcast);
    if (!this.#visitor.isInRoom) turned.abort("another broadcast");
    else if (to !== undefined) this.#visitor.leaveAt(to);
  }

  /**
   * Reports to the watch how a visit ended. Returns what the visit gave the viewer: `onFailure` if the room
   * failed, or could not be entered. The end of a broadcast that the watch has turned from is not reported.
   */
  #report(broadcast: Broadcast, outcome: VisitOutcome | undefined, onFailure: LastVisit): LastVisit {
    const { rooms, watch } = this.#parts;
    const { videoId = "", next } = broadcast;
    if (outcome instanceof ChatAbsent) {
      watch.failed(videoId, outcome);
      return onFailure;
    }
    if (outcome instanceof RelayError) {
      if (outcome.code !== "NOT_STORED") watch.failed(videoId, outcome);
      return onFailure;
    }
    switch (outcome?.state) {
      case "bounded":
        return outcome.chat === "resumable" ? "goingOn" : "stored";
      case "ended":
        if (!next) watch.ended(videoId);
        return "end";
      case "failed": {
        if (rooms.goesOn(videoId)) return undefined; // this viewer was slow: others read its next room
        const { code, message } = outcome.error;
        return this.#report(broadcast, new RelayError(code, message), onFailure);
      }
      default: // the room was released, or the connection to it cut
        return undefined;
    }
  }

  /**
   * Sends the channel's state, unless the client has it: with `obstacle`, a wait for this reason. A reason is
   * a sentence without its full stop. A client that does not read gets only the last of several states. Test:
   * "that does not read holds one state of the channel, and gets the last one before what follows".
   */
  #announce(obstacle?: string): void {
    const { watch } = this.#parts;
    const { state = { channel: watch.channel, state: "waiting" } } = watch.broadcasts;
    this.#obstacle = obstacle;
    const alone = obstacle === undefined ? this.#withWait(state) : waitingOf(state, obstacle);
    const live = this.#request.wantsAll ? watch.broadcasts.live : [];
    const shown: ChannelState = live.length > 1 ? { ...alone, live } : alone;
    this.#multiplex.writeLatest(this, () => {
      if (isDeepStrictEqual(shown, this.#sent)) return undefined;
      this.#sent = shown;
      return this.#multiplex.events.event("channel", shown);
    });
  }

  /** The channel's state, as a wait while the chat that the client is sent is off or hidden. */
  #withWait(state: ChannelState): ChannelState {
    const { state: is, videoId } = state;
    if (this.#awaited === undefined || is === "waiting" || videoId !== this.#writing?.videoId) return state;
    return { ...waitingOf(state, this.#awaited), ...omitUndefined({ videoId }) };
  }

  #remember({ videoId, cursor }: ChatWriter): void {
    this.#last = this.place;
    this.#cursors.delete(videoId);
    if (cursor !== undefined) this.#cursors.set(videoId, cursor);
    dropOldest(this.#cursors, MAX_CURSORS);
  }
}
