import type { RoomRecord } from "../src/store/port.ts";
import type { StoredMessage } from "../src/store/stored-message.ts";

/** A judge's view of the log, independent of the store's thread, its connections and its failures. */
export interface Peek {
  room(videoId: string): Promise<RoomRecord | undefined>;
  after(videoId: string, cursor: number): Promise<StoredMessage[]>;
}
