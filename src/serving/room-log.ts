/** What viewers need of a log, which is in a store or at the origin of an edge. */

import type { FactName } from "../protocol/chat.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import type { Fact, Store } from "../store/port.ts";
import type { CursorRange } from "./resume-or-backfill.ts";

export interface RoomRange extends CursorRange {
  /** As in `RoomRecord`; absent if the log belongs to another instance. */
  video?: string | null;
}

/** The log of rooms as their viewers read it. */
export interface RoomLog extends Pick<Store, "read" | "readTypes" | "cursorAt" | "follow"> {
  /**
   * Whether the log belongs to another instance. Then the room's own tail says where a viewer starts, if it
   * can, which saves a request. It may hold messages that a store has deleted meanwhile.
   */
  readonly isElsewhere?: boolean;
  /** If it belongs to another instance: what that has said of the video. */
  readonly video?: VideoFacts | undefined;
  /** If it belongs to another instance: asks that for `video`, if it is not known. Never rejects. */
  learnVideo?(key: ChatKey, signal: AbortSignal): Promise<void>;
  /** As `Store.fact`; undefined if the log belongs to another instance, and that does not say it. */
  fact(key: ChatKey, name: FactName, signal: AbortSignal): AsyncIterable<Fact | undefined>;
  /** The room's cursors at this moment, and what its video is, as stored. */
  getRoom(key: ChatKey): Promise<RoomRange | undefined>;
}
