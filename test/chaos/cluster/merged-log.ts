/** Everything that a viewer of several chats on one connection received: a log for each chat. */
import type { ChatsObserver } from "../../harness/clients/observer.ts";
import type { Frame } from "../../harness/frames.ts";
import { MergedFrames } from "../../harness/merged-frames.ts";
import { LoggedChat } from "./logged-chat.ts";
import type { ViewerLog } from "./viewer-log.ts";

export class MergedLog implements ChatsObserver {
  readonly logs: readonly ViewerLog[];
  readonly #frames: MergedFrames;
  readonly #onTrouble: () => void;

  /** `onTrouble`: called when a chat does not continue for now, so that the client should come back. */
  constructor(videoIds: readonly string[], onTrouble: () => void) {
    const chats = videoIds.map((videoId) => new LoggedChat(videoId));
    this.logs = chats.map(({ log }) => log);
    this.#frames = new MergedFrames(chats, (_, what) => this.malformed(what));
    this.#onTrouble = onTrouble;
  }

  begin(lastEventId: string | undefined): void {
    this.#frames.begin(lastEventId);
  }

  take(frame: Frame): void {
    this.#frames.take(frame);
    if (frame.event === "error") this.#onTrouble();
  }

  refused(status: number, code: string): void {
    for (const log of this.logs) log.refused(status, code);
  }

  closed(): void {}

  malformed(what: string): void {
    this.logs[0]?.malformed(what);
  }
}
