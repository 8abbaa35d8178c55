/** Everything that a viewer of several chats on one connection received: a log for each chat. */
import type { ChatFrames, InitFrame } from "../../harness/chat-frames.ts";
import type { ChatsObserver } from "../../harness/clients/observer.ts";
import type { Frame } from "../../harness/frames.ts";
import { MergedFrames } from "../../harness/merged-frames.ts";
import { dig, parseObject } from "../../src/simulator/json.ts";
import { ViewerLog } from "./viewer-log.ts";

class LoggedChat implements ChatFrames {
  readonly log: ViewerLog;
  readonly lacksOld = false; // the log is judged at the end
  readonly isUpToDate = true;
  #asked: number | undefined;

  constructor(videoId: string) {
    this.log = new ViewerLog(videoId);
  }

  get videoId(): string {
    return this.log.videoId;
  }

  get cursor(): number | undefined {
    return this.log.messages.at(-1)?.cursor;
  }

  get hasEnded(): boolean {
    return this.log.hasEnded;
  }

  asks(cursor: number | undefined): void {
    this.#asked = cursor;
  }

  begin(init: InitFrame): void {
    this.log.opened(init, this.#asked);
  }

  message(cursor: number, data: string): void {
    this.log.message(cursor, data);
  }

  moved(cursor: number): void {
    this.log.malformed(`is told ${cursor}, and wants everything`);
  }

  failed(data: string): void {
    this.log.refused(200, String(dig(parseObject(data), "code")));
  }

  end(data: string): void {
    this.log.terminal("end", String(dig(parseObject(data), "reason")));
  }
}

export class MergedLog implements ChatsObserver {
  readonly logs: readonly ViewerLog[];
  readonly #frames: MergedFrames;
  readonly #onTrouble: () => void;

  /** `onTrouble`: called when a chat does not go on for now; the client had better come back. */
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
