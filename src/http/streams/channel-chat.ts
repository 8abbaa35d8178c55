/**
 * The chat of one video on a channel's connection: enters its room, and writes what its viewer is sent, until
 * the chat is over, its room fails, or the connection turns to another video.
 */
import type { StreamEnd } from "../../protocol/chat.ts";
import { ERRORS, RelayError } from "../../protocol/errors.ts";
import type { WatchedChannel } from "../../rooms/channels/states.ts";
import { ChatWriter } from "../../serving/multiplex/chat-writer.ts";
import type { Branch, Multiplex } from "../../serving/multiplex/multiplex.ts";
import type { ChatPart } from "../../serving/multiplex/parts.ts";
import { type ChatParts, type ChatRequest, stayEntered } from "./entered-chat.ts";

export interface ChannelParts extends ChatParts {
  watch: WatchedChannel;
}

interface ChannelChatEvents {
  /** The viewer is about to enter the room, and counts there; it has left the room. */
  entering(): void;
  left(): void;
  /** An `init` is about to be written. */
  begun(): void;
  /** This service cannot serve the viewer now. `reason`: a sentence without a full stop. */
  refused(reason: string): void;
}

export class ChannelChat {
  readonly videoId: string;
  /** Resolves when the viewer has left the chat for good. */
  readonly over: Promise<void>;
  readonly #request: ChatRequest;
  readonly #line: Multiplex;
  readonly #parts: ChannelParts;
  readonly #events: ChannelChatEvents;
  readonly #writer: ChatWriter;
  readonly #left = new AbortController();
  #branch: Branch | undefined;
  /** Whether the viewer got an end that is the chat's for this connection, too, or was refused for good. */
  #isOver = false;
  /** Whether it got the end of the whole chat, or of the requested part. */
  #isWhole = false;
  #isEntered = false;
  /** Whether it left the room while it waited for its client or for the store. */
  #wasSlow = false;
  #isGoingOn = false;

  constructor(request: ChatRequest, line: Multiplex, parts: ChannelParts, events: ChannelChatEvents) {
    const { videoId, lastEventId } = request;
    const id = () => `${videoId}.${this.#writer.cursor}`;
    this.videoId = videoId;
    this.#request = request;
    this.#line = line;
    this.#parts = parts;
    this.#events = events;
    this.#writer = new ChatWriter(videoId, lastEventId, line, id);
    const signal = AbortSignal.any([line.gone, this.#left.signal]);
    const stays = { stay: () => this.#stay(signal), failed: (error: RelayError) => this.#failed(error) };
    this.over = stayEntered(line, parts, stays, signal);
  }

  /** The cursor up to which the client has everything; undefined if it has nothing. */
  get cursor(): number | undefined {
    return this.#writer.cursor;
  }

  /** Whether the room may have more for the viewer, which is not in it, or left it before it had read all. */
  get isBehind(): boolean {
    return (!this.#isEntered || this.#wasSlow) && !this.#isWhole && this.cursor !== undefined;
  }

  /** Whether the viewer got all that was stored of a room that was not over by then. */
  get isGoingOn(): boolean {
    return this.#isGoingOn;
  }

  /**
   * Leaves the chat, but reads one that is over to its end. Resolves when it has left: to whether that was
   * before an end.
   */
  async leave(): Promise<boolean> {
    const isEarly = !this.#isOver && (!this.#branch || this.#parts.rooms.isRead(this.videoId));
    if (isEarly) {
      this.#wasSlow = this.#line.isFull || this.#branch?.isReading === true;
      this.#left.abort("another video");
      this.#branch?.closed();
    }
    await this.over;
    return isEarly;
  }

  async #stay(signal: AbortSignal): Promise<boolean> {
    const { form, rooms } = this.#parts;
    const line = this.#line;
    this.#isEntered = false;
    const branch = line.branch(form, (part) => this.#write(part));
    const open = () => {
      signal.throwIfAborted();
      this.#branch = branch;
      this.#isEntered = true;
      return branch;
    };
    try {
      this.#events.entering();
      await rooms.enter({ ...this.#request, lastEventId: this.cursor, open }, signal);
      await branch.left;
      this.#isEntered = signal.aborted;
      return this.#isOver;
    } finally {
      this.#branch = undefined;
      line.leave(branch);
      this.#events.left();
    }
  }

  /** If this service is the cause, the channel keeps the video, and the viewer tries again. */
  #failed(error: RelayError): boolean {
    this.#isOver = ERRORS[error.code].cause !== "service";
    if (error.code === "NOT_STORED") return false;
    if (this.#isOver) {
      this.#parts.watch.failed(this.videoId, error);
      return false;
    }
    this.#events.refused(error.message.replace(/\.$/, ""));
    return true;
  }

  #write(part: ChatPart): void {
    if (part.kind === "init") this.#events.begun();
    const end = this.#writer.write(part);
    if (end) this.#isOver = this.#report(end);
  }

  /** Reports the end of the chat to the watch. Returns false if the viewer should enter the room again. */
  #report(end: StreamEnd): boolean {
    const { rooms, watch } = this.#parts;
    this.#isWhole = end.state === "bounded" || end.state === "ended";
    switch (end.state) {
      case "bounded":
        this.#isGoingOn = end.isGoingOn;
        return true;
      case "ended":
        watch.ended(this.videoId);
        return true;
      case "failed": {
        if (rooms.isRead(this.videoId)) return false; // this viewer was slow: others read its next room
        const { code, message } = end.error;
        watch.failed(this.videoId, new RelayError(code, message));
        return true;
      }
      case "released":
        return false;
    }
  }
}
