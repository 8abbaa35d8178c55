/** What a viewer of several chats on one connection, or of a channel, received: a log for each chat. */
import { ChannelFrames } from "../../harness/channel-frames.ts";
import { MergedFrames } from "../../harness/merged-frames.ts";
import { ObservedChat, ObservedChats } from "../../harness/observed-chats.ts";
import { ViewerLog } from "./viewer-log.ts";

export class MergedLog extends ObservedChats {
  readonly #logs: readonly ViewerLog[];
  protected readonly frames: MergedFrames;

  constructor(logs: readonly ViewerLog[], onTrouble: () => void) {
    super(onTrouble);
    this.#logs = logs;
    const chats = logs.map((log) => new ObservedChat(log.videoId, log));
    this.frames = new MergedFrames(chats, (_, what) => this.malformed(what));
  }

  refused(status: number, code: string, message: string): void {
    for (const log of this.#logs) log.refused(status, code, message);
  }

  malformed(what: string): void {
    this.#logs[0]?.malformed(what);
  }
}

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
