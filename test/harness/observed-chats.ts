/**
 * A client whose connections carry several chats, for judges of one chat: the frames of each chat go to the
 * observer of a viewer of this chat alone.
 */
import { dig, parseObject } from "../../simulator/plain-json.ts";
import type { ChatFrames, InitFrame } from "./chat-frames.ts";
import type { ChatObserver, ChatsObserver } from "./clients/observer.ts";
import type { Frame } from "./frames.ts";

/** The observer of one chat, and what it knows of its viewer. */
interface ObserverOfOne extends ChatObserver {
  /** As in `ChatFrames`. */
  readonly cursor: number | undefined;
  readonly hasEnded: boolean;
}

/** One of the chats. Its observer judges missing messages at the end. */
export class ObservedChat<Observer extends ObserverOfOne> implements ChatFrames {
  readonly videoId: string;
  readonly observer: Observer;
  protected asked: number | undefined;

  constructor(videoId: string, observer: Observer) {
    this.videoId = videoId;
    this.observer = observer;
  }

  get cursor(): number | undefined {
    return this.observer.cursor;
  }

  get hasEnded(): boolean {
    return this.observer.hasEnded;
  }

  get lacksOld(): boolean {
    return false;
  }

  get isUpToDate(): boolean {
    return true;
  }

  asks(cursor: number | undefined): void {
    this.asked = cursor;
  }

  begin(init: InitFrame): void {
    this.observer.opened(init, this.asked);
  }

  message(cursor: number, data: string): void {
    this.observer.message(cursor, data);
  }

  moved(cursor: number): void {
    if (this.observer.moved) this.observer.moved(cursor);
    else this.observer.malformed(`is told ${cursor}, and wants everything`);
  }

  /** An opening may be refused while the service has trouble; a room that was open does not fail in a run. */
  failed(data: string): void {
    const { code, message } = parseObject(data) ?? {};
    this.observer.refused(200, String(code), String(message));
  }

  end(data: string): void {
    this.observer.terminal("end", String(dig(parseObject(data), "reason")));
  }
}

/** The connections, with all their frames. */
export abstract class ObservedChats implements ChatsObserver {
  protected abstract readonly frames: {
    begin(lastEventId: string | undefined): void;
    take(frame: Frame): void;
  };
  readonly #onTrouble: () => void;

  /** `onTrouble`: called when a chat does not continue for now, so that the client should come back. */
  constructor(onTrouble: () => void) {
    this.#onTrouble = onTrouble;
  }

  begin(lastEventId: string | undefined): void {
    this.frames.begin(lastEventId);
  }

  take(frame: Frame): void {
    this.frames.take(frame);
    const { event, data } = frame;
    const isWaiting = event === "channel" && dig(parseObject(data), "reason") !== undefined;
    if (event === "error" || isWaiting) this.#onTrouble();
  }

  abstract refused(status: number, code: string, message: string): void;
  abstract malformed(what: string): void;

  closed(_asked: boolean): void {}
}
