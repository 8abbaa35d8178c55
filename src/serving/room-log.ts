/** What viewers need of a log, which is in a store or at the origin of an edge. */
import type { Store } from "../store/port.ts";
import type { CursorRange } from "./cursor.ts";

/** The log of rooms as their viewers read it. */
export interface RoomLog extends Pick<Store, "read" | "cursorAt" | "follow"> {
  /**
   * Whether it is another instance's, so that the tail answers where it can. A store is always asked: the
   * tail may hold what the retention has deleted.
   */
  readonly isRemote?: boolean;
  /** The room's cursors at this moment. */
  getRoom(videoId: string): Promise<CursorRange | undefined>;
}
