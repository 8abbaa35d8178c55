/** One of the chats of a connection that carries several, in a viewer's log. */

import { dig, parseObject } from "../../../src/simulator/json.ts";
import type { ChatFrames, InitFrame } from "../../harness/chat-frames.ts";
import { ViewerLog } from "./viewer-log.ts";

export class LoggedChat implements ChatFrames {
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
