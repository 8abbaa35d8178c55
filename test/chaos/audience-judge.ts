/** The judges of viewers, as a run uses them: of one chat, of several, or of a channel's chats. */
import type { RoomTruth } from "./room-truth.ts";

/** What a run asks of a viewer's judge. */
export interface AudienceJudge {
  /** The rooms whose messages it is sent now. */
  readonly rooms: readonly RoomTruth[];
  readonly messages: number;
  readonly hasEnded: boolean;
  /** Why its last connection ended or was refused. */
  readonly closeReason: string;
  /** How far it has come, for reports. */
  readonly place: string;
  /** Whether it lacks a message up to the cursor that is due in a room. */
  lacks(due: (room: RoomTruth) => number): boolean;
  /** Judges the skipped cursors whose messages other viewers have seen by now. */
  judgeSkipped(): void;
}
