/**
 * The list of recordings that callers have added, kept in the store. One instance at a time runs each of them
 * and reports its state.
 */
import type { RecordingState } from "../protocol/recording.ts";

/**
 * The state of a recording, as reported by the instance that runs it. No instance runs a recording that has
 * ended.
 */
export interface RecordingReport {
  /** A video id or a channel, normalised. */
  name: string;
  state: RecordingState;
  /** The video that is being recorded, or was last; null before the first. */
  videoId: string | null;
  /** Why nothing is recorded now; null if something is, or if the recording was not tried yet. */
  error: string | null;
}

export interface Recording extends RecordingReport {
  /** When it was added, in wall milliseconds by the store's clock. */
  since: number;
}

/** The maximum length of the list. */
export const MAX_RECORDINGS = 1000;

/** Every method rejects with `StoreError` "unavailable". */
export interface RecordingList {
  /** All recordings, the oldest first. */
  listRecordings(): Promise<Recording[]>;

  /** Adds a recording; resolves to "full" if the list has `MAX_RECORDINGS` others. */
  addRecording(name: string): Promise<"added" | "present" | "full">;

  /** Resolves to whether the recording was in the list. */
  removeRecording(name: string): Promise<boolean>;

  /**
   * Stores the reports on the recordings that this instance runs. Resolves to those that it must run from
   * now on: the same ones, except those that were removed or have ended, and those that nobody runs. An
   * instance that does not call this for `runMs` no longer runs any.
   */
  runRecordings(reports: readonly RecordingReport[], runMs: number): Promise<string[]>;
}
