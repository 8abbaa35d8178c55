/** What the judges read of the log: directly, while the service's own way to the store may be broken. */
import type { ChatKey } from "../../src/protocol/chat-key.ts";
import type { RoomAccount, RoomRecord } from "../../src/store/port.ts";
import type { StoredMessage } from "../../src/store/stored-message.ts";

/** A judge's view of the log, independent of the store's thread, its connections and its failures. */
export interface Peek {
  room(key: ChatKey): Promise<RoomRecord | undefined>;
  /** The totals of a room as they are stored: the look itself counts nothing. */
  account(key: ChatKey): Promise<Pick<RoomAccount, "totals" | "uncounted"> | undefined>;
  after(key: ChatKey, cursor: number): Promise<StoredMessage[]>;
}
