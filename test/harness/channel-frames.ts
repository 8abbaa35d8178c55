/**
 * The frames of a client of `/v1/stream?channel=`, over all its connections: those of each video go to the
 * judge of its chat. A video after whose message the client came back comes first, with all of its rest.
 */
import { type JsonObject, parseObject } from "../../simulator/plain-json.ts";
import { type ChatFrames, type InitFrame, type Violate, withoutVideo } from "./chat-frames.ts";
import type { Frame } from "./frames.ts";

export class ChannelFrames {
  /** The id with which the client comes back. */
  lastEventId: string | undefined;
  readonly #name: string;
  readonly #chatOf: (videoId: string) => ChatFrames | undefined;
  readonly #violate: Violate;
  /** The chat whose init came last, unless the connection has turned away from it. */
  #current: ChatFrames | undefined;
  /** The chats that this connection has begun; it continues each where it left it. */
  readonly #begun = new Set<ChatFrames>();
  /** The stream that the last `channel` event named. */
  #shown: unknown;
  /** The chat after whose message the client came back, and the cursor of that message. */
  #resumed: { chat: ChatFrames; cursor: number } | undefined;
  /** That chat until the connection's end, even if another one came first. */
  #asked: ChatFrames | undefined;
  /** Whether the current chat continues, as far as the client knows. */
  #isReading = false;
  /** Whether the current chat is only sent as far as it was stored when the client came back. */
  #isCatchingUp = false;
  /** Whether the next state may be the last of several: a client that does not read gets only that one. */
  #mayLackStates = false;

  /** `chatOf`: the chat of one of the channel's videos; undefined for any other. */
  constructor(name: string, chatOf: (videoId: string) => ChatFrames | undefined, violate: Violate) {
    this.#name = name;
    this.#chatOf = chatOf;
    this.#violate = violate;
  }

  /** Whether the connection has named a stream of the channel. */
  get hasSeen(): boolean {
    return this.#shown !== undefined || this.#begun.size > 0;
  }

  get current(): ChatFrames | undefined {
    return this.#current;
  }

  /** Whether the current chat continues, as far as its client knows. */
  get isReading(): boolean {
    return this.#isReading;
  }

  /** A connection begins. */
  begin(lastEventId: string | undefined): void {
    const [videoId = "", digits] = lastEventId?.split(".") ?? [];
    for (const chat of this.#begun) chat.asks(undefined);
    this.#asked?.asks(undefined);
    this.#begun.clear();
    this.#current = undefined;
    this.#isCatchingUp = false;
    this.#isReading = false;
    this.#mayLackStates = false;
    this.#shown = undefined;
    const chat = this.#chatOf(videoId);
    this.#resumed = chat && { chat, cursor: Number(digits) };
    this.#asked = chat;
    chat?.asks(Number(digits));
  }

  /** `isHeld`: the frame was held for a client that did not read. */
  take({ event, id, data }: Frame, isHeld = false): void {
    if (id !== undefined) this.lastEventId = id;
    this.#mayLackStates ||= isHeld;
    const value = parseObject(data);
    if (event === "init") this.#begins(value as unknown as InitFrame);
    else if (event === "message" || event === "cursor") this.#sent(id ?? "", event, data);
    else if (event === "channel") this.#changed(value ?? {}, isHeld);
    else this.#violate("", `of ${this.#name} is sent ${event}: ${data}`);
  }

  #changed({ state, videoId, reason }: JsonObject, isHeld: boolean): void {
    const wasWaiting = this.#shown === undefined;
    const mayLackStates = this.#mayLackStates;
    this.#mayLackStates = isHeld;
    this.#shown = videoId;
    const chat = this.#current;
    if (chat?.videoId === videoId) this.#isReading = !this.#isCatchingUp;
    if (!chat || chat.videoId === videoId) return;
    const isOver = state === "waiting" && reason === undefined;
    if (isOver && !mayLackStates && this.#isReading && !chat.isUpToDate) this.#misses(chat, "before its end");
    this.#isReading = false;
    // Else it may continue with the same chat: of a channel that already waited, the rest of an earlier one.
    if (state !== "waiting" || (isOver && !wasWaiting)) this.#leave();
  }

  #begins(init: InitFrame): void {
    const { videoId } = init;
    const chat = this.#chatOf(videoId);
    this.#leave();
    const isAgain = chat !== undefined && this.#begun.has(chat);
    if (chat) {
      this.#judgeResumed(chat);
      if (isAgain) chat.asks(chat.cursor);
      this.#begun.add(chat);
      chat.begin(init);
    } else this.#violate(videoId, `of ${this.#name} is sent an init of ${videoId}`);
    this.#current = chat;
    this.#isReading = videoId === this.#shown;
    // The rest of a chat that this connection had left was bounded when sent, before a slow client reads it.
    this.#isCatchingUp = !this.#isReading && !isAgain;
  }

  #sent(id: string, event: "message" | "cursor", data: string): void {
    const [videoId = "", digits] = id.split(".");
    const [chat, cursor] = [this.#current, Number(digits)];
    if (!chat || chat.videoId !== videoId)
      this.#violate(videoId, `of ${this.#name} is sent the id ${id} after the init of another video`);
    else if (event === "cursor") chat.moved(cursor);
    else if (data.startsWith(`{"videoId":"${videoId}",`)) chat.message(cursor, withoutVideo(data));
    else this.#violate(videoId, `of ${this.#name} is sent ${data.slice(0, 40)} under the id ${id}`);
  }

  /** The connection turns away from a chat. */
  #leave(): void {
    if (this.#isCatchingUp && this.#current?.lacksOld) this.#misses(this.#current, "of what was stored");
    this.#current = undefined;
    this.#isCatchingUp = false;
    this.#isReading = false;
  }

  /** The first video must be the one after whose message the client came back, if that has more. */
  #judgeResumed(first: ChatFrames): void {
    const { chat, cursor } = this.#resumed ?? {};
    this.#resumed = undefined;
    if (chat && chat !== first && chat.cursor === cursor && chat.lacksOld) this.#misses(chat, "at all");
  }

  #misses({ videoId, cursor }: ChatFrames, what: string): void {
    this.#violate(videoId, `of ${this.#name} misses what follows ${cursor} ${what}`);
  }
}
