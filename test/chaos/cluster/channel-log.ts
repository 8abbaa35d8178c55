/** Everything that a viewer of a channel received: a log for each stream. */
import { ChannelFrames } from "../../harness/channel-frames.ts";
import { ObservedChat, ObservedChats } from "../../harness/observed-chats.ts";
import { ViewerLog } from "./viewer-log.ts";

export class ChannelLog extends ObservedChats {
  /** What concerns none of the streams. */
  readonly own: ViewerLog;
  readonly #chats = new Map<string, ObservedChat<ViewerLog>>();
  protected readonly frames: ChannelFrames;

  constructor(channel: string, isStream: (videoId: string) => boolean, onTrouble: () => void) {
    super(onTrouble);
    this.own = new ViewerLog(channel);
    const chatOf = (videoId: string) => (isStream(videoId) ? this.#chat(videoId) : undefined);
    this.frames = new ChannelFrames(channel, chatOf, (_, what) => this.malformed(what));
  }

  /** The logs of the streams that it was sent. */
  get logs(): ViewerLog[] {
    return [...this.#chats.values()].map(({ observer }) => observer);
  }

  /** The log of a stream, which is empty if it was sent nothing of it. */
  of(videoId: string): ViewerLog {
    return this.#chat(videoId).observer;
  }

  refused(status: number, code: string, message: string): void {
    this.own.refused(status, code, message);
  }

  malformed(what: string): void {
    this.own.malformed(what);
  }

  #chat(videoId: string): ObservedChat<ViewerLog> {
    const begin = () => new ObservedChat(videoId, new ViewerLog(videoId));
    return this.#chats.getOrInsertComputed(videoId, begin);
  }
}
