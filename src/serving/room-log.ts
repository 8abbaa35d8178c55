/** What viewers need of a log, which is in a store or at the origin of an edge. */
import type { Store } from "../store/port.ts";
import type { CursorRange } from "./resume.ts";

/** The log of rooms as their viewers read it. */
export interface RoomLog extends Pick<Store, "read" | "readTypes" | "cursorAt" | "follow"> {
  /**
   * Whether the log belongs to another instance. Then a room finds a viewer's start in its own tail if
   * possible, which saves a request. If the log is a store, the room always asks the store, because the tail
   * may hold messages that have been deleted there because of their age.
   */
  readonly isRemote?: boolean;
  /** The room's cursors at this moment. */
  getRoom(videoId: string): Promise<CursorRange | undefined>;
}
