/** What an instance knows and does about the others on one store. A store that one instance has to itself has none. */
import type { SharedPace } from "../shared-pace.ts";
import type { ClaimedRoom, RoomRecord } from "./port.ts";

export interface Peers {
  /**
   * Claims a room that is open, was read before and that nobody owns any more; undefined where there is none. Rejects
   * with `StoreError` "unavailable".
   */
  takeOver(videoId: string): Promise<ClaimedRoom | undefined>;

  /**
   * Waits while another instance opens the room. Resolves to the room once that instance reads it, or to undefined
   * once nobody does. Rejects with the signal's reason, or with `StoreError` "unavailable".
   */
  opened(videoId: string, signal: AbortSignal): Promise<RoomRecord | undefined>;

  /** Resolves when the owner of a followed room may be gone, so that a take-over may succeed. Rejects with the signal's reason. */
  freed(videoId: string, signal: AbortSignal): Promise<void>;

  /** Open rooms that count as watched and that nobody reads, as they are found; ends with the signal. */
  orphans(signal: AbortSignal): AsyncIterable<readonly string[]>;

  /** The pace of an egress that the instances share by its name. */
  pace(egress: string): SharedPace;
}
