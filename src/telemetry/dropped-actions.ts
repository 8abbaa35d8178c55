/** Upstream actions that became no message, as their readers report them. */
import type { DropReason } from "./metrics.ts";

/** Why actions of one kind became no message. */
export interface DroppedActions {
  reason: Exclude<DropReason, "bug">;
  count: number;
  /** The first of them as JSON, shortened. */
  sample: string;
}

/** An action for which one of our readers failed. */
export interface ReaderBug {
  kind: string;
  error: unknown;
  /** The action as JSON, shortened. */
  sample: string;
}
