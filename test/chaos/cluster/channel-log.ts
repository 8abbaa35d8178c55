/** Everything that a viewer of a channel received: a log for each stream. */

import { dig, parseObject } from "../../../src/simulator/json.ts";
import { ChannelFrames } from "../../harness/channel-frames.ts";
import type { ChatsObserver } from "../../harness/clients/observer.ts";
import type { Frame } from "../../harness/frames.ts";
import { LoggedChat } from "./logged-chat.ts";
import { ViewerLog } from "./viewer-log.ts";

export class ChannelLog implements ChatsObserver {
  /** What concerns none of the streams. */
  readonly own: ViewerLog;
  readonly #chats = new Map<string, LoggedChat>();
  readonly #frames: ChannelFrames;
  readonly #onTrouble: () => void;

  /** `onTrouble`: called when the channel waits for a reason; the client had better come back. */
  constructor(channel: string, isStream: (videoId: string) => boolean, onTrouble: () => void) {
    this.own = new ViewerLog(channel);
    const chatOf = (videoId: string) => (isStream(videoId) ? this.#chat(videoId) : undefined);
    this.#frames = new ChannelFrames(channel, chatOf, (_, what) => this.malformed(what));
    this.#onTrouble = onTrouble;
  }

  /** The logs of the streams that it was sent. */
  get logs(): ViewerLog[] {
    return [...this.#chats.values()].map(({ log }) => log);
  }

  /** The log of a stream, which is empty if it was sent nothing of it. */
  of(videoId: string): ViewerLog {
    return this.#chat(videoId).log;
  }

  begin(lastEventId: string | undefined): void {
    this.#frames.begin(lastEventId);
  }

  take(frame: Frame): void {
    this.#frames.take(frame);
    if (frame.event === "channel" && dig(parseObject(frame.data), "reason") !== undefined) this.#onTrouble();
  }

  refused(status: number, code: string): void {
    this.own.refused(status, code);
  }

  closed(): void {}

  malformed(what: string): void {
    this.own.malformed(what);
  }

  #chat(videoId: string): LoggedChat {
    return this.#chats.getOrInsertComputed(videoId, () => new LoggedChat(videoId));
  }
}
