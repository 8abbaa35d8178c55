/** Everything that a viewer of several chats on one connection received: a log for each chat. */
import { MergedFrames } from "../../harness/merged-frames.ts";
import { ObservedChat, ObservedChats } from "../../harness/observed-chats.ts";
import { ViewerLog } from "./viewer-log.ts";

export class MergedLog extends ObservedChats {
  readonly logs: readonly ViewerLog[];
  protected readonly frames: MergedFrames;

  constructor(videoIds: readonly string[], onTrouble: () => void) {
    super(onTrouble);
    this.logs = videoIds.map((videoId) => new ViewerLog(videoId));
    const chats = this.logs.map((log) => new ObservedChat(log.videoId, log));
    this.frames = new MergedFrames(chats, (_, what) => this.malformed(what));
  }

  refused(status: number, code: string, message: string): void {
    for (const log of this.logs) log.refused(status, code, message);
  }

  malformed(what: string): void {
    this.logs[0]?.malformed(what);
  }
}
