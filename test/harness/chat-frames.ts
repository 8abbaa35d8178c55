/** What a client is sent of one chat on a connection that carries several, and what its judge knows of it. */
import type { ChatType } from "../../src/protocol/chat.ts";

export interface ChatFrames {
  readonly videoId: string;
  /** The last cursor that the client received; undefined before the first connection. */
  readonly cursor: number | undefined;
  /** Whether the client was sent the end of the chat. */
  readonly hasEnded: boolean;
  /** Whether a message is missing that was there when the client last asked. */
  readonly lacksOld: boolean;
  /** Whether it has everything. */
  readonly isUpToDate: boolean;
  /** The client asks for what follows a cursor. */
  asks(cursor: number | undefined): void;
  begin(init: InitFrame): void;
  message(cursor: number, data: string): void;
  /** A cursor came alone. */
  moved(cursor: number): void;
  /** An error came in place of the init, or at the end. `data`: the frame's. */
  failed(data: string): void;
  /** `data`: that of the frame `end`. */
  end(data: string): void;
}

export interface InitFrame {
  videoId: string;
  chatType: ChatType;
  cursor: number;
}

/** Reports that a client is not sent what it should be of a video. */
export type Violate = (videoId: string, what: string) => void;

/** A message as on a connection of one chat. */
export function withoutVideo(data: string): string {
  return data.replace(/^\{"videoId":"[\w-]+",/, "{");
}
