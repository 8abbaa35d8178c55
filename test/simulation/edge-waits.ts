/**
 * The videos that were refused to edges after the longest wait. For its origin, all viewers of an edge are
 * one address, and in the queue of videos the newest of an address goes first, in turn with other addresses.
 * So while others flood the queue, an older video of an edge may get no turn in that time.
 */
import { CAPACITY_CAUSES } from "../../src/protocol/capacity.ts";

/** The longest wait in the queue, as the documents promise. */
const LONGEST_WAIT_MS = 30_000;
/** A refusal has passed through all tiers by then. */
const PASSED_ON_MS = 500;

export class EdgeWaits {
  readonly #nowMs: () => number;
  /** By video, when an edge was last refused it after the longest wait. */
  readonly #refusedAt = new Map<string, number>();

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  /** The process above an edge has refused it a stream, `waitedMs` after it was asked. */
  refused(path: string, waitedMs: number): void {
    const videoId = new URL(path, "http://origin").searchParams.get("videoId");
    if (videoId !== null && waitedMs >= LONGEST_WAIT_MS) this.#refusedAt.set(videoId, this.#nowMs());
  }

  /** Whether a refusal in these words is due now to viewers of the video at edges. */
  explain(videoId: string, message: unknown): boolean {
    const refusedAt = this.#refusedAt.get(videoId) ?? Number.NEGATIVE_INFINITY;
    return message === CAPACITY_CAUSES.openings.message && this.#nowMs() - refusedAt < PASSED_ON_MS;
  }
}
